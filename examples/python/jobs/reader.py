"""Another job: it finds what core.py publishes, waits for frames, and reads rows of them.

    python reader.py DIRECTORY N        N is the number of ranks of core.py

It may be started before core.py; any number may run, and end, at any time.
"""

import sys

import numpy as np

import pyddstore


def main(directory: str, n_core: int) -> None:
    """Read random rows of every fifth frame."""
    rng = np.random.default_rng()
    with pyddstore.Store.attach(directory, n_core) as store:
        store.join("field")
        total = store.info("field").rows
        frame = 0
        while frame < 15:
            frame = store.wait_version("field", frame + 5, timeout=60)
            batch = store.get_batch("field", rng.integers(0, total, 32))
            assert batch.min() >= frame  # the owners may be a frame further by now
            print(f"frame {frame}: {len(batch)} of {total} rows by", store.path(0))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
