"""The command ``cpu_nic_map``."""

import argparse
import os
import sys
from collections.abc import Sequence

from ._choose import allocated_nics
from ._near import build_map, serialize_env
from ._text import compress_ranges, natural

_TEXT = """\
Tell which network interface is near which CPU of this machine.

Without arguments: a table of all CPUs.  NEAR is "yes" where the machine says that
the interface is local to the CPU, "same-NUMA" on the same NUMA node, and "no" for
the one that is least far.
"""

_MORE = """\
The library chooses the interface of a process by itself.  Where the processes of a
job cannot see the whole machine, make the map where it is visible and hand it on:

    export DDSTORE_NIC_MAP=$(cpu_nic_map --env)
    srun python train.py

FABRIC_IFACE=hsn0 names an interface and comes before any map.
Other networks: cpu_nic_map -p 'ib*', cpu_nic_map -p 'mlx5_*'.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cpu_nic_map",
        description=_TEXT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "cpu", nargs="?", type=int, metavar="CPU", help="print the interface of this CPU alone"
    )
    what.add_argument("--env", action="store_true", help="print the map for DDSTORE_NIC_MAP")
    what.add_argument(
        "--allocated",
        action="store_true",
        help="print the CPUs that this process may use and the interfaces near them, by "
        "DDSTORE_NIC_MAP if that is set",
    )
    parser.add_argument(
        "-p", "--pattern", default="hsn*", help="interfaces that count, as a shell pattern; hsn*"
    )
    return parser


def _table(pattern: str) -> str:
    pus, nearest = build_map(pattern)
    rows = [("CPU", "NIC", "NEAR", "NUMA")]
    rows += [(str(pu), *map(str, nearest(pu))) for pu in pus]  # type: ignore[misc]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def _one(cpu: int, pattern: str) -> str:
    pus, nearest = build_map(pattern)
    if cpu not in pus:
        raise ValueError(f"this machine has no CPU {cpu}: it has {compress_ranges(pus)}")
    return nearest(cpu)[0]


def _allocated(pattern: str) -> str:
    cpus, nics = allocated_nics(pattern)
    names = " ".join(sorted(nics, key=natural)) or "none"
    return f"CPUs: {compress_ranges(cpus)}\nNICs: {names}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0, 1 for an error, 2 for a wrong command line."""
    try:
        asked = _parser().parse_args(argv)
    except SystemExit as end:  # argparse ends the process after --help and after a mistake
        return int(end.code or 0)
    try:
        if asked.env:
            text = serialize_env(asked.pattern)
        elif asked.allocated:
            text = _allocated(asked.pattern)
        elif asked.cpu is not None:
            text = _one(asked.cpu, asked.pattern)
        else:
            text = _table(asked.pattern)
        print(text, flush=True)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, RuntimeError, ValueError) as error:
        print(f"cpu_nic_map: {error}", file=sys.stderr)
        return 1
    return 0
