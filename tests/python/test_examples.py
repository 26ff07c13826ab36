"""Each example runs as it stands."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "python"
EXAMPLES = sorted(FOLDER.glob("*.py"))


def test_there_are_examples():
    assert {path.stem for path in EXAMPLES} >= {"hello", "ranks", "fill", "overlap"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    command = [sys.executable, "-W", "error", str(path)]
    ended = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout
    assert not ended.stderr
