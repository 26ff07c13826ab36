"""Several processes without MPI: every rank holds a share, every rank reads any row.

srun -n 4 python ranks.py /shared/directory        under Slurm, which numbers the processes
python ranks.py                                    alone: starts its own four ranks
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

import pyddstore


def main(directory: str, rank: int, size: int) -> None:
    """One rank: give my rows, read everybody's."""
    with (
        pyddstore.FileComm(directory, rank, size) as comm,
        pyddstore.Store(comm) as store,
    ):
        mine = np.full((100, 8), rank, np.float32)  # shares may differ, and be empty
        store.add("x", mine)

        rows = np.random.default_rng(rank).permutation(100 * size)[:5]
        batch = store.get_batch("x", rows)  # the other ranks do nothing for it
        assert (batch[:, 0] == rows // 100).all()
        print(f"rank {rank} of {size}: rows {rows.tolist()} came by", store.path((rank + 1) % size))

        everyone = comm.allgather(f"{rank} is done")  # any object, also a way to wait for all
        assert len(everyone) == size


def start_here(size: int) -> None:
    """Start the ranks on this machine, as a launcher would."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, __file__, directory]
        ranks = []
        for rank in range(size):
            env = {**os.environ, "SLURM_PROCID": str(rank), "SLURM_NTASKS": str(size)}
            ranks.append(subprocess.Popen(command, env=env))
        codes = [process.wait() for process in ranks]
    if any(codes):
        sys.exit(f"ranks ended with {codes}")


if len(sys.argv) > 1:
    main(sys.argv[1], int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"]))
else:
    start_here(4)
