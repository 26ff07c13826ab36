"""The interface for this process."""

import os
import re
import sys

from . import _machine
from ._near import build_map
from ._text import natural, parse_env


def allocated_nics(pattern: str = "hsn*", nic_map: str | None = None) -> tuple[list[int], set[str]]:
    """Return the CPUs that this process may use, and the interfaces that are near them.

    Parameters
    ----------
    pattern : str, optional
        Which interfaces count where this machine is asked.
    nic_map : str, optional
        A map; default ``DDSTORE_NIC_MAP``, else that of this machine.

    Returns
    -------
    cpus : list of int
        In order.
    nics : set of str
        Empty where a map has none of these CPUs.

    Raises
    ------
    ValueError
        The map is malformed.
    RuntimeError
        As `build_map` does.
    """
    cpus = sorted(os.sched_getaffinity(0))
    text = nic_map or os.environ.get("DDSTORE_NIC_MAP")
    if text:
        known = parse_env(text, "nic_map" if nic_map else "DDSTORE_NIC_MAP")
        return cpus, {known[cpu] for cpu in cpus if cpu in known}
    _, nearest = build_map(pattern)
    return cpus, {nearest(cpu)[0] for cpu in cpus}


def select_fabric_iface(nic_map: str | None = None) -> str:
    """Choose the interface for this process, and leave it in ``FABRIC_IFACE`` for the library.

    One that is there already stays.  Slingshot's ``hsnN`` is written as ``cxiN``, its RDMA device.
    Without an interface of Slingshot, nothing is chosen and the environment stays as it is: the
    library then takes a provider that works.

    Parameters
    ----------
    nic_map : str, optional
        As for `allocated_nics`; not looked at where ``FABRIC_IFACE`` is set.

    Returns
    -------
    str
        The interface; empty: none was chosen.

    Raises
    ------
    ValueError
        The map is malformed.
    """
    chosen = os.environ.get("FABRIC_IFACE") or _near(nic_map)
    if chosen:
        chosen = re.sub(r"^hsn(?=[0-9]+$)", "cxi", chosen)
        os.environ["FABRIC_IFACE"] = chosen
    return chosen


def _near(nic_map: str | None) -> str:
    try:
        cpus, nics = allocated_nics(nic_map=nic_map)
    except RuntimeError:
        nics = set()
    found = sorted(nics, key=natural)
    if len(found) > 1:
        print(
            f"cpu_nic_map: {len(cpus)} CPUs of this process are near {', '.join(found)}; "
            f"{found[0]} is taken: FABRIC_IFACE can name another",
            file=sys.stderr,
        )
    if not found:
        return _by_turn(_machine.nics("hsn*"))
    return found[0]


def _by_turn(names: list[str]) -> str:
    turn = os.environ.get("SLURM_LOCALID", "")
    return names[(int(turn) if turn.isdecimal() else 0) % len(names)] if names else ""
