"""A training loop over `PyDDStore`, as programs for ORNL's pyddstore are written.

mpirun -n 4 python epochs.py
"""

import numpy as np
from mpi4py import MPI

import pyddstore

ROWS, WIDTH, BATCH, EPOCHS = 1000, 64, 32, 3

comm = MPI.COMM_WORLD
store = pyddstore.PyDDStore(comm)  # any MPI, found in the process

# Every rank gives its share; the global rows are the shares in rank order.
mine = np.arange(ROWS * comm.rank, ROWS * (comm.rank + 1))
store.add("features", np.repeat(mine.astype(np.float32)[:, None], WIDTH, axis=1))
store.add("label", mine % 10)

total, disp, itemsize = store.info("features")
batch = np.empty((BATCH, disp), np.float32)
labels = np.empty(BATCH, np.int64)

for epoch in range(EPOCHS):
    # Each rank takes its part of one order that all of them know.
    order = np.random.default_rng(epoch).permutation(total)[comm.rank :: comm.size]
    seen = 0.0
    for first in range(0, ROWS - BATCH + 1, BATCH):
        rows = order[first : first + BATCH]
        store.epoch_begin()  # from here on every rank sees what every rank has updated
        store.get_batch("features", batch, rows)  # all ranks together
        store.get_batch("label", labels, rows)
        store.epoch_end()
        assert (batch[:, -1] == rows).all()
        assert (labels == rows % 10).all()
        seen += float(batch.sum())
    sample = np.empty((1, disp), np.float32)
    store.get("features", sample, int(order[0]))  # one row, and the others do nothing for it
    everyone = comm.reduce(seen)
    if comm.rank == 0:
        print(f"epoch {epoch}: {comm.size} ranks, mean {everyone / comm.size / ROWS / WIDTH:.1f}")

store.free()
