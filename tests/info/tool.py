"""Runs ddstore-info and takes what it says apart."""

import json
import os
import subprocess

SECTIONS = ["library", "environment", "node", "processor", "memory", "limits"]
SECTIONS += ["network", "mpi", "ranks"]


def environment(**given):
    """This process's environment with no other variables of the library's than those given."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DDSTORE_")}
    return env | given


def run(command, status, **given):
    """Return what it prints; it must end with this status, and soon."""
    ended = subprocess.run(
        command, env=environment(**given), text=True, capture_output=True, timeout=80
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == status, f"{command}: {ended.returncode}\n{said}"
    return ended.stdout


def facts(command, status=0, **given):
    """Return what it tells a program."""
    told = json.loads(run([*command, "--json"], status, **given))
    assert list(told) == [*SECTIONS, "problems"], list(told)
    assert bool(told["problems"]) == (status == 1), told["problems"]
    return told


def run_all(tests, *arguments):
    """Run each test of a module, told by its name."""
    for name, test in tests.items():
        if name.startswith("test_"):
            print(name, flush=True)
            test(*arguments)
