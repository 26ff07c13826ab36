"""Read the next batch while this one is being used: requests, and buffers that are used again."""

import numpy as np

import pyddstore

BATCHES, BATCH = 50, 256

with pyddstore.Store() as store:
    store.add("x", np.arange(10_000 * 16, dtype=np.float32).reshape(10_000, 16))

    random = np.random.default_rng(0)
    batches = [random.integers(0, 10_000, BATCH) for _ in range(BATCHES)]
    buffers = [np.empty((BATCH, 16), np.float32) for _ in range(2)]
    for buffer in buffers:
        store.register_recv(buffer)  # a network registers it once, not once a read

    total = 0.0
    request = store.iget_batch("x", batches[0], buffers[0])
    for i in range(BATCHES):
        rows = request.wait(timeout=30)
        if i + 1 < BATCHES:
            request = store.iget_batch("x", batches[i + 1], buffers[(i + 1) % 2])
        assert (rows[:, 0] == batches[i] * 16).all()
        total += float(rows.sum())  # the work that the next read hides behind

    print(f"{BATCHES * BATCH} rows, sum {total:.6g}")
    print(f"{store.stats().rows['self']} of them from this rank's own memory")
