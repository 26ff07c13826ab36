"""The package is typed, linted and formatted; a program that uses it is checked by its types."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ["wrappers/python", "tests/python", "examples/python", "tools/demo.py"]

PROGRAM = """
import numpy as np
import pyddstore

with pyddstore.FileComm("/tmp/x", 0, 1) as comm, pyddstore.Store(comm) as store:
    reveal_type(store.get_batch("x", [1, 2]))
    reveal_type(store.owner("x", 3))
    reveal_type(store["x"].shape)
    store.get_batch(7, [1, 2])

with pyddstore.PyDDStore(None, method=1, handshake_dir="/tmp/x", rank=0, size=1) as drop_in:
    drop_in.get_batch("x", np.empty((2, 3)), [1, 2])
    reveal_type(drop_in.info("x"))
"""


def tool(name, *arguments, cwd=ROOT):
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    command = [sys.executable, "-m", name, *arguments]
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=110)


@pytest.mark.parametrize("arguments", [["check"], ["format", "--check"]], ids=lambda a: a[0])
def test_ruff_has_nothing_to_say(arguments):
    told = tool("ruff", *arguments, "--no-cache", *SOURCES)
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.parametrize("package", ["pyddstore", "cpu_nic_map"])
def test_the_package_is_strictly_typed(tmp_path, package):
    told = tool("mypy", "--strict", "--cache-dir", str(tmp_path), "-p", package, cwd=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr


def test_a_program_sees_the_types(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = tool("mypy", "--cache-dir", str(tmp_path / "cache"), "program.py", cwd=tmp_path).stdout
    assert told.count("Revealed type") == 4, told
    assert "numpy.ndarray" in told
    assert "tuple[int, int, int]" in told.replace("builtins.", "")
    assert "tuple[int, int]" in told.replace("builtins.", "")
    assert told.count("error:") == 1, told
    assert 'incompatible type "int"; expected "str"' in told
