"""A real Slurm over the hosts: slurmctld and munged on the login node, a slurmd on each host.

All that it writes is in /run/slurm, which goes with the network; nothing under /etc is read.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import network

STATE = pathlib.Path("/run/slurm")
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")
SECONDS = 30  # for the nodes to be ready: 0.3 s where nothing else runs

# The machine's processors are fewer than the nodes' together: config_overrides lets them be.
CONFIGURATION = """\
ClusterName=dds
SlurmctldHost=dds-host-0
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/slurm/munge.socket
CredType=cred/munge
StateSaveLocation=/run/slurm/ctld
SlurmdSpoolDir=/run/local/slurmd
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/local/slurmd.pid
SlurmctldLogFile=/run/slurm/log/slurmctld
SlurmdLogFile=/run/slurm/log/slurmd.%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
SchedulerType=sched/backfill
SlurmctldTimeout=30
SlurmdTimeout=10
KillWait=2
MinJobAge=60
ReturnToService=2
PartitionName=test Nodes=ALL Default=YES MaxTime=60 State=UP OverSubscribe=NO
"""


def why_not():
    for program in PROGRAMS:
        if not shutil.which(program):
            return f"no {program} here"
    return None


def version():
    """(22, 5) and so on."""
    text = subprocess.run(["slurmctld", "-V"], text=True, stdout=subprocess.PIPE).stdout
    return tuple(int(part) for part in text.split()[-1].split(".")[:2])


def configure(count, cpus):
    """Write the configuration, before anything else is started."""
    for folder in (STATE, STATE / "log", STATE / "ctld"):
        folder.mkdir()
    os.environ["SLURM_CONF"] = str(STATE / "slurm.conf")
    nodes = "".join(
        f"NodeName={network.name_of(number)} CPUs={cpus} State=UNKNOWN\n"
        for number in range(1, count + 1)
    )
    (STATE / "slurm.conf").write_text(CONFIGURATION + nodes)
    # No control groups: the hosts' /sys has none.
    groups = "disabled" if version() >= (23, 11) else "cgroup/v1\nCgroupAutomount=no"
    (STATE / "cgroup.conf").write_text(f"CgroupPlugin={groups}\n")
    # PMIx fails where two nodes share its folder.
    (STATE / "mpi.conf").write_text("PMIxCliTmpDirBase=/run/local\n")
    key = STATE / "munge.key"
    key.touch(0o600)
    key.write_bytes(os.urandom(128))


def start(count):
    """Start the daemons and wait until every node is idle."""
    munge = {name: f"{STATE}/munge.{name}" for name in ("socket", "key", "log", "pid", "seed")}
    # One munged for all: its socket is a file, so every host reaches it.
    network.run(
        "munged", "--force", f"--socket={munge['socket']}", f"--key-file={munge['key']}",
        f"--log-file={munge['log']}", f"--pid-file={munge['pid']}", f"--seed-file={munge['seed']}",
    )  # fmt: skip
    network.run("slurmctld", "-c")
    tool = [sys.executable, "-sSEB", str(pathlib.Path(__file__).with_name("hosts.py"))]
    for number in range(1, count + 1):
        name = network.name_of(number)
        network.run(*tool, "exec", name, "slurmd", "-N", name)
    await_idle(count)


def await_idle(count):
    end = time.monotonic() + SECONDS
    while True:
        idle = subprocess.run(
            ["sinfo", "-h", "-o", "%D", "-t", "idle"], text=True, capture_output=True
        )
        if idle.stdout.strip() == str(count):
            return
        if time.monotonic() > end:
            logs = "".join(
                f"---- {path.name}\n{path.read_text(errors='replace')[-4000:]}\n"
                for path in sorted((STATE / "log").iterdir())
            )
            raise OSError(f"Slurm's nodes are not ready after {SECONDS} s\n{idle.stderr}\n{logs}")
        time.sleep(0.05)
