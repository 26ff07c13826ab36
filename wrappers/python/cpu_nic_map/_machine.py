"""What the machine tells of its CPUs, NUMA nodes and network interfaces.

``hwloc-calc`` tells most; ``/sys`` is enough without it, and where it does not see a device.
"""

import re
import shutil
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

from ._text import natural, parse_ranges

SYS = Path("/sys")
_PATIENCE_S = 60


def hcalc(loc: str, itype: str) -> list[int]:
    """Ask ``hwloc-calc`` which objects of a type belong to a location.

    Parameters
    ----------
    loc : str
        Such as ``"all"``, ``"numa:1"`` or ``"os=hsn0"``, numbers as the kernel counts.
    itype : str
        Such as ``"pu"`` or ``"numa"``.

    Returns
    -------
    list of int
        The kernel's numbers of these objects.

    Raises
    ------
    RuntimeError
        ``hwloc-calc`` is not installed, or knows no such location.
    """
    command = ["hwloc-calc", "--disallowed", "-p", "-I", itype, loc]
    try:
        told = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"{' '.join(command)}: {error}; is hwloc installed?") from error
    answer = told.stdout.strip()
    if told.returncode or not re.fullmatch(r"[0-9]+(,[0-9]+)*", answer):
        said = " ".join((told.stderr or told.stdout).split()) or "it says nothing"
        raise RuntimeError(f"{' '.join(command)}: {said}; `lstopo` shows what hwloc sees")
    return [int(number) for number in answer.split(",")]


def ask(loc: str, itype: str) -> list[int]:
    """Do as `hcalc`; nothing where that cannot tell."""
    if shutil.which("hwloc-calc") is None:
        return []
    try:
        return hcalc(loc, itype)
    except RuntimeError:
        return []


def all_pus() -> list[int]:
    """Return the CPUs of the machine, whether this process may use them or not."""
    return sorted(ask("all", "pu") or _list_of(SYS / "devices/system/cpu/online"))


def numa_nodes() -> dict[int, set[int]]:
    """Return the CPUs of each NUMA node."""
    found = {node: set(ask(f"numa:{node}", "pu")) for node in ask("all", "numa")}
    if not any(found.values()):
        nodes = _list_of(SYS / "devices/system/node/online")
        found = {node: set(_list_of(_node(node) / "cpulist")) for node in nodes}
    return found


def distances(node: int) -> dict[int, int]:
    """Return how far each NUMA node is from this one, in the kernel's numbers; {}: unknown."""
    told = _line(_node(node) / "distance").split()
    return dict(zip(_list_of(SYS / "devices/system/node/online"), map(int, told), strict=False))


def nics(pattern: str) -> list[str]:
    """Return the interfaces that match a shell pattern and are not down, in order."""
    found = {name for name in _names("net") if _is_up(name)}
    found |= {name for name in _names("infiniband") if _is_active(name)}
    for device in _names("cxi"):
        twin = "hsn" + device.removeprefix("cxi")  # the same interface, by its network device
        if twin in found or twin not in _names("net"):
            found |= {device, twin}
    return sorted((name for name in found if fnmatchcase(name, pattern)), key=natural)


def all_names() -> list[str]:
    """Return every network interface and RDMA device."""
    return sorted({*_names("net"), *_names("cxi"), *_names("infiniband")}, key=natural)


def nic_pus(nic: str) -> set[int]:
    """Return the CPUs that the machine says are near an interface; empty: it does not say."""
    return set(ask(f"os={nic}", "pu") or _list(_of_slot(nic, "local_cpulist")))


def nic_numa(nic: str) -> int:
    """Return the NUMA node of an interface; -1: unknown."""
    told = ask(f"os={nic}", "numa")
    if len(told) == 1:
        return told[0]
    number = _of_slot(nic, "numa_node")
    return int(number) if number.isdecimal() else -1


def _of_slot(nic: str, file: str) -> str:
    """Read a file of the device, or of the bus that it hangs on: virtio's PCI parent has it."""
    twin = {"hsn": "cxi", "cxi": "hsn"}.get(nic[:3], nic[:3]) + nic[3:]
    for name in (nic, twin):
        for kind in ("net", "cxi", "infiniband"):
            device = SYS / "class" / kind / name / "device"
            if device.exists():
                slot = device.resolve()
                for folder in [slot, *slot.parents][:4]:
                    if line := _line(folder / file):
                        return line
    return ""


def _is_up(net: str) -> bool:
    state = _line(SYS / "class/net" / net / "operstate")
    return state in ("up", "unknown", "")  # unknown: of drivers that do not say


def _is_active(device: str) -> bool:
    ports = (SYS / "class/infiniband" / device / "ports").glob("*/state")
    states = [_line(port) for port in ports]
    return not states or any("ACTIVE" in state for state in states)  # "4: ACTIVE"


def _names(kind: str) -> list[str]:
    try:
        folders = (SYS / "class" / kind).iterdir()
        return [entry.name for entry in folders if entry.is_dir()]  # bonding_masters is a file
    except OSError:
        return []


def _node(node: int) -> Path:
    return SYS / f"devices/system/node/node{node}"


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _list(text: str) -> list[int]:
    try:
        return parse_ranges(text)
    except ValueError:
        return []


def _list_of(path: Path) -> list[int]:
    return _list(_line(path))
