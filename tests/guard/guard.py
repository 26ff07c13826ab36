#!/usr/bin/env python3
"""Start the ranks of one test and see that they end in time and leave nothing behind.

    guard.py [--ranks N] [--timeout S] [--grace S] [--expect RANK=exit:N|signal:N]
             [--threads any] [--preload LIBRARY] [--no-report] [--mpirun COMMAND] -- PROGRAM ARGS

Each rank is a session of its own with DDS_TEST_RANK, DDS_TEST_SIZE and DDS_TEST_DIR, a directory
of the test that is TMPDIR too.  Every rank must exit 0 (or as --expect says); 77 of all is a skip.
What is left when they are gone fails the test: processes, files, names in /dev/shm, System V
objects, abstract sockets (snapshot.py), and the descriptors and threads that each rank still had
when it left main, which report.c tells.  With --mpirun the ranks are started by that command (and
`-n N`), which is the one process that must exit so; what they hold open is then not looked at, as
an MPI keeps what it likes.  Exit: 0, 77, or 1 with one line a fault on stderr.
"""

import argparse
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time

import snapshot

STOPPERS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
SKIP = 77


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for all of it")
    parser.add_argument(
        "--grace", type=float, default=10.0, help="seconds for the other ranks once one has failed"
    )
    parser.add_argument("--expect", action="append", default=[], metavar="RANK=exit:N|signal:N")
    parser.add_argument(
        "--threads",
        choices=["none", "any"],
        default="none",
        help="whether a rank may leave main with threads running",
    )
    parser.add_argument("--preload", help="the reporting library, for programs not linked with it")
    parser.add_argument(
        "--no-report", action="store_true", help="the program does not tell what it left open"
    )
    parser.add_argument("--mpirun", help="the command, with its options, that starts ranks")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    if options.mpirun:
        options.program = [
            *shlex.split(options.mpirun),
            "-n",
            str(options.ranks),
            *options.program,
        ]
        options.ranks = 1
        options.no_report = True
    options.expected = dict.fromkeys(range(options.ranks), ("exit", 0))
    for text in options.expect:
        rank, _, end = text.partition("=")
        kind, _, number = end.partition(":")
        if kind not in ("exit", "signal") or int(rank) not in options.expected:
            parser.error(f"--expect {text}: takes RANK=exit:N or RANK=signal:N")
        options.expected[int(rank)] = (kind, int(number))
    return options


