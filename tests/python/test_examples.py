"""Each example runs as it stands."""

import os
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


def test_a_core_job_and_a_reader_job_run_side_by_side(tmp_path):
    jobs = FOLDER / "jobs"
    environment = os.environ | {"SLURM_NTASKS": "2"}
    reader = [sys.executable, "-W", "error", str(jobs / "reader.py"), str(tmp_path), "2"]
    core = [sys.executable, "-W", "error", str(jobs / "core.py"), str(tmp_path)]
    running = [
        subprocess.Popen(reader, stdout=subprocess.PIPE, text=True),
        *(
            subprocess.Popen(
                core, env=environment | {"SLURM_PROCID": rank}, stdout=subprocess.PIPE, text=True
            )
            for rank in ("0", "1")
        ),
    ]
    told = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert told[0].count("of 2000 rows by shm") >= 2
    assert "published 20 frames of 2000 rows" in told[1]
