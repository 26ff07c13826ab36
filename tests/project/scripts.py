#!/usr/bin/env python3
"""A file that begins with #! is executable, the others are not; shell scripts parse.

Usage: scripts.py SOURCE_ROOT
"""

import os
import pathlib
import subprocess
import sys

SKIPPED = {".git", ".venv", "build", "subprojects", "__pycache__"}


def files_of(root):
    """The project's own files: no build folders, no caches."""
    for folder, inner, names in os.walk(root):
        inner[:] = [
            name
            for name in inner
            if name not in SKIPPED
            and not name.startswith("build-")
            and not name.endswith(("_cache", ".egg-info"))
        ]
        yield from (pathlib.Path(folder) / name for name in sorted(names))


def complaints(path):
    with path.open("rb") as file:
        first = file.readline(200)
    script = first.startswith(b"#!")
    if script != os.access(path, os.X_OK):
        yield "begins with #!, is not executable" if script else "is executable, has no #!"
    if script and b"sh" in first.rsplit(b"/", 1)[-1]:
        shell = "bash" if b"bash" in first else "sh"
        run = subprocess.run([shell, "-n", str(path)], text=True, stderr=subprocess.PIPE)
        if run.returncode:
            yield run.stderr.strip()


def main(root):
    files = [path for path in files_of(root) if path.is_file() and not path.is_symlink()]
    found = [f"{path.relative_to(root)}: {words}" for path in files for words in complaints(path)]
    for line in found:
        print(line)
    print(f"{len(files)} files, {len(found)} complaints")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
