#!/usr/bin/env python3
"""The built library is linked as promised: its name, what it needs, how it is hardened.

Usage: elf.py SOURCE_ROOT LIBRARY HARDENED(0|1) [PROGRAM...]
"""

import os
import pathlib
import re
import subprocess
import sys

# The C and C++ run-time alone: no MPI, libfabric or GPU library before the program has its own.
NEEDED = re.compile(
    r"(libstdc\+\+|libc\+\+|libc\+\+abi|libgcc_s|libunwind|libm|libc|libpthread"
    r"|libdl|libatomic|ld-linux[\w-]*)\.so\.\d+"
)


def readelf(option, path):
    return subprocess.run(
        ["readelf", option, "-W", path],
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout


def soname(root):
    """From the version macros of the header, the only place where the version stands."""
    header = (pathlib.Path(root) / "include/ddstore.h").read_text(encoding="utf-8")
    major = re.search(r"#define DDSTORE_VERSION_MAJOR (\d+)", header).group(1)
    return f"libddstore.so.{major}"


def loaded_safely(path):
    """What holds for the library and for the programs alike."""
    dynamic, segments = readelf("-d", path), readelf("-l", path)
    flags = " ".join(re.findall(r"\((?:FLAGS|FLAGS_1)\)(.*)", dynamic))
    if not re.search(r"GNU_RELRO", segments):
        yield "no RELRO segment"
    if "NOW" not in flags and "(BIND_NOW)" not in dynamic:
        yield "lazy binding: the function table stays writable"
    stack = re.search(r"GNU_STACK.*", segments)
    if not stack or re.search(r"\sRWE\s", stack.group()):
        yield "an executable stack"
    if "TEXTREL" in dynamic:
        yield "text relocations"


def library_complaints(root, path, hardened):
    dynamic = readelf("-d", path)
    flags = " ".join(re.findall(r"\(FLAGS\)(.*)", dynamic))
    name = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    if not name or name.group(1) != soname(root):
        yield f"SONAME {name and name.group(1)}, not {soname(root)}"
    if "SYMBOLIC" not in flags and "(SYMBOLIC)" not in dynamic:
        yield "not linked -Bsymbolic: another library's dds_free could answer our own calls"
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        yield "a RUNPATH"
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not NEEDED.fullmatch(needed):
            yield f"it needs {needed}"
    if hardened:
        imports = readelf("--dyn-syms", path)
        if "__stack_chk_fail" not in imports:
            yield "no stack protector"
        if not re.search(r"\b__\w+_chk\b", imports):
            yield "not built with _FORTIFY_SOURCE"
    yield from loaded_safely(path)


def main(root, library, hardened, *programs):
    complaints = [
        f"{pathlib.Path(library).name}: {words}"
        for words in library_complaints(root, library, hardened == "1")
    ]
    for program in programs:
        name = pathlib.Path(program).name
        complaints += [
            f"{name}: {words}" for words in loaded_safely(program) if "lazy" not in words
        ]
        if not re.search(r"Type:\s+DYN", readelf("-h", program)):
            complaints.append(f"{name}: not position-independent")
    for complaint in complaints:
        print(complaint)
    print(f"{1 + len(programs)} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