class Job:
    """The ranks of one test, from their start to the last one's end."""

    def __init__(self, options, root):
        self.options = options
        self.root = root
        self.work = os.path.join(root, "work")
        os.mkdir(self.work, 0o700)
        self.pids = {}  # pid: rank, of those that run
        self.ends = {}  # rank: ("exit" | "signal", number)
        self.faults = []

    def start(self):
        for rank in range(self.options.ranks):
            env = dict(
                os.environ,
                DDS_TEST_DIR=self.work,
                TMPDIR=self.work,
            )
            if not self.options.mpirun:
                env.update(
                    DDS_TEST_RANK=str(rank),
                    DDS_TEST_SIZE=str(self.options.ranks),
                    DDS_TEST_REPORT=self.report(rank),
                )
            if self.options.preload:
                env["LD_PRELOAD"] = self.options.preload
            actions = [
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (
                    os.POSIX_SPAWN_OPEN,
                    1,
                    self.output(rank),
                    os.O_WRONLY | os.O_CREAT | os.O_APPEND,
                    0o600,
                ),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ]
            pid = os.posix_spawnp(
                self.options.program[0],
                self.options.program,
                env,
                setsid=True,
                file_actions=actions,
                setsigmask=[],
            )
            self.pids[pid] = rank

    def report(self, rank):
        return os.path.join(self.root, f"report.{rank}")

    def output(self, rank):
        return os.path.join(self.root, f"output.{rank}")

    def reap(self):
        """Take every process that has ended; one that is no rank was left by a rank."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid = ended.si_pid
            if pid in self.pids:
                rank = self.pids.pop(pid)
                kind = "exit" if ended.si_code == os.CLD_EXITED else "signal"
                self.ends[rank] = (kind, ended.si_status)
            elif not self.options.mpirun:  # which kills without waiting
                self.faults.append(f"process not waited for: {snapshot.describe(pid)}")
            os.waitpid(pid, 0)

    def wait(self):
        deadline = time.monotonic() + self.options.timeout
        failed_at = None
        while True:
            self.reap()
            if not self.pids:
                return
            now = time.monotonic()
            if failed_at is None and any(self.wrong(rank) for rank in self.ends):
                failed_at = now
            if now >= deadline or (failed_at and now >= failed_at + self.options.grace):
                running = ", ".join(str(rank) for rank in sorted(self.pids.values()))
                why = (
                    f"after {self.options.timeout:g} s"
                    if now >= deadline
                    else f"{self.options.grace:g} s after another rank failed"
                )
                self.faults.append(f"hang: rank {running} still ran {why}")
                self.kill(backtraces=True)
                return
            got = signal.sigtimedwait(STOPPERS | {signal.SIGCHLD}, min(deadline - now, 1.0))
            if got and got.si_signo in STOPPERS:
                self.faults.append(f"ended by signal {got.si_signo}")
                self.kill(backtraces=True)
                return

    def wrong(self, rank):
        end = self.ends[rank]
        return end != self.options.expected[rank] and end != ("exit", SKIP)

    def kill(self, backtraces):
        started = snapshot.descendants(self.pids) if self.options.mpirun else list(self.pids)
        if backtraces:
            for pid, text in snapshot.backtraces(started).items():
                who = f"rank {self.pids[pid]}" if pid in self.pids else snapshot.describe(pid)
                print(f"---- {who}, where it was\n{text}", file=sys.stderr)
        for pid in started:
            os.kill(pid, signal.SIGKILL)
        while self.pids:
            signal.sigtimedwait({signal.SIGCHLD}, 0.1)
            self.reap()

    def end_what_is_left(self):
        """Kill and name the processes that outlived the ranks; they are this process's now."""
        while left := snapshot.children():
            for pid in left:
                self.faults.append(f"process left: {snapshot.describe(pid)}")
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def judge(self):
        """0 or 77, or 1 and a line a fault."""
        skipped = [rank for rank, end in self.ends.items() if end == ("exit", SKIP)]
        if skipped and len(skipped) < self.options.ranks:
            self.faults.append(f"skipped by rank {skipped} alone")
        for rank in sorted(self.ends):
            if self.wrong(rank):
                kind, number = self.ends[rank]
                name = f" ({signal.Signals(number).name})" if kind == "signal" else ""
                self.faults.append(
                    f"rank {rank}: {kind} {number}{name}, not "
                    + " ".join(map(str, self.options.expected[rank]))
                )
            elif self.ends[rank][0] == "exit" and not self.options.no_report:
                self.faults += self.left_open(rank)
        if self.faults:
            return 1
        return SKIP if skipped else 0

    def left_open(self, rank):
        try:
            with open(self.report(rank), errors="replace") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            lines = []
        if not lines or lines[-1] != "end":
            return [f"rank {rank} ended without a report of what it left open"]
        return [
            f"rank {rank} left {line}"
            for line in lines[:-1]
            if not (self.options.threads == "any" and line.startswith("thread"))
        ]

    def show(self):
        for rank in range(self.options.ranks):
            with open(self.output(rank), errors="replace") as file:
                for line in file:
                    prefix = f"[{rank}] " if self.options.ranks > 1 else ""
                    print(prefix + line.rstrip("\n"))


def main():
    options = arguments()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPERS | {signal.SIGCHLD})
    snapshot.adopt_orphans()
    alone = snapshot.isolate()
    root = tempfile.mkdtemp(prefix="dds-test-")
    try:
        job = Job(options, root)
        before = snapshot.take()
        job.start()
        job.wait()
        job.end_what_is_left()
        job.faults += snapshot.left(before, patience=0.2 if alone else 2.0)
        job.faults += snapshot.files(job.work)
        code = job.judge()
        job.show()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    sys.stdout.flush()
    for fault in job.faults:
        print(f"guard: {fault}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
