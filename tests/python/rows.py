"""Rows whose values tell where they are from."""

import numpy as np


def shard_sizes(size):
    """Rows of each rank: uneven, and none on the second of three or more."""
    return [0 if size > 2 and rank == 1 else 50 + 13 * rank for rank in range(size)]


def everything(size, shape=(3,), dtype=np.float32):
    """All rows of all ranks."""
    total = sum(shard_sizes(size))
    count = total * int(np.prod(shape))
    return np.arange(count).reshape(total, *shape).astype(dtype)


def share(rank, size, shape=(3,), dtype=np.float32):
    """One rank's rows."""
    sizes = shard_sizes(size)
    first = sum(sizes[:rank])
    return everything(size, shape, dtype)[first : first + sizes[rank]]
