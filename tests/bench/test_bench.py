#!/usr/bin/env python3
"""ddstore-bench in each of its modes, briefly: the lines that it prints, and how it exits.

test_bench.py DDSTORE-BENCH
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))

import hosts

BENCH = sys.argv.pop(1)
MPIS = [name for name in ("openmpi", "mpich") if shutil.which(f"mpirun.{name}")]
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
KEYS = {
    "case", "path", "ranks", "row", "batch", "us_per_row", "limit", "limit_us_per_row",
    "limit_gbs", "ratio", "spread", "ok",
}  # fmt: skip
MEASURED, NOISY, USAGE, FAILED = 0, 3, 2, 4


# Two threads in MPICH keep each other waiting: that case takes from 12 s to over a minute.
def bench(*words, path=None, timeout=150):
    return subprocess.run(
        [BENCH, "--json", "--total-bytes", "4M", "--rounds", "11", *words],
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
        env=os.environ | ({"PATH": path} if path is not None else {}),
    )


class Case(unittest.TestCase):
    def lines(self, *words, path=None):
        done = bench(*words, path=path)
        self.assertIn(done.returncode, (MEASURED, NOISY), done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        for line in lines:
            self.assertLessEqual(KEYS, set(line))
            self.assertIs(line["ok"], True, line)
            self.assertGreater(line["ratio"], 0)
        return lines

    def ends_after(self, stop, *words):
        """Stopped so while it measures it ends, and with it its ranks and its directory."""
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.Popen(
                [BENCH, "--case", "get_batch", *words, "--total-bytes", "64M"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
                env=os.environ | {"TMPDIR": folder},
            )
            self.assertIn("[1/6]", run.stderr.readline())
            time.sleep(0.3)
            stop(run, folder)
            with run.stderr:
                run.stderr.read()
            self.assertEqual(run.wait(20), FAILED)
            left = [file.name for file in pathlib.Path(folder).glob("ddstore-bench-*")]
            self.assertEqual(left, [])
            self.assertEqual(ranks_in(folder), {})


def ranks_in(folder):
    """The words of each process that has to do with it."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if folder in (words := process.read_text(errors="replace")):
                found[int(process.parent.name)] = words.split("\0")
    return found


def told(run, folder):
    run.terminate()


def a_rank_killed(run, folder):
    (rank,) = [
        pid
        for pid, words in ranks_in(folder).items()
        if words[0].endswith("ddstore-bench") and words[-3:-1] == ["--as-rank", "1"]
    ]
    os.kill(rank, signal.SIGKILL)


class Lines(Case):
    def test_ranks_of_its_own_measure_each_row(self):
        lines = self.lines("--case", "get_batch", "--row", "64,3072")
        self.assertEqual([line["row"] for line in lines], [64, 3072])
        self.assertEqual({line["path"] for line in lines}, {"shm"})

    def test_under_an_mpi_each_case_and_path_goes_as_without(self):
        for mpi in MPIS:
            for case, way in (("get", "shm"), ("add", "shm"), ("get", "cma")):
                with self.subTest(mpi=mpi, case=case, path=way):
                    (line,) = self.lines(
                        "--mpi", mpi, "--case", case, "--path", way, "--row", "512"
                    )
                    self.assertEqual((line["case"], line["path"]), (case, way))
                    self.assertNotIn("MPI", line["limit"])

    def test_over_mpi_the_limit_is_of_that_mpi(self):
        for mpi in MPIS:
            for case in ("get", "get_batch", "get_batch_all", "threads"):
                with self.subTest(mpi=mpi, case=case):
                    (line,) = self.lines(
                        "--mpi", mpi, "--path", "mpi", "--case", case, "--row", "64"
                    )
                    self.assertIn(NAMES[mpi], line["limit"])

    def test_without_a_name_every_mpi_has_its_line(self):
        if not MPIS:
            self.skipTest("no MPI here")
        lines = self.lines("--path", "mpi", "--case", "get_batch", "--row", "512")
        self.assertEqual(len(lines), len(MPIS))
        for mpi, line in zip(MPIS, lines, strict=True):
            self.assertIn(NAMES[mpi], line["limit"])

    def test_a_collective_read_is_told_beside_the_better_exchange(self):
        lines = self.lines("--case", "get_batch_all", "--row", "64,4096")
        self.assertEqual([line["row"] for line in lines], [64, 4096])
        for line in lines:
            self.assertIn("Alltoallv" if MPIS else "exchange packed", line["limit"])

    def test_where_no_mpi_is_the_exchange_is_in_shared_memory(self):
        (line,) = self.lines("--case", "get_batch_all", "--row", "64", path="/nowhere")
        self.assertIn("exchange packed by", line["limit"])

    def test_uneven_shards_of_three_ranks_are_exchanged_too(self):
        for mpi in MPIS:
            for way in ("shm", "mpi"):
                with self.subTest(mpi=mpi, path=way):
                    self.lines("--mpi", mpi, "--case", "get_batch_all", "--path", way, "--ranks",
                               "3", "--uneven", "--row", "20000")  # fmt: skip


