"""Maps and lists of CPUs as text: ``hsn0=0-15,64-79;hsn1=16-31``."""

import re
from collections.abc import Iterable, Mapping

MOST_CPU = 65535
_EXAMPLE = (
    "a map is like hsn0=0-15,64-79;hsn1=16-31, and `cpu_nic_map --env` writes that of a machine"
)


def compress_ranges(numbers: Iterable[int]) -> str:
    """Write numbers as ranges: ``[0, 1, 2, 5]`` is ``"0-2,5"``."""
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in runs(numbers)
    )


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each stretch of consecutive numbers, in order."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def parse_ranges(text: str) -> list[int]:
    """Read ``"0-2,5"`` as ``[0, 1, 2, 5]``; ValueError names the part that is neither."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", part)
        digits = [word.lstrip("0")[:6] or "0" for word in match.groups(match[1])] if match else []
        first, last = map(int, digits) if digits else (1, 0)
        if last < first or last > MOST_CPU:
            raise ValueError(
                f"{_shown(part)} is neither a CPU, 0 to {MOST_CPU}, nor an ascending range of them"
            )
        numbers.extend(range(first, last + 1))
    return numbers


def natural(name: str) -> tuple[str, int, str]:
    """Sort names by it: hsn2 comes before hsn10."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or -1), name


def format_map(nics: Mapping[int, str]) -> str:
    """Write ``{cpu: nic}`` as a map, its interfaces in the order of their names."""
    cpus: dict[str, list[int]] = {}
    for cpu, nic in nics.items():
        cpus.setdefault(nic, []).append(cpu)
    return ";".join(f"{nic}={compress_ranges(cpus[nic])}" for nic in sorted(cpus, key=natural))


def parse_env(s: str, source: str = "the map") -> dict[int, str]:
    """Read a map of CPUs to interfaces, as `serialize_env` writes it.

    Parameters
    ----------
    s : str
        The map; an empty one has no CPUs.
    source : str, optional
        Where it comes from, for the text of an error.

    Returns
    -------
    dict
        The interface of each CPU.

    Raises
    ------
    ValueError
        A piece is malformed, or gives a CPU a second interface; the text tells which piece, and
        the byte that it begins at.
    """
    nics: dict[int, str] = {}
    at = 0
    pieces = s.split(";")
    if pieces[-1] == "":
        pieces.pop()  # nothing behind a last semicolon
    for number, piece in enumerate(pieces, 1):
        try:
            _read_piece(piece, nics)
        except ValueError as error:
            where = f"{source}: piece {number}, {_shown(piece)} at byte {at}"
            raise ValueError(f"{where}: {error}; {_EXAMPLE}") from None
        at += len(piece.encode(errors="surrogateescape")) + 1
    return nics


def _read_piece(piece: str, nics: dict[int, str]) -> None:
    nic, equals, cpus = piece.partition("=")
    if not equals:
        raise ValueError("it has no '='")
    if not re.fullmatch(r"[!-.0-~]{1,63}", nic):
        raise ValueError(f"{_shown(nic)} is no interface's name of 1 to 63 printable bytes")
    for cpu in parse_ranges(cpus):
        if nics.setdefault(cpu, nic) != nic:
            raise ValueError(f"CPU {cpu} has {_shown(nics[cpu])} already")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
