#!/usr/bin/env python3
"""Each public header compiles alone, in every language it promises, and so does every DDS_*_INIT.

Usage: headers_alone.py SOURCE_ROOT COMPILER...
       headers_alone.py --mpi SOURCE_ROOT COMPILER...     those that include mpi.h
"""

import pathlib
import re
import subprocess
import sys

STRICT = ["-pedantic-errors", "-Wall", "-Wextra", "-Wpadded", "-Werror", "-fsyntax-only"]
# An mpi.h pads its structs and declares as it likes, and may bring C++ of its own.
FOREIGN = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-DOMPI_SKIP_MPICXX"]
LANGUAGES = [("c", "c99"), ("c", "c11"), ("c++", "c++20")]


def sources_of(header):
    """The header twice (it guards itself), and a program that uses each of its initialisers."""
    twice = f'#include "{header.name}"\n' * 2
    text = header.read_text(encoding="utf-8")
    inits = re.findall(r"^#define (DDS_(\w+)_INIT)\b", text, re.MULTILINE)
    uses = "".join(f"dds_{what.lower()}_t {what} = {init};\n" for init, what in inits)
    return twice + uses


def main(with_mpi, root, compilers):
    include = pathlib.Path(root) / "include"
    done = bad = 0
    for header in sorted(include.glob("*.h")):
        if ("#include <mpi.h>" in header.read_text(encoding="utf-8")) != with_mpi:
            continue
        for compiler in compilers:
            for language, standard in LANGUAGES:
                command = [
                    compiler,
                    "-x",
                    language,
                    f"-std={standard}",
                    *(FOREIGN if with_mpi else STRICT),
                    f"-I{include}",
                    "-",
                ]
                run = subprocess.run(
                    command, input=sources_of(header), text=True, stderr=subprocess.PIPE
                )
                done += 1
                if run.returncode:
                    bad += 1
                    print(f"{header.name} as {standard} by {compiler}:\n{run.stderr}")
    print(f"{done} compilations by {', '.join(compilers)}, {bad} failed")
    return 1 if bad or not done else 0


if __name__ == "__main__":
    mpi = sys.argv[1] == "--mpi"
    sys.exit(main(mpi, sys.argv[1 + mpi], sys.argv[2 + mpi :]))
