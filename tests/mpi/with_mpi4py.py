"""The raw communicator of mpi4py, with its MPI named and found: with_mpi4py.py LIBDDSTORE LIBRARY

Run as ranks of the MPI in LIBRARY, which mpi4py takes; exits 77 where it is not installed.
"""

import ctypes
import importlib.util
import os
import sys


def mapped():
    """The libraries of MPI that this process has."""
    with open("/proc/self/maps") as maps:
        files = {os.path.realpath(line.split()[-1]) for line in maps if ".so" in line}
    return sorted(name for name in files if "libmpi" in os.path.basename(name))


def main(ddstore, library):
    if importlib.util.find_spec("mpi4py") is None:
        print("no mpi4py")
        return 77
    # Ours comes first, and must not decide which MPI mpi4py gets.
    dds = ctypes.CDLL(ddstore)
    dds.dds_last_error.restype = ctypes.c_char_p
    assert mapped() == []
    from mpi4py import MPI

    before = mapped()
    assert os.path.realpath(library) in before or "/" not in library, before
    world = MPI.COMM_WORLD

    def ok(code):
        assert code == 0, dds.dds_last_error().decode()

    def handle(comm):
        return ctypes.c_void_p(MPI._addressof(comm)), ctypes.c_size_t(MPI._sizeof(MPI.Comm))

    for named in (MPI.__file__.encode(), None):
        copy, comm = world.Dup(), ctypes.c_void_p()
        ok(dds.dds_comm_mpi(*handle(copy), named, ctypes.byref(comm)))
        copy.Free()
        mine = ctypes.c_int64(3 * world.rank)
        everybody = (ctypes.c_int64 * world.size)()
        ok(dds.dds_comm_allgather(comm, ctypes.byref(mine), ctypes.c_size_t(8), everybody))
        assert list(everybody) == [3 * rank for rank in range(world.size)]
        ok(dds.dds_comm_free(ctypes.byref(comm)))

    # A rank outside of a split has MPI_COMM_NULL.
    even = world.Split(0 if world.rank % 2 == 0 else MPI.UNDEFINED)
    comm = ctypes.c_void_p()
    code = dds.dds_comm_mpi(*handle(even), None, ctypes.byref(comm))
    if even == MPI.COMM_NULL:
        assert code == 1
        assert b"MPI_COMM_NULL" in dds.dds_last_error()
    else:
        ok(code)
        size = ctypes.c_int()
        ok(dds.dds_comm_size(comm, ctypes.byref(size)))
        assert size.value == even.size == (world.size + 1) // 2
    assert mapped() == before
    return 0  # what is open stays open: mpi4py calls MPI_Finalize at exit


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
