#!/usr/bin/env python3
"""Every DDS_FAILPOINT of the sources is passed by a test, and survived when a rank is killed there
or the point returns an error.

    failpoints.py SOURCES PROGRAM
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCES, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
ERROR = 16  # DDS_ERR_IO
POINT = re.compile(r'DDS_FAILPOINT\("([^"]+)"\)')


def points():
    """Name: where, of every failpoint."""
    found = {}
    for path in sorted(SOURCES.rglob("*.[ch]pp")):
        for name in POINT.findall(path.read_text()):
            found[name] = path.relative_to(SOURCES)
    return found


def run(outcome, *more, **env):
    """The exit status and output of one run of the three ranks, in a directory of its own."""
    with tempfile.TemporaryDirectory(dir=os.environ["DDS_TEST_DIR"]) as top, subprocess.Popen(
        [PROGRAM, outcome, *more],
        env=dict(os.environ, DDS_TEST_DIR=top, **env),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as program:
        try:
            text, _ = program.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            program.kill()
            return "hang", ""
    return program.returncode, text


def passed_by():
    """For each point, which of the first two ranks pass it when nothing goes wrong."""
    trace = pathlib.Path(os.environ["DDS_TEST_DIR"], "trace")
    code, text = run("any", DDS_TEST_TRACE=str(trace))
    ranks = {}
    for rank in (0, 1, 2):
        path = trace.with_name(f"trace.{rank}")
        for name in set(path.read_text().split()) if path.exists() and rank < 2 else ():
            ranks.setdefault(name, []).append(rank)
        path.unlink(missing_ok=True)
    return ranks, f"without a fault: exit {code}\n{text}" if code else None


def survives(case):
    """None, or what went wrong when that rank failed or was killed at that point."""
    name, rank, action = case
    outcome = ["dies"] if action == "kill" else ["fails", str(ERROR)]
    code, text = run(*outcome, DDS_TEST_POINT=f"{name}:{action}", DDS_TEST_POINT_RANK=str(rank))
    return f"rank {rank}, {name}:{action}: exit {code}\n{text}" if code else None


def main():
    ranks, failure = passed_by()
    names = points()
    failed = [failure] if failure else []
    failed += [f"{name} ({names[name]}) is passed by no test" for name in names.keys() - ranks]
    cases = [
        (name, rank, action)
        for name in names
        for rank in ranks.get(name, ())
        for action in ("kill", f"error={ERROR}")
    ]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they mostly wait for a deadline
        failed += filter(None, pool.map(survives, cases))
    print(f"{len(names)} failpoints, {len(cases)} cases, {len(failed)} failures")
    for text in failed:
        print(text)
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
