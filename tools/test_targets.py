#!/usr/bin/env python3
"""Print what ninja must build before the tests of some suites can run.

Usage: test_targets.py BUILD SUITE...
"""

import json
import pathlib
import subprocess
import sys


def introspected(build, what):
    """Ask Meson about a build folder."""
    command = ["meson", "introspect", build, f"--{what}"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main(build, *suites):
    """Print a file a line, relative to the build folder, as ninja names its targets."""
    top = pathlib.Path(build).resolve()
    files = {target["id"]: target["filename"] for target in introspected(build, "targets")}
    needed = {
        file
        for test in introspected(build, "tests")
        if any(suite.rpartition(":")[2] in suites for suite in test["suite"])
        for target in test["depends"]
        for file in files[target]
    }
    print(*(pathlib.Path(file).relative_to(top) for file in sorted(needed)), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
