"""Fill rows where they will live: no second copy of the data, ever.

`create` gives this rank's rows as an array; what is written there is in the store.
"""

import numpy as np

import pyddstore

ROWS, CHUNK = 100_000, 8_192

with pyddstore.Store() as store:
    mine = store.create("squares", ROWS, shape=4, dtype=np.float64)  # zeroed

    for first in range(0, ROWS, CHUNK):  # a reader of files would fill chunk by chunk like this
        chunk = mine[first : first + CHUNK]
        numbers = np.arange(first, first + len(chunk), dtype=np.float64)
        np.power(numbers[:, None], [0, 1, 2, 3], out=chunk)

    with store.epoch():  # from here on every rank sees what every rank has written
        print(store.get_batch("squares", [2, 10, ROWS - 1]))

# A view stays valid when the store is gone; its memory goes with the last view.
print(mine[3])
