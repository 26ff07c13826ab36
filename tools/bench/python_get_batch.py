"""What Python adds to the C call, and how both compare with NumPy on a local array.

Two ranks hold half of 1 GiB each.  Rank 0 reads batches of fresh random rows over both three ways:
Store.get_batch or, with --pyddstore, PyDDStore.get_batch(collective=False); dds_get_batch in a C
loop; and numpy.take on a local array of the same total size, with indices of the same kind.  The
ways take turns, in the order A B C C B A.  Prints medians, in us a call.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from cffi import FFI

import pyddstore
from pyddstore._binding import ffi, lib

LOOP = """
double loop(void *call, void *store, const char *name, long batches, long n, const long *rows,
            void *out, size_t bytes);
"""

LOOP_SOURCE = """
#include <stdint.h>
#include <time.h>
typedef int get_batch_t(void *, const char *, int64_t, const int64_t *, void *, size_t);

/* Seconds of `batches` calls, each with rows of its own; -1 where one failed. */
double loop(void *call, void *store, const char *name, long batches, long n, const long *rows,
            void *out, size_t bytes)
{
    struct timespec from, to;
    int failed = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < batches; i++)
        failed |= ((get_batch_t *)call)(store, name, n, (const int64_t *)rows + i * n, out, bytes);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec);
    return failed ? -1 : seconds + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}
"""


def c_loop(directory):
    """Compile the loop, with the C compiler that is there."""
    source = Path(directory) / "loop.c"
    source.write_text(LOOP_SOURCE)
    library = source.with_suffix(".so")
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    own = FFI()
    own.cdef(LOOP)
    return own, own.dlopen(str(library))


def pin(core):
    """Stay on one core, if this process may use that many."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[core % len(cores)]})


def switches():
    """Return how often this thread lost its core to another."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw


def share(rank, rows, width):
    """One rank's rows: each tells its global index in its first element."""
    mine = np.zeros((rows, width), np.float32)
    mine[:, 0] = np.arange(rank * rows, (rank + 1) * rows) % (1 << 24)
    return mine


def holder(face, directory, rank, rows, width):
    """Be the other rank: hold rows until the reader has left."""
    pin(rank)
    with pyddstore.FileComm(directory, rank, 2) as comm, face(comm) as store:
        store.add("x", share(rank, rows, width))
        comm.barrier()
        sys.stdin.read()


def measure(store, local, directory, options):
    """Return the median us a call of each way, and the differences' medians."""
    own, loop = c_loop(directory)
    n, batches, width = options.batch, options.batches, local.shape[1]
    random = np.random.default_rng(options.seed)
    out = np.empty((n, width), np.float32)
    call = own.cast("void *", int(ffi.cast("uintptr_t", ffi.addressof(lib, "dds_get_batch"))))
    handle = own.cast("void *", int(ffi.cast("uintptr_t", store._handle)))
    get_batch, take, now = store.get_batch, np.take, time.perf_counter

    def of_store(rows):
        start = now()
        for index in rows:
            get_batch("x", index, out)
        return now() - start

    def of_pyddstore(rows):
        start = now()
        for index in rows:
            get_batch("x", out, index, False)
        return now() - start

    python = of_pyddstore if options.pyddstore else of_store

    def c(rows):
        address = own.from_buffer("long[]", rows)
        buffer = own.from_buffer("char[]", out, require_writable=True)
        seconds = loop.loop(call, handle, b"x", batches, n, address, buffer, out.nbytes)
        assert seconds >= 0, "a C call failed"
        return seconds

    def numpy(rows):
        start = now()
        for index in rows:
            take(local, index, axis=0, out=out, mode="clip")
        return now() - start

    def empty(rows):  # the loop itself, which is not the library's
        start = now()
        for _index in rows:
            pass
        return now() - start

    ways = {"python": python, "c": c, "numpy": numpy, "empty": empty}
    took = {name: [] for name in ways}
    for round_ in range(-1, options.rounds):
        seconds = dict.fromkeys(ways, 0.0)
        for name in [*ways, *reversed(ways)]:
            for _ in range(8):  # again, where another process took the core meanwhile
                rows = random.integers(0, len(local), (batches, n))  # fresh, never seen before
                lost = switches()
                one = ways[name](rows) / batches
                if switches() == lost:
                    break
            seconds[name] += one / 2
            if name != "empty":
                assert np.array_equal(out[:, 0], local[rows[-1], 0]), f"{name} read wrong rows"
        if round_ >= 0:  # the first one warms up
            for name, value in seconds.items():
                took[name].append(value * 1e6)
    over = [p - e - c for p, e, c in zip(took["python"], took["empty"], took["c"], strict=True)]
    ratio = [p / t for p, t in zip(took["python"], took["numpy"], strict=True)]
    quartiles = statistics.quantiles(over, n=4)
    return {
        "case": "python_get_batch",
        "class": type(store).__name__,
        "ranks": 2,
        "row": width * 4,
        "batch": n,
        "us_per_python_call": round(statistics.median(took["python"]), 3),
        "us_per_c_call": round(statistics.median(took["c"]), 3),
        "us_over_c": round(statistics.median(over), 3),
        "us_over_c_quartiles": [round(quartiles[0], 3), round(quartiles[2], 3)],
        "us_per_numpy_take": round(statistics.median(took["numpy"]), 3),
        "ratio_to_numpy": round(statistics.median(ratio), 3),
        "rounds": options.rounds,
    }


def main():
    """Start the other rank, read, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", type=int, default=64, help="bytes a row (default 64)")
    parser.add_argument("--batch", type=int, default=128, help="rows a call (default 128)")
    parser.add_argument("--batches", type=int, default=100, help="calls a measurement")
    parser.add_argument("--rounds", type=int, default=301, help="measurements of each way")
    parser.add_argument("--mib", type=int, default=1024, help="MiB in all (default 1024)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pyddstore", action="store_true", help="PyDDStore instead of Store")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--hold", nargs=2, metavar=("DIR", "RANK"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    width = options.row // 4
    rows = options.mib * 2**20 // 2 // options.row
    face = pyddstore.PyDDStore if options.pyddstore else pyddstore.Store
    if options.hold:
        holder(face, options.hold[0], int(options.hold[1]), rows, width)
        return
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, __file__, *sys.argv[1:], "--hold", directory, "1"]
        other = subprocess.Popen(command, stdin=subprocess.PIPE)
        pin(0)
        with pyddstore.FileComm(directory, 0, 2) as comm, face(comm) as store:
            store.add("x", share(0, rows, width))
            local = np.empty((2 * rows, width), np.float32)
            if options.pyddstore:
                store.get("x", local)
            else:
                store.get("x", 0, None, local)
            comm.barrier()
            result = measure(store, local, directory, options)
            result["path"] = store.path(1)
        other.communicate()
    if options.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:22} {value}")
    sys.exit(other.returncode)


if __name__ == "__main__":
    main()
