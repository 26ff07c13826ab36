"""Which network interface is near which CPU.

A node may have several fast interfaces, each on one socket or NUMA node; a process does best with
the one that is near the CPUs it runs on.  The library finds that by itself.  This module shows the
map of a machine, makes one where the machine is not fully visible later on, and chooses by it:

    export DDSTORE_NIC_MAP=$(python3 -m cpu_nic_map --env)   # in the batch script
    srun python train.py

What it knows comes from ``hwloc-calc`` where that is installed, else from ``/sys``.
"""

from ._choose import allocated_nics, select_fabric_iface
from ._cli import main
from ._machine import hcalc
from ._near import build_map, serialize_env
from ._text import compress_ranges, parse_env

__all__ = [
    "allocated_nics",
    "build_map",
    "compress_ranges",
    "hcalc",
    "main",
    "parse_env",
    "select_fabric_iface",
    "serialize_env",
]
