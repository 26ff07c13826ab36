#!/usr/bin/env python3
"""Who may include whom: a room of src/ includes itself and the rooms to its right, nothing else.

Also keeps MPI's and the GPU vendors' headers out of src/, and libfabric's in its own files.
Usage: include_rule.py SOURCE_ROOT
"""

import pathlib
import re
import sys

ROOMS = "api > store > window, file > transport > plan, node > memory, comm > drivers > base"
LEVELS = [level.split(", ") for level in ROOMS.split(" > ")]
LEVEL = {room: depth for depth, level in enumerate(LEVELS) for room in level}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
FOREIGN = re.compile(r"mpi\.h$|cuda|hip/|cufile|hipfile|nvml|nccl|rocm", re.IGNORECASE)


def refusals(path, room):
    """What is wrong with the includes of one file, in words."""
    for mark, header in INCLUDE.findall(path.read_text(encoding="utf-8")):
        first = header.split("/")[0]
        if mark == "<":
            if FOREIGN.search(header):
                yield f"<{header}>: declarations of MPI and GPU libraries are our own tables"
            if first == "rdma" and not (room in ("drivers", "transport") and "fabric" in path.stem):
                yield f"<{header}>: libfabric's headers stay in {{drivers,transport}}/fabric*"
        elif first in LEVEL and "/" in header:
            if first != room and LEVEL[first] <= LEVEL[room]:
                yield f'"{header}": {room} may not include {first} ({ROOMS})'
        elif not re.fullmatch(r"ddstore(_\w+)?\.h", header):
            yield f'"{header}": write "room/file.hpp" or a header of include/'


def main(root):
    src = pathlib.Path(root) / "src"
    files = [path for path in sorted(src.rglob("*")) if path.suffix in (".hpp", ".cpp", ".h", ".c")]
    bad = 0
    for path in files:
        room = path.relative_to(src).parts[0]
        reasons = refusals(path, room) if room in LEVEL else ["not in a room"]
        for reason in reasons:
            print(f"{path.relative_to(root)}: {reason}")
            bad += 1
    print(f"{len(files)} files, {bad} refused")
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
