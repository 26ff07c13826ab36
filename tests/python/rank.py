"""One rank of a test: rank.py MODULE FUNCTION, and DIRECTORY RANK SIZE where there is no mpirun."""

import importlib.util
import sys
import traceback
from pathlib import Path


def load(source: str, function: str):
    """Import the test's module and return its function."""
    sys.path.insert(0, str(Path(source).parent))
    spec = importlib.util.spec_from_file_location(Path(source).stem, source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, function)


def main(source: str, function: str, *where: str) -> None:
    """Run the function with a communicator."""
    call = load(source, function)
    if where:
        import pyddstore

        directory, rank, size = where
        with pyddstore.FileComm(directory, int(rank), int(size), timeout=30) as comm:
            call(comm)
        return
    from mpi4py import MPI

    try:
        call(MPI.COMM_WORLD)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)  # the others wait for this one, also in MPI_Finalize


main(*sys.argv[1:])
