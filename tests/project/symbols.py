#!/usr/bin/env python3
"""The symbol map, the header and the built library name the same functions, all in one node.

Usage: symbols.py SOURCE_ROOT LIBRARY
"""

import pathlib
import re
import subprocess
import sys

NODE = "DDSTORE_0"


def of_map(text):
    """The names that a node of the version script lists."""
    body = re.search(NODE + r" \{\s*global:(.*?)local:\s*\*;\s*\};", text, re.DOTALL)
    return re.findall(r"(\w+);", body.group(1)) if body else []


def of_header(text):
    """The functions a header marks DDS_API."""
    text = re.sub(r"/\*.*?\*/|^\s*#[^\n]*(\\\n[^\n]*)*", " ", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\bDDS_API\b[^;(]*?\b(dds_\w+)\s*\(", text)


def of_library(path):
    """What it exports, as name -> version."""
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", path],
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout
    exports = {}
    for line in listing.splitlines():
        kind, symbol = line.split()[-2:]
        if kind != "A":  # the node itself
            name, _, version = symbol.partition("@")
            exports[name] = version.lstrip("@")
    return exports


def main(root, library):
    root = pathlib.Path(root)
    listed = of_map((root / "src/libddstore.map").read_text(encoding="utf-8"))
    declared = {
        name
        for header in sorted(root.glob("include/*.h"))
        for name in of_header(header.read_text(encoding="utf-8"))
    }
    exports = of_library(library)
    complaints = []
    if listed != sorted(set(listed)):
        complaints.append("libddstore.map: not sorted, or a name stands twice")
    for what, names in (("the headers", declared), ("the library", set(exports))):
        complaints += [
            f"{name} is in libddstore.map, not in {what}" for name in sorted(set(listed) - names)
        ]
        complaints += [
            f"{name} is in {what}, not in libddstore.map" for name in sorted(names - set(listed))
        ]
    complaints += [
        f"{name} has the version {version!r}, not {NODE}"
        for name, version in sorted(exports.items())
        if version != NODE
    ]
    for complaint in complaints:
        print(complaint)
    print(f"{len(exports)} exported symbols, {len(complaints)} complaints")
    return 1 if complaints or not exports else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
