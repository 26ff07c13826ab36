#!/usr/bin/env python3
"""Every DDS_FAILPOINT of the sources is passed by a test, and survived when a rank is killed there
or the point returns an error.

    failpoints.py SOURCES PROGRAM
"""

import os
import pathlib
import re
import subprocess
import sys

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
    done = subprocess.run(
        [PROGRAM, outcome, *more],
        env=dict(os.environ, **env),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
    )
    return done.returncode, done.stdout


def main():
    failed = []
    names = points()
    trace = pathlib.Path(os.environ["DDS_TEST_DIR"], "trace")
    code, text = run("any", DDSTORE_FAILPOINT_TRACE=str(trace))
    if code != 0:
        failed.append(f"without a fault: exit {code}\n{text}")
    passed = set(trace.read_text().split()) if trace.exists() else set()
    trace.unlink(missing_ok=True)
    for name, where in names.items():
        if name not in passed:
            failed.append(f"{name} ({where}) is passed by no test")
            continue
        for outcome, action in (("dies", "kill"), ("fails", f"error={ERROR}")):
            more = [str(ERROR)] if outcome == "fails" else []
            code, text = run(outcome, *more, DDS_TEST_POINT=f"{name}:{action}")
            if code != 0:
                failed.append(f"{name}:{action}: exit {code}\n{text}")
    print(f"{len(names)} failpoints, {len(failed)} failures")
    for text in failed:
        print(text)
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
