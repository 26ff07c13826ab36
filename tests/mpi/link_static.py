#!/usr/bin/env python3
"""Compile a program with MPICH's mpicc, and link it with its archive.

Usage: link_static.py MPICC COMPILER SOURCE OUTPUT ARGUMENT...
"""

import re
import subprocess
import sys


def say(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def main(mpicc, compiler, source, output, *arguments):
    archive = say(mpicc, "-print-file-name=libmpich.a").strip()
    dynamic = say("readelf", "-d", "-W", say(mpicc, "-print-file-name=libmpich.so").strip())
    needed = [f"-l:{name}" for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)]
    say(mpicc, "-c", source, "-o", f"{output}.o", *arguments)
    say(compiler, f"{output}.o", "-o", output, *arguments, archive, *needed, "-l:libm.so.6")


if __name__ == "__main__":
    main(*sys.argv[1:])
