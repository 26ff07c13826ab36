"""Write the C source of pyddstore._dds: the declarations are cut from ddstore.h, never retyped.

Usage: build_dds.py ddstore.h shim.c gather.c _dds.c
"""

import re
import sys
from pathlib import Path

from cffi import FFI

# What our C files add, and the Python functions that C calls back (_binding.py, _comm.py).
OURS = """
const char *pyddstore_bind(void);
const char *pyddstore_offer_gather(void);
int pyddstore_check_signals(void *ctx);
extern "Python" void pyddstore_log(void *ctx, int level, const char *text);
extern "Python" int pyddstore_allgather(void *ctx, const void *in, size_t bytes, void *out,
                                        int timeout_ms);
extern "Python" void pyddstore_release(void *ctx);
"""


def cut(header: str) -> str:
    """Return the header's integer macros, types and prototypes as cffi's cdef wants them."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S).replace("\\\n", " ")
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    kept = []
    for line in text.splitlines():
        if not line.startswith("#"):
            kept.append(line.replace("DDS_API ", ""))
        elif re.fullmatch(r"#define \w+ +-?\d+ *", line):
            kept.append(line)
    return "\n".join(kept)


def functions(header: str) -> list[str]:
    """Return the names of the header's functions."""
    return re.findall(r"^DDS_API [^(;]*?\b(dds_\w+)\(", header, flags=re.M)


def main(header_path: str, *ours: str) -> None:
    """Read the header and our C files, write the extension's source."""
    *parts, output = ours
    header = Path(header_path).read_text()
    names = functions(header)
    each = "#define DDS_EACH(X) " + " ".join(f"X({name})" for name in names)
    bound = "\n".join(f"#define {name} (*bound_{name})" for name in names)
    ffi = FFI()
    ffi.cdef(cut(header) + OURS)
    ffi.set_source(
        "pyddstore._dds",
        "\n".join(["#include <ddstore.h>", each, *(Path(p).read_text() for p in parts), bound]),
    )
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
