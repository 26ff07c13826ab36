#!/usr/bin/env python3
"""The C and C++ sources are as clang-format 14 writes them; --fix rewrites those that are not.

The public headers are set by hand.  In C a pointer's star stands at the name, in C++ at the type.
Usage: format.py [--fix] SOURCE_ROOT [CLANG_FORMAT]
"""

import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOMS = ("src", "tests", "tools", "examples", "wrappers")
C_STYLE = "--style={BasedOnStyle: InheritParentConfig, PointerAlignment: Right}"
SKIPPED = 77


def formatter(named):
    """A clang-format of the version that the configuration is for, or None."""
    for name in filter(None, (named, "clang-format-14", "clang-format")):
        path = shutil.which(name)
        if path and re.search(
            r"version 14\.",
            subprocess.run([path, "--version"], text=True, stdout=subprocess.PIPE).stdout,
        ):
            return path
    return None


def formatted_by(tool, path):
    """The file's text as it should be."""
    style = C_STYLE if path.suffix in (".c", ".h") else "--style=file"
    command = [tool, style, str(path)]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def main(arguments):
    fix = "--fix" in arguments
    root, *named = [word for word in arguments if word != "--fix"]
    root = pathlib.Path(root)
    tool = formatter(named[0] if named else None)
    if not tool:
        print("skipped: no clang-format 14")
        return SKIPPED
    files = [
        path
        for room in ROOMS
        for path in sorted((root / room).rglob("*"))
        if path.suffix in (".c", ".h", ".cpp", ".hpp")
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        formatted = list(pool.map(lambda path: formatted_by(tool, path), files))
    changed = 0
    for path, then in zip(files, formatted, strict=True):
        now = path.read_text(encoding="utf-8")
        if now == then:
            continue
        changed += 1
        if fix:
            path.write_text(then, encoding="utf-8")
        place = str(path.relative_to(root))
        sys.stdout.writelines(
            difflib.unified_diff(
                now.splitlines(True), then.splitlines(True), place, place + " as formatted", n=1
            )
        )
    print(f"{len(files)} files, {changed} {'rewritten' if fix else 'to be formatted'}")
    return 1 if (changed and not fix) or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