class Visit(Case):
    def visit(self, case, *words):
        (line,) = self.lines("--case", case, *words)
        self.assertEqual((line["case"], line["batch"], line["readers"]), (case, 1, 1))
        self.assertIn("record", line["limit"])
        self.assertGreater(line["rows_checked"], 0)
        return line


class Visits(Visit):
    """attach and join, by a reader of another job."""

    def test_a_reader_attaches_to_a_job(self):
        line = self.visit("attach", "--ranks", "3", "--uneven")
        self.assertEqual((line["path"], line["ranks"], line["row"]), ("shm", 3, 3072))
        self.assertIn("connection, descriptor and map", line["limit"])

    def test_a_reader_joins_a_variable_of_memory_that_it_has_not(self):
        line = self.visit("join", "--row", "512")
        self.assertIn("; descriptor and map", line["limit"])

    def test_a_reader_joins_a_variable_of_memory_that_it_has(self):
        line = self.visit("join", "--row", "512", "--total-bytes", "64K")
        self.assertNotIn("descriptor", line["limit"])


class Refusals(unittest.TestCase):
    def refused(self, code, text, *words, path=None):
        done = bench(*words, path=path)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_what_makes_no_sense_is_a_matter_of_the_command_line(self):
        self.refused(USAGE, "--case is missing", "--path", "mpi")
        self.refused(USAGE, "--path mpi is measured with", "--path", "mpi", "--case", "add")
        self.refused(USAGE, "--mpi is one of", "--mpi", "lam", "--case", "get")
        self.refused(USAGE, "goes with --path mpi or fabric", "--hosts", "2", "--case", "get")
        self.refused(USAGE, "leave --mpi out", "--hosts", "2", "--path", "fabric", "--mpi", "mpich",
                     "--case", "get")  # fmt: skip
        for case in ("attach", "join"):
            self.refused(USAGE, "--path shm and fabric", "--case", case, "--path", "cma")
            self.refused(USAGE, "leave --readers and --batch out", "--case", case, "--batch", "8")
            self.refused(USAGE, "leave --readers and --batch out", "--case", case, "--readers", "1")
            self.refused(USAGE, "leave --hosts and --mpi out", "--case", case, "--mpi", "mpich")
            self.refused(USAGE, "at most 255", "--case", case, "--ranks", "256")
        self.refused(USAGE, "rows of at most", "--path", "mpi", "--case", "get", "--row", "2G",
                     "--total-bytes", "16G")  # fmt: skip

    def test_an_mpi_that_is_not_here_is_named(self):
        words = ("--case", "get")
        self.refused(FAILED, "mpirun.mpich", "--mpi", "mpich", *words, path="/nowhere")
        self.refused(FAILED, "no MPI here", "--path", "mpi", *words, path="/nowhere")


class Ends(Case):
    def test_told_to_stop_it_ends_its_ranks_and_its_directory(self):
        for by in [[], *(["--mpi", mpi] for mpi in MPIS)]:
            with self.subTest(by=by):
                self.ends_after(told, *by)


class Wired(Visit):
    """attach and join over libfabric."""

    def test_a_reader_attaches_to_a_job(self):
        line = self.visit("attach", "--path", "fabric")
        self.assertEqual(line["path"], "fabric")
        self.assertIn("endpoint and fi_read", line["limit"])

    def test_a_reader_joins_a_variable(self):
        line = self.visit("join", "--path", "fabric")
        self.assertIn("; fi_read", line["limit"])


class Hosts(Case):
    """Over libfabric, between hosts of this machine's own."""

    @classmethod
    def setUpClass(cls):
        if why := hosts.why_not():
            raise unittest.SkipTest(why)

    def test_no_mpi_is_needed(self):
        words = ("--hosts", "2", "--path", "fabric", "--case", "get_batch", "--ranks", "3")
        (line,) = self.lines(*words, "--batch", "8", "--row", "3072")
        self.assertEqual((line["path"], line["ranks"]), ("fabric", 3))
        self.assertIn("fi_read", line["limit"])

    def test_told_to_stop_nothing_is_left(self):
        self.ends_after(told, "--hosts", "2", "--path", "fabric")

    def test_a_killed_rank_ends_them_all(self):
        self.ends_after(a_rank_killed, "--hosts", "2", "--path", "fabric")


if __name__ == "__main__":
    unittest.main()
