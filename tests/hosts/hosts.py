#!/usr/bin/env python3
"""Several hosts on one machine, each with its own network, name, processes, IPC and /dev/shm.

    hosts.py up N [--rate RATE] [--slurm CPUS] -- COMMAND

starts dds-host-1 to dds-host-N, runs COMMAND on the login node dds-host-0 beside them, ends all
of it with COMMAND, and exits as that did; 77 where this machine lets nobody do so.  --rate limits
every port (such as 1gbit); --slurm makes the hosts nodes of a Slurm cluster.  In COMMAND, and in
all that it starts anywhere:

    hosts.py exec HOST COMMAND     on a host, by number or name; exits as COMMAND does
    hosts.py rsh HOST WORDS        the same in the way of ssh, for launchers; options are ignored
    hosts.py cut HOST [OTHER]      nothing passes any more (between the two), and nobody is told
    hosts.py heal HOST             undo its cuts
    hosts.py slow HOST RATE|off    limit its port in both directions
    hosts.py stop HOST, cont HOST  SIGSTOP or SIGCONT to all of its processes
    hosts.py crash HOST            power loss: a cut, then all its processes die
    hosts.py count HOST            what it sent and received, as the switch counted

/tmp and the disk are shared, as a cluster's home is; /run is the network's own, and in it TMPDIR,
/run/local, each node's own.  All of it lives in namespaces below the process of `up` and goes with
that, even by kill -9; any number of networks is there at a time.
"""

import argparse
import contextlib
import os
import pathlib
import select
import signal
import socket
import sys
import traceback

import network
import slurm
import spaces

HERE = pathlib.Path(__file__).resolve().parent
STATE = pathlib.Path("/run/hosts")
LOCAL = "/run/local"
MOST = 32
SKIP = 77


def why_not():
    """What is missing on this machine, or None."""
    if os.geteuid() != 0:
        return "hosts of their own need root"
    pid = os.fork()
    if pid == 0:
        try:
            spaces.leave(spaces.MOUNTS | spaces.PIDS | spaces.NETWORK)
            network.ip("link add br0 type bridge", "link add p0 type veth peer name p1")
        except OSError as error:
            print(f"no hosts of their own here: {error}", file=sys.stderr, flush=True)
            os._exit(SKIP)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        return "this machine has no namespaces, bridges or ip(8) for hosts of their own"
    return None


def host_number(text):
    number = text.removeprefix("dds-host-")
    if not number.isdigit() or int(number) > MOST:
        raise OSError(f"no such host: {text}")
    return int(number)


def first_of(number):
    """The first process of a host; 0: it crashed."""
    try:
        return int((STATE / f"first.{number}").read_text())
    except FileNotFoundError:
        raise OSError(f"host {number} is not up") from None


# ---- The first process of each node


def be_host(number, ready):
    os.setsid()
    spaces.become_host(network.name_of(number))
    spaces.mount("tmpfs", LOCAL, "tmpfs", data="mode=1777")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans are not waited for
    os.write(ready, b".")
    while True:
        signal.pause()


