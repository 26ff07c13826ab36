#!/usr/bin/env python3
"""Every struct field and every numeric constant of the public headers stands in abi.c.

Usage: abi_complete.py SOURCE_ROOT
"""

import pathlib
import re
import sys


def fields_of(body):
    """The names of the fields of a struct's body."""
    for declaration in filter(None, map(str.strip, body.split(";"))):
        pointer = re.search(r"\(\*(\w+)\)\(", declaration)
        if pointer:
            yield pointer.group(1)
            continue
        for part in declaration.split(","):
            yield re.search(r"(\w+)\s*(\[\d+\])?$", part.strip()).group(1)


def wanted(header):
    """The lines that abi.c must have, up to their numbers."""
    header = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL).replace("\\\n", " ")
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", header, re.DOTALL):
        yield f"SIZE({name}, "
        for field in fields_of(body):
            yield f"FIELD({name}, {field}, "
    for name in re.findall(r"typedef struct \w+ \*(\w+);", header):
        yield f"SIZE({name}, "
    for name in re.findall(r"^#define (DDS_\w+)\s+\(?-?(?:\d|0x)", header, re.MULTILINE):
        yield f"VALUE({name}, "
    # A macro with an argument is a constant too.
    for name in re.findall(r"^#define (DDS_\w+)\(", header, re.MULTILINE):
        yield f"VALUE({name}("


def main(root):
    root = pathlib.Path(root)
    abi = (root / "tests/project/abi.c").read_text(encoding="utf-8")
    lines = [
        line
        for header in sorted(root.glob("include/*.h"))
        for line in wanted(header.read_text(encoding="utf-8"))
    ]
    missing = [line for line in lines if line not in abi]
    for line in missing:
        print(f"abi.c has no {line}...")
    print(f"{len(lines)} facts of the headers, {len(missing)} missing")
    return 1 if missing or not lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
