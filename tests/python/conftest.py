"""The launcher of ranks: `launch(function, n)` runs a function of the test's module in n processes.

Each gets a FileComm as its argument; all must end well, in time, or the test fails with what they
wrote.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

RUNNER = Path(__file__).with_name("rank.py")


class Ranks:
    """Processes of one launch."""

    def __init__(
        self, function: Callable[..., object], size: int, where: Path, env: dict[str, str]
    ):
        source = sys.modules[function.__module__].__file__
        self.outputs = [where / f"rank{rank}.txt" for rank in range(size)]
        self.processes = []
        for rank, output in enumerate(self.outputs):
            command = [sys.executable, str(RUNNER), str(source), function.__name__]
            with output.open("w") as file:
                self.processes.append(
                    subprocess.Popen(
                        [*command, str(where / "meet"), str(rank), str(size)],
                        stdout=file,
                        stderr=subprocess.STDOUT,
                        env={**os.environ, "PYTHONFAULTHANDLER": "1", **env},
                    )
                )

    def text(self, rank: int) -> str:
        return self.outputs[rank].read_text()

    def wait_for(self, rank: int, word: str, timeout: float = 30) -> None:
        """Return when the rank has written `word`."""
        deadline = time.monotonic() + timeout
        while word not in self.text(rank):
            ended = self.processes[rank].poll() is not None and word not in self.text(rank)
            late = time.monotonic() > deadline
            assert not ended, f"rank {rank} ended without {word!r}: {self.text(rank)}"
            assert not late, f"rank {rank} never wrote {word!r}: {self.text(rank)}"
            time.sleep(0.01)

    def wait(self, timeout: float) -> None:
        """Return when all have ended, well; one that fails ends the wait for the others soon."""
        deadline = time.monotonic() + timeout
        while True:
            codes = [process.poll() for process in self.processes]
            if None not in codes or time.monotonic() > deadline:
                break
            if any(codes):
                deadline = min(deadline, time.monotonic() + 2)
            time.sleep(0.02)
        self.kill()
        told = "\n".join(f"-- rank {r}: {c}\n{self.text(r)}" for r, c in enumerate(codes))
        assert codes == [0] * len(codes), told

    def kill(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Ranks]]:
    """Start ranks and return at once; what is left of them ends with the test."""
    started: list[Ranks] = []

    def begin(function: Callable[..., object], size: int, **env: str) -> Ranks:
        where = tmp_path / f"launch{len(started)}"
        where.mkdir()
        started.append(Ranks(function, size, where, env))
        return started[-1]

    yield begin
    for ranks in started:
        ranks.kill()


@pytest.fixture
def launch(start: Callable[..., Ranks]) -> Callable[..., Ranks]:
    """Run ranks to their end."""

    def run(function: Callable[..., object], size: int, timeout: float = 60, **env: str) -> Ranks:
        ranks = start(function, size, **env)
        ranks.wait(timeout)
        return ranks

    return run
