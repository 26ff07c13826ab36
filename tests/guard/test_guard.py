#!/usr/bin/env python3
"""The guard tells each kind of leak, hang and failure that a program is made to show.

test_guard.py LEAKY
"""

import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LEAKY = sys.argv[1]


def guard(what, *options):
    return subprocess.run(
        [sys.executable, "-sSEB", os.path.join(HERE, "guard.py"), *options, "--", LEAKY, what],
        capture_output=True,
        text=True,
        timeout=120,
    )


class Guard(unittest.TestCase):
    def tells(self, what, text, *options):
        done = guard(what, *options)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(text, done.stderr)
        return done

    def passes(self, what, *options, code=0):
        done = guard(what, *options)
        self.assertEqual((done.returncode, done.stderr), (code, ""))

    def test_a_clean_program_passes(self):
        self.passes("nothing")
        self.passes("nothing", "--ranks", "4")

    def test_a_descriptor(self):
        self.tells("descriptor", "rank 0 left descriptor 3: /dev/null")
        self.tells("memfd", "rank 1 left descriptor 3: /memfd:left", "--ranks", "2")

    def test_an_abstract_socket(self):
        self.tells("socket", "@left-here")

    def test_a_thread(self):
        self.tells("thread", "rank 0 left threads: 1 more")
        self.passes("thread", "--threads", "any")

    def test_a_child(self):
        self.tells("child", "process left: ")
        self.tells("zombie", "process not waited for: ")

    def test_a_daemon_and_its_socket(self):
        done = self.tells("daemon", "process left: ")
        self.assertIn("leaky daemon", done.stderr)

    def test_a_name_in_dev_shm(self):
        self.addCleanup(lambda: os.path.exists(name) and os.unlink(name))
        name = "/dev/shm/left-here"
        self.tells("shm", "left: " + name)

    def test_a_system_v_segment(self):
        self.tells("sysv", "left: System V shm ")

    def test_a_file(self):
        self.tells("file", "file left: left")

    def test_a_hang_is_ended_and_shown(self):
        begin = time.monotonic()
        done = self.tells(
            "hang", "hang: rank 1 still ran after 0.5 s", "--ranks", "2", "--timeout", "0.5"
        )
        self.assertIn("where it was", done.stderr)
        self.assertIn("pause", done.stderr)
        self.assertLess(time.monotonic() - begin, 40)

    def test_others_do_not_wait_for_the_time_limit_when_one_fails(self):
        done = self.tells(
            "fail-then-hang", "rank 0: exit 3, not exit 0", "--ranks", "2", "--grace", "0.5"
        )
        self.assertIn("after another rank failed", done.stderr)

    def test_a_crash(self):
        self.tells("crash", "rank 0: signal 11 (SIGSEGV)")

    def test_an_end_without_report(self):
        self.tells("unreported", "rank 0 ended without a report")
        self.passes("unreported", "--no-report")

    def test_an_expected_death(self):
        self.passes("kill-me", "--ranks", "2", "--expect", "1=signal:9")
        self.tells(
            "nothing", "rank 1: exit 0, not signal 9", "--ranks", "2", "--expect", "1=signal:9"
        )

    def test_a_skip_is_one_of_all_ranks(self):
        self.passes("skip", "--ranks", "2", code=77)
        self.tells("skip-one", "skipped by rank [0] alone", "--ranks", "2")

    def test_nothing_of_the_guard_itself_is_left(self):
        with tempfile.TemporaryDirectory() as top:
            os.environ["TMPDIR"] = top
            self.addCleanup(os.environ.pop, "TMPDIR")
            self.passes("nothing")
            self.tells("file", "file left")
            self.assertEqual(os.listdir(top), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
