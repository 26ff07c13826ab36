"""What the library tells about a variable and a store, as plain records."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._binding import check, ffi, lib

PATHS = ("self", "shm", "cma", "fabric", "mpi", "device")


@dataclass(frozen=True)
class Info:
    """A variable, as `Store.info` tells it."""

    name: str
    dtype: np.dtype[Any]
    rows: int
    """Rows of all ranks."""
    shape: tuple[int, ...]
    """Of one row; () where a row is one element."""
    disp: int
    """Elements a row."""
    itemsize: int
    """Bytes an element."""
    first: int
    """This rank's first global row."""
    nrows: int
    """This rank's rows."""
    nocopy: bool
    """The shard lies in the caller's array."""
    hugepages: bool
    meta_bytes: int
    version: int
    """Last published, 0: none."""


@dataclass(frozen=True)
class Profile:
    """Counts of this process's reads of a variable, as `Store.profile` tells them."""

    calls: int
    rows: int
    mr_miss: int
    """Reads over a wire into a buffer that had to be registered and was not."""
    lock_wait: float
    """Seconds of waiting for other threads' reads over a wire."""
    mr: float
    """Seconds of registering: 0, no read does."""
    read: float
    """Seconds of posting to a wire."""
    cq: float
    """Seconds of completing what was posted."""


@dataclass(frozen=True)
class Stats:
    """What this rank's store has done and holds, as `Store.stats` tells it."""

    rows: dict[str, int]
    """Rows read, by path: "self", "shm", "cma", ..."""
    bytes: dict[str, int]
    """Bytes read, by path."""
    staged_bytes: int
    """Of these, through library memory."""
    retries: int
    timeouts: int
    dead_peers: int
    arenas: int
    """Own arenas."""
    arena_bytes: int
    """Memory that they take."""
    used_bytes: int
    """Memory of live variables."""
    peer_maps: int
    """Arenas of peers that are mapped."""
    keys: int
    windows: int
    table_bytes: int
    """Partitions and addresses."""
    parked_bytes: int
    """Of the whole process: given back, but still seen by a view."""
    quarantined_bytes: int
    """Of the whole process: a read that could not be cancelled may still land there."""


_PLAIN = [name for name in Stats.__dataclass_fields__ if name not in ("rows", "bytes")]


def read_info(store: Any, c_name: Any) -> Any:
    """Ask the library for the description of a variable; returns its ``dds_info_t``."""
    c = ffi.new("dds_info_t *", {"struct_size": ffi.sizeof("dds_info_t")})
    check(lib.dds_info(store, c_name, c))
    return c


def read_stats(store: Any) -> Stats:
    """Ask the library for a store's statistics."""
    c = ffi.new("dds_stats_t *", {"struct_size": ffi.sizeof("dds_stats_t")})
    check(lib.dds_stats(store, c))
    return Stats(
        rows=dict(zip(PATHS, c.rows, strict=False)),
        bytes=dict(zip(PATHS, c.bytes, strict=False)),
        **{name: getattr(c, name) for name in _PLAIN},
    )


def read_profile(store: Any, c_name: Any) -> Profile:
    """Ask the library for the profile of a variable."""
    c = ffi.new("dds_profile_t *", {"struct_size": ffi.sizeof("dds_profile_t")})
    check(lib.dds_profile(store, c_name, c))
    return Profile(
        calls=c.calls,
        rows=c.rows,
        mr_miss=c.mr_miss,
        lock_wait=c.lock_wait_ns * 1e-9,
        mr=c.mr_ns * 1e-9,
        read=c.read_ns * 1e-9,
        cq=c.cq_ns * 1e-9,
    )
