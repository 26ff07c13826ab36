#!/usr/bin/env python3
"""The programs in README.md are examples that are built and run: each lies in examples/.

Usage: readme.py SOURCE_ROOT
"""

import pathlib
import re
import sys
import textwrap

LINES = 100  # two screens


def main(root):
    root = pathlib.Path(root)
    text = (root / "README.md").read_text(encoding="utf-8")
    examples = {
        path: path.read_text(encoding="utf-8")
        for path in (root / "examples").rglob("*")
        if path.suffix in (".c", ".py")
    }
    bad = 0
    blocks = re.findall(r"^```(?:c|python)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for block in blocks:
        # Whole, or a part of a function without its indent.
        homes = [
            path
            for path, example in examples.items()
            if block in example or textwrap.indent(block, "    ") in example
        ]
        print(block.splitlines()[0], "...:", *(path.relative_to(root) for path in homes))
        bad += not homes
    count = text.count("\n")
    print(f"{len(blocks)} programs, {bad} of them not in examples/; {count} lines of {LINES}")
    return 1 if bad or len(blocks) < 2 or count > LINES else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
