"""A store for each group of ranks: the data is held once a group, and reads stay within it.

mpirun -n 4 python groups.py
"""

import numpy as np
from mpi4py import MPI

import pyddstore

ROWS, WIDTH = 600, 2  # all rows, and the ranks of a group

comm = MPI.COMM_WORLD
group = comm.Split(comm.rank // WIDTH, comm.rank)
store = pyddstore.PyDDStore(group)

# The rows are split over the ranks of the group, and filled chunk by chunk.
shares = np.array_split(np.arange(ROWS), group.size)
mine = shares[group.rank]
store.init("square", len(mine), 2, itemsize=8)
for first in range(0, len(mine), 100):
    chunk = mine[first : first + 100]
    store.update("square", np.stack([chunk, chunk**2], axis=1), first)
group.Free()  # the store has a communicator of its own

store.epoch_begin()
everything = np.empty((ROWS, 2), np.int64)
store.get("square", everything)  # a range may cross shards
store.epoch_end()
assert (everything[:, 0] ** 2 == everything[:, 1]).all()

told = comm.gather(f"rank {comm.rank} has {len(mine)} rows and read {len(everything)}")
if comm.rank == 0:
    print("\n".join(told))
store.free()
