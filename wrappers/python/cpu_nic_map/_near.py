"""The map of this machine: the interface that is nearest to each CPU."""

from collections.abc import Callable

from . import _machine
from ._text import format_map, runs

Nearest = Callable[[int], tuple[str, str, int]]


def build_map(pattern: str = "hsn*") -> tuple[list[int], Nearest]:
    """Find out which interface is near which CPU.

    Parameters
    ----------
    pattern : str, optional
        Which interfaces count, as a shell pattern.

    Returns
    -------
    all_pus : list of int
        The CPUs of the machine.
    nearest : callable
        ``nearest(pu)`` returns the interface, how near it is, and the NUMA node of the CPU (-1:
        unknown).  Near is ``"yes"`` where the machine says so, ``"same-NUMA"`` on the same node,
        and ``"no"`` for what is least far.  Interfaces that are equally near share the CPUs.

    Raises
    ------
    RuntimeError
        No interface matches, or the machine tells nothing about its CPUs.
    """
    names = _machine.nics(pattern)
    if not names:
        here = ", ".join(_machine.all_names()) or "none"
        raise RuntimeError(
            f"no interface that is up matches {pattern!r}; here are: {here}.  Another pattern (-p) "
            "may match one; without FABRIC_IFACE and DDSTORE_NIC_MAP the library takes what works"
        )
    pus = _machine.all_pus()
    if not pus:
        raise RuntimeError(
            f"neither hwloc-calc nor {_machine.SYS} tells the CPUs of this machine: install hwloc, "
            "or set DDSTORE_NIC_MAP to a map that was made where they are visible"
        )
    return pus, _nearest(names, pus)


def _nearest(names: list[str], pus: list[int]) -> Nearest:
    nodes = _machine.numa_nodes()
    near = {nic: _machine.nic_pus(nic) for nic in names}
    node_of_nic = {nic: _machine.nic_numa(nic) for nic in names}
    far = {node: _machine.distances(node) for node in nodes}

    def nearest(pu: int) -> tuple[str, str, int]:
        node = next((node for node, its in nodes.items() if pu in its), -1)
        equals = [nic for nic in names if pu in near[nic]]
        if equals:
            together = set.intersection(*(near[nic] for nic in equals))
            return _share(pu, together, equals), "yes", node
        equals = [nic for nic in names if node_of_nic[nic] == node != -1]
        if equals:
            return _share(pu, nodes[node], equals), "same-NUMA", node
        way = {nic: far.get(node, {}).get(node_of_nic[nic], 255) for nic in names}
        equals = [nic for nic in names if way[nic] == min(way.values())]
        return _share(pu, nodes.get(node, set(pus)), equals), "no", node

    return nearest


def _share(pu: int, pus: set[int], equals: list[str]) -> str:
    """Split each stretch of CPUs evenly: neighbours, and the threads of a core, stay together."""
    for first, last in runs(pus):
        if first <= pu <= last:
            return equals[(pu - first) * len(equals) // (last - first + 1)]
    return equals[0]


def serialize_env(pattern: str = "hsn*") -> str:
    """Write the map of this machine for ``DDSTORE_NIC_MAP``: ``"hsn0=0-15,64-79;hsn1=16-31"``.

    Raises
    ------
    RuntimeError
        As `build_map` does.
    """
    pus, nearest = build_map(pattern)
    return format_map({pu: nearest(pu)[0] for pu in pus})
