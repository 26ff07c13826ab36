#!/usr/bin/env python3
"""run.py tells what became of a job: its status, a hang and where that is, those who survived.

test_run.py WHEELS
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import hosts
import run

WHEELS = pathlib.Path(sys.argv[1])
# No program here ends at once: Open MPI 5's launcher then hangs in half of the runs.
RANK = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"


class Run(unittest.TestCase):
    def run_each(self, *options):
        """(what it printed, status) of the job under each MPI that is here."""
        here = [name for name, find in run.MPIS.items() if not isinstance(find(WHEELS), str)]
        self.assertTrue(here, "no MPI here")
        for name in here:
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, "-sSEB", run.__file__, "--mpi", name, "--wheels", str(WHEELS),
                     *options],
                    env=os.environ | {"DDS_TEST_DIR": folder},
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                )  # fmt: skip
                self.assertEqual(os.listdir(folder), [])
            yield done.stdout, done.returncode

    def test_ranks_fill_the_hosts_one_after_another(self):
        tell = f"sleep 1; echo {RANK} $(hostname)"
        for text, code in self.run_each("--ranks", "3", "--", "sh", "-c", tell):
            lines = {line for line in text.splitlines() if line[:1].isdigit()}
            self.assertEqual((lines, code), ({"0 dds-host-1", "1 dds-host-1", "2 dds-host-2"}, 0))

    def test_a_failed_rank_fails_the_test(self):
        fail = f"sleep 1; exit $(({RANK} == 3 ? 5 : 0))"
        for text, code in self.run_each("--", "sh", "-c", fail):
            self.assertNotEqual(code, 0, text)

    def test_a_hang_is_ended_and_shown(self):
        begin = time.monotonic()
        for text, code in self.run_each("--timeout", "2", "--ranks", "2", "--", "sleep", "600"):
            self.assertEqual(code, 1)
            self.assertIn("the job still runs after 2 s", text)
            self.assertEqual(text.count("(sleep 600) state S"), 2, text)
            self.assertLess(time.monotonic() - begin, 60)

    def test_survivors_pass_the_test(self):
        waits = f'test {RANK} = 2 || > "$DDS_TEST_DIR/survived.{RANK}"; sleep 600'
        for text, code in self.run_each(
            "--survivors", "2", "--hosts", "3", "--ranks", "3", "--", "sh", "-c", waits
        ):
            self.assertEqual(code, 0, text)

    def test_an_end_before_all_survived_fails_the_test(self):
        for text, code in self.run_each("--survivors", "2", "--ranks", "2", "--", "sleep", "1"):
            self.assertEqual(code, 1)
            self.assertIn("before 2 ranks were done", text)


if __name__ == "__main__":
    if why := hosts.why_not():
        print(f"skipped: {why}")
        sys.exit(hosts.SKIP)
    unittest.main(argv=sys.argv[:1])
