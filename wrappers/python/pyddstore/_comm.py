"""Communicators: who the ranks are.

`FileComm` needs no MPI, just a directory that all ranks see.  `open_comm` turns whatever a `Store`
is given into a communicator of the library.
"""

import os
import pickle
from typing import Any

from ._binding import check, failed, ffi, keep, lib, milliseconds
from ._freed import Freed
from ._mpi import is_mpi, open_mpi


class FileComm(Freed):
    """Processes that meet in a directory: collectives without MPI.

    Collective: every rank constructs it and makes the same calls in the same order.

    Parameters
    ----------
    dir : str or os.PathLike
        A directory that all ranks see; it is created with mode 0700 where it is missing.
    rank, size : int
        This process's rank and the number of ranks, as ``SLURM_PROCID`` and ``SLURM_NTASKS`` tell.
    ns : str, optional
        The name of this group in `dir`, unique there; by default groups are told apart by their
        order of creation.
    timeout : float, optional
        Seconds for the meeting; default ``DDSTORE_HANDSHAKE_TIMEOUT_S``.

    Raises
    ------
    ValueError
        For a rank that is not in [0, size), or a malformed `ns`.
    DeadlineError
        A rank did not come; the text names it.
    MismatchError
        Two processes claim one rank, or the sizes differ.

    Notes
    -----
    Rank 0 leaves a collective as soon as its part is written: do not remove `dir` right after one.
    """

    def __init__(
        self,
        dir: str | os.PathLike[str],
        rank: int,
        size: int,
        ns: str | None = None,
        timeout: float | None = None,
    ) -> None:
        self._handle: Any = ffi.NULL
        self.dir = os.fspath(dir)
        self.rank = int(rank)
        self.size = int(size)
        self.ns = ns
        handle = ffi.new("dds_comm_t *")
        c_ns = ffi.NULL if ns is None else ffi.new("char[]", ns.encode())
        wait = milliseconds(timeout)
        check(lib.dds_comm_file(os.fsencode(dir), c_ns, self.rank, self.size, wait, handle))
        self._handle = handle[0]

    def allgather(self, obj: Any) -> list[Any]:
        """Send `obj` to every rank and return all ranks' objects, by rank.  Collective.

        Objects are pickled: exchange them only with processes that you trust.
        """
        sent = pickle.dumps(obj, protocol=pickle.HIGHEST_PROTOCOL)
        sizes = ffi.new("size_t[]", self.size)
        room = 4096 * self.size  # the same guess on every rank, and a second round if too small
        for _ in range(2):
            received = ffi.new("char[]", room)
            code = lib.dds_comm_allgatherv(self._handle, sent, len(sent), received, room, sizes)
            if code != lib.DDS_ERR_TRUNCATED:
                break
            room = sum(sizes)
        check(code)
        objects, first = [], 0
        for size in sizes:
            objects.append(pickle.loads(ffi.buffer(received + first, size)))
            first += size
        return objects

    def barrier(self) -> None:
        """Return when every rank has called this.  Collective."""
        check(lib.dds_comm_barrier(self._handle))

    def free(self) -> None:
        """Give it back; stores that were made on it keep working.  Local; idempotent."""
        handle = ffi.new("dds_comm_t *", self._handle)
        self._handle = ffi.NULL
        check(lib.dds_comm_free(handle))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.free()

    def __repr__(self) -> str:
        where = f"{self.dir!r}, rank={self.rank}, size={self.size}, ns={self.ns!r}"
        return f"FileComm({where})" if self._handle else f"<freed FileComm({where})>"

    def __reduce__(self) -> Any:
        raise TypeError("a FileComm cannot be pickled: each process constructs its own")


class _Adapter:
    """The caller's own communicator behind the callbacks of `dds_comm_custom`."""

    alive: set["_Adapter"] = set()  # noqa: RUF012 - until the library releases them

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.handle = ffi.new_handle(self)
        self.alive.add(self)


def _number(value: Any) -> int:
    return int(value() if callable(value) else value)  # rank and size are methods here and there


def _custom(comm: Any) -> Any:
    adapter = _Adapter(comm)
    ops = ffi.new(
        "dds_comm_ops_t *",
        {
            "struct_size": ffi.sizeof("dds_comm_ops_t"),
            "rank": _number(comm.rank),
            "size": _number(comm.size),
            "allgather": lib.pyddstore_allgather,
            "free": lib.pyddstore_release,
        },
    )
    handle = ffi.new("dds_comm_t *")
    code = lib.dds_comm_custom(ops, adapter.handle, handle)
    if code:
        adapter.alive.discard(adapter)
        failed(code)
    return handle


@ffi.def_extern(error=lib.DDS_ERR_INTERNAL, onerror=keep)  # type: ignore[untyped-decorator]
def pyddstore_allgather(ctx: Any, sent: Any, size: int, received: Any, _timeout_ms: int) -> int:
    comm = ffi.from_handle(ctx).comm
    everything = comm.allgather(bytes(ffi.buffer(sent, size)))
    parts = [bytes(part) for part in everything]
    if len(parts) != _number(comm.size) or any(len(part) != size for part in parts):
        raise ValueError(f"allgather of {comm!r} did not return one value a rank")
    ffi.memmove(received, b"".join(parts), size * len(parts))
    return 0


@ffi.def_extern()  # type: ignore[untyped-decorator]
def pyddstore_release(ctx: Any) -> None:
    adapter = ffi.from_handle(ctx)
    adapter.alive.discard(adapter)


def open_comm(comm: Any) -> tuple[Any, bool]:
    """Return a communicator of the library, and whether it is the caller's to free."""
    if isinstance(comm, FileComm):
        return comm._handle, False
    if comm is None:
        handle = ffi.new("dds_comm_t *")
        check(lib.dds_comm_self(handle))
    elif is_mpi(comm):
        handle = open_mpi(comm)
    elif all(hasattr(comm, name) for name in ("rank", "size", "allgather")):
        handle = _custom(comm)
    else:
        raise TypeError(
            "a store's communicator is None, a FileComm, one of mpi4py, or an object with rank, "
            f"size and allgather(bytes), not {comm!r}"
        )
    return handle[0], True
