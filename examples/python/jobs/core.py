"""The job that holds the data: its ranks fill a store, publish it, and stay while others read.

    python core.py DIRECTORY            in one terminal; reader.py in another
    srun python core.py DIRECTORY       as many ranks as Slurm has tasks (core_and_reader.sbatch)

DIRECTORY is one that all see.  No MPI is needed: the ranks meet there, too.
"""

import os
import sys
import time

import numpy as np

import pyddstore

FRAMES = 20


def main(directory: str) -> None:
    """One rank: my rows, and a new frame of them now and then."""
    rank = int(os.environ.get("SLURM_PROCID", "0"))
    size = int(os.environ.get("SLURM_NTASKS", "1"))
    with pyddstore.PyDDStore(
        None, method=2, handshake_dir=directory, rank=rank, size=size
    ) as store:
        mine = np.zeros((1000, 8), np.float32)
        store.add("field", mine)
        for frame in range(1, FRAMES + 1):
            mine[:] = frame
            store.update("field", mine, 0)
            store.publish("field", frame)  # of all ranks: this frame is whole
            time.sleep(0.1)
        if rank == 0:
            print(f"published {FRAMES} frames of {1000 * size} rows")
        time.sleep(1)  # the last readers


if __name__ == "__main__":
    main(sys.argv[1])
