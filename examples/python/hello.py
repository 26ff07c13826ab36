"""The smallest store: this process alone, one variable, rows by index."""

import numpy as np

import pyddstore

with pyddstore.Store() as store:
    store.add("x", np.arange(12.0).reshape(4, 3))  # 4 rows of 3 elements

    batch = store.get_batch("x", [3, 0, 3])  # rows in this order, as often as they are named
    print(batch)

    x = store["x"]  # the same, as an array is indexed
    print(x.shape, x.dtype, x[-1], x[1:3, 0])
