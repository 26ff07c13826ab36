"""Each check finds the fault it is there for: one fault at a time in a copy of the sources."""

import shutil
import sys
import tempfile
from pathlib import Path

import check
import pages

SOURCES = [
    "man",
    "include",
    "src/libddstore.map",
    "src/base/env.cpp",
    "tools/bench/options.cpp",
    "tools/info/options.cpp",
    "wrappers/python/cpu_nic_map/_cli.py",
]
FAULTS = [  # check, file, what stands there, what shall stand there
    ("prototypes", "man/dds_get.3", '"size_t out_bytes"', '"int out_bytes"'),
    ("prototypes", "man/dds_get.3", ".Fn dds_get_batch ", ".Fn dds_get_lot "),
    ("prototypes", "src/libddstore.map", "    dds_drop;\n", ""),
    (
        "prototypes",
        "man/dds_drop.3",
        ".Sh DESCRIPTION",
        '.Ft int\n.Fn dds_rank "dds_store_t store" "int *rank"\n.Sh DESCRIPTION',
    ),
    (
        "inlines",
        "include/ddstore_mpi.h",
        "static inline int dds_init_mpi(",
        "static inline int dds_start_mpi(",
    ),
    ("structs", "man/dds_init.3", "int32_t timeout_ms;", "int32_t timeout_s;"),
    ("structs", "man/dds_info.3", "typedef struct dds_info_s {", "struct dds_info_s {"),
    ("names", "man/dds_get.3", ".Nm dds_get_batch\n", ".Nm dds_get_lot\n"),
    ("names", "man/dds_get.3", ".It Fn dds_get Ta local Ta", ".It Fn dds_get Ta often Ta"),
    ("names", "man/meson.build", "'dds_get': ['dds_get_batch']", "'dds_get': []"),
    ("sections", "man/dds_get.3", ".Sh RETURN VALUES", ".Sh RETURNS"),
    ("sections", "man/ddstore.7", ".Sh SECURITY\n", ""),
    ("references", "man/dds_get.3", ".Xr dds_stats 3", ".Xr dds_stat 3"),
    ("references", "man/dds_get.3", ".Xr dds_stats 3", ".Xr dds_get 3"),
    ("macros", "man/ddstore.7", ".It Er DDS_ERR_PEER Pq 9", ".It Er DDS_ERR_PEER Pq 10"),
    ("macros", "man/dds_get.3", ".It Bq Er DDS_ERR_RANGE", ".It Bq Er DDS_ERR_ROW"),
    ("macros", "man/dds_type_size.3", "DDS_BFLOAT16", "DDS_BFLOAT"),
    (
        "macros",
        "include/ddstore.h",
        "#define DDS_MEM_HOST 0",
        "#define DDS_MEM_HOST 0\n#define DDS_MEM_MOON 9",
    ),
    ("environment", "man/ddstore.7", ".It Ev DDSTORE_NODE Pq", ".It Ev DDSTORE_NODES Pq"),
    ("environment", "man/ddstore.7", ".It Ev DDSTORE_SHM Pq 0 or 1", ".It Ev DDSTORE_SHM Pq yes"),
    ("environment", "man/dds_init.3", ".Ev DDSTORE_TIMEOUT_S", ".Ev DDSTORE_TIMEOUT"),
    ("environment", "man/ddstore.7", ".It Ev FABRIC_IFACE Pq", ".It Ev FABRIC_FACE Pq"),
    ("options", "man/cpu_nic_map.1", ".It Fl -env", ".It Fl -envy"),
    ("options", "man/ddstore-bench.1", ".It Fl -json", ".It Fl -jason"),
    ("options", "man/ddstore-info.1", ".It Fl -json", ".It Fl -jason"),
]


def copy_sources(root):
    for name in SOURCES:
        source, target = pages.ROOT / name, root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)


def finds(name, file, old, new):
    path = pages.ROOT / file
    text = path.read_text(encoding="utf-8")
    if old not in text:
        return f"{file} has no {old!r}: the fault is out of date"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        found = list(check.CHECKS[name]())
    finally:
        path.write_text(text, encoding="utf-8")
    return None if found else f"{name} does not find {new!r} in {file}"


def main():
    with tempfile.TemporaryDirectory() as place:
        copy_sources(Path(place))
        pages.ROOT = Path(place)
        wrong = [p for name in check.CHECKS for p in check.CHECKS[name]()]
        wrong += [problem for fault in FAULTS if (problem := finds(*fault))]
    print("\n".join(wrong) or f"{len(FAULTS)} faults found")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