class Login:
    """The login node: it starts the hosts, and does to them what is asked for."""

    def __init__(self, count, rate):
        spaces.become_host(network.name_of(0))
        spaces.mount("tmpfs", "/run", "tmpfs", data="mode=755")
        for folder in (STATE, LOCAL):
            os.mkdir(folder)
        names = {0: network.LOGIN_ADDRESS} | {
            number: network.address_of(number) for number in range(1, count + 1)
        }
        (STATE / "names").write_text(
            "127.0.0.1 localhost\n::1 localhost\n"
            + "".join(f"{there} {network.name_of(number)}\n" for number, there in names.items())
        )
        spaces.mount(str(STATE / "names"), "/etc/hosts", flags=spaces.MS_BIND)
        os.environ |= {"TMPDIR": LOCAL, "DDS_HOSTS": str(STATE / "control")}
        self.hosts = {}
        network.switch()
        for number in range(1, count + 1):
            self.start(number)
            if rate:
                network.slow(number, rate)

    def start(self, number):
        ready, end = os.pipe()
        self.hosts[number] = spaces.fork_first(lambda: be_host(number, end))
        os.close(end)
        if not os.read(ready, 1):
            raise OSError(f"host {number} did not start")
        os.close(ready)
        network.plug_in(number, self.hosts[number])
        self.note(number)

    def note(self, number):
        (STATE / f"first.{number}").write_text(str(self.hosts[number]))

    def serve(self, control, child):
        """Answer what is asked until `child` ends; its status."""
        while True:
            select.select([control, self.wake], [], [])
            with contextlib.suppress(BlockingIOError):
                self.wake.recv(4096)
            for pid, code in spaces.reap():
                if pid == child:
                    return code
            with contextlib.suppress(OSError):  # who asked may have crashed with its host
                asker, _ = control.accept()
                with asker:
                    asker.settimeout(5)
                    asker.sendall(self.answer(asker.recv(4096).decode().split()).encode())

    def run(self, body):
        self.wake, woken = socket.socketpair()
        for end in (self.wake, woken):
            end.setblocking(False)
        signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        with socket.socket(socket.AF_UNIX) as control:
            control.setblocking(False)
            control.bind(os.environ["DDS_HOSTS"])
            control.listen(64)
            child = os.fork()
            if child == 0:
                self.be_command(body)
            return self.serve(control, child)

    def be_command(self, body):
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = 1
        try:
            code = body()
        except OSError as error:
            print(f"hosts: {error}", file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    def answer(self, words):
        try:
            verb, *arguments = words
            if verb not in REQUESTS:
                raise OSError(f"no such request: {verb}")
            host, *more = arguments
            number = host_number(host)
            if number not in self.hosts:
                raise OSError(f"no such host: {host}")
            return f"ok {REQUESTS[verb](self, number, *more) or ''}\n"
        except (OSError, TypeError, ValueError) as error:
            return f"no {error}\n"

    def cut(self, number, other=None):
        if other:
            network.part(number, host_number(other))
        else:
            network.cut(number)

    def heal(self, number):
        network.heal(number, [other for other in self.hosts if other != number])

    def slow(self, number, rate):
        network.slow(number, rate)

    def count(self, number):
        return network.count(number)

    def signal(self, number, what):
        seen = set()
        while new := set(spaces.processes_with(self.hosts[number])) - seen:
            for pid in new:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, what)
            seen |= new

    def stop(self, number):
        self.signal(number, signal.SIGSTOP)

    def cont(self, number):
        self.signal(number, signal.SIGCONT)

    def crash(self, number):
        first, self.hosts[number] = self.hosts[number], 0
        if first:
            network.cut(number)
            self.note(number)  # before its end is seen by `exec`
            os.kill(first, signal.SIGKILL)
            os.waitpid(first, 0)


REQUESTS = {
    verb: getattr(Login, verb) for verb in ("cut", "heal", "slow", "stop", "cont", "crash", "count")
}


# ---- What is called from outside


def up(count, body, rate=None, cpus=0):
    """Run `body` on the login node of a network of its own; its exit status."""
    if why := why_not() or (cpus and slurm.why_not()):
        print(f"skipped: {why}", flush=True)
        return SKIP

    def login():
        node = Login(count, rate)
        if cpus:
            slurm.configure(count, cpus)
        return node.run(lambda: (slurm.start(count) if cpus else None, body())[1])

    def end(number, _):
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
    first = spaces.fork_first(login)
    try:
        return spaces.shell_status(os.waitpid(first, 0)[1])
    except SystemExit:
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)
        raise


def run_on(number, command):
    """Run it on a host; its exit status."""
    if number == 0:
        os.execvp(command[0], command)
    here = os.getcwd()
    if first := first_of(number):
        spaces.enter(first)
        pid = os.fork()
        if pid == 0:
            spaces.end_with_parent(signal.SIGTERM)
            os.chdir(here)
            os.execvp(command[0], command)
        status = os.waitpid(pid, 0)[1]
    while first_of(number) == 0:  # no end of a connection to a dead host is ever seen
        signal.pause()
    return spaces.shell_status(status)


def ask(*words):
    with socket.socket(socket.AF_UNIX) as asker:
        asker.connect(os.environ["DDS_HOSTS"])
        asker.sendall(" ".join(words).encode())
        good, _, text = asker.makefile().read().strip().partition(" ")
    if good != "ok":
        raise OSError(text or "no answer")
    return text


def arguments_of_up(words):
    parser = argparse.ArgumentParser(prog="hosts.py up")
    parser.add_argument("count", type=int, choices=range(1, MOST + 1), metavar="N")
    parser.add_argument("--rate")
    parser.add_argument("--slurm", type=int, default=0, metavar="CPUS")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(words)


def main(verb="help", *words):
    if verb == "up":
        asked = arguments_of_up(words)
        command = asked.command
        return up(asked.count, lambda: os.execvp(command[0], command), asked.rate, asked.slurm)
    if verb == "exec":
        return run_on(host_number(words[0]), words[1:])
    if verb == "rsh":
        while words[0].startswith("-"):
            words = words[2 if words[0] in ("-l", "-o", "-p") else 1 :]
        return run_on(host_number(words[0]), ["sh", "-c", " ".join(words[1:])])
    if verb in REQUESTS:
        print(ask(verb, *words))
        return 0
    print(__doc__)
    return verb != "help"


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except OSError as error:
        sys.exit(f"hosts: {error}")
