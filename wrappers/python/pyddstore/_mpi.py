"""mpi4py's communicators, handed to the library as they are.

mpi4py is never imported for it: a communicator can only come from one that is there.
"""

import os
import sys
from typing import Any

from ._binding import check, ffi, lib
from ._built import WITH_MPI


def have_mpi() -> bool:
    """Whether communicators of MPI are taken: not with ``DDSTORE_MPI=0``, now or at the build."""
    return WITH_MPI and os.environ.get("DDSTORE_MPI") != "0"


HAVE_MPI = have_mpi()


def is_mpi(comm: Any) -> bool:
    """Whether it is a communicator of mpi4py."""
    module = sys.modules.get("mpi4py.MPI")
    return module is not None and isinstance(comm, module.Comm)


def open_mpi(comm: Any) -> Any:
    """Return a communicator of the library over a duplicate of `comm`.  Collective.

    Raises
    ------
    RuntimeError
        MPI was switched off.
    ValueError
        It is ``MPI.COMM_NULL``, or joins two groups.
    """
    if not have_mpi():
        raise RuntimeError(
            "MPI was switched off (pyddstore.HAVE_MPI is False): unset DDSTORE_MPI, or install "
            "without DDSTORE_MPI=0, or meet by a FileComm"
        )
    mpi: Any = sys.modules["mpi4py.MPI"]
    if comm == mpi.COMM_NULL:
        raise ValueError(
            "the communicator is MPI.COMM_NULL: it was freed, or this rank is in none of the groups"
        )
    if isinstance(comm, mpi.Intercomm):
        raise ValueError("a store goes over one group of ranks: merge the intercommunicator first")
    handle = ffi.new("dds_comm_t *")
    raw = ffi.cast("void *", mpi._addressof(comm))
    library = os.fsencode(mpi.__file__)  # bound to the MPI that mpi4py uses
    check(lib.dds_comm_mpi(raw, mpi._sizeof(mpi.Comm), library, handle))
    return handle
