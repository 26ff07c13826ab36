#!/usr/bin/env python3
"""Hosts are apart in all that the library or an MPI looks at, links fail in silence, nothing stays.

The checks run on the login node; a check that fails there fails the test here.
"""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "guard"))

import hosts
import network
import snapshot

TOOL = [sys.executable, "-sSEB", str(pathlib.Path(hosts.__file__))]
MARK = f"DDS_HOSTS_TEST={os.getpid()}"

# Sends back what comes in; "." tells that it listens.
ECHO = """
import contextlib, socket, threading
def serve(peer):
    with contextlib.suppress(OSError):
        while data := peer.recv(100):
            peer.sendall(data)
server = socket.create_server(("", 7777))
print(".", flush=True)
while True:
    threading.Thread(target=serve, args=[server.accept()[0]], daemon=True).start()
"""
# For each line: sends a byte, tells how many came back in two seconds.
CALL = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 7777), timeout=2)
print("connected", flush=True)
for line in sys.stdin:
    peer.sendall(b"x")
    try:
        print(len(peer.recv(100)), flush=True)
    except TimeoutError:
        print("silence", flush=True)
"""


def start(host, *command, **how):
    return subprocess.Popen(
        [*TOOL, "exec", str(host), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **how,
    )


def python(host, code, *arguments, **how):
    return start(host, sys.executable, "-sSEc", code, *arguments, **how)


def told_by(host, *command):
    """What a command on that host prints."""
    process = start(host, *command)
    text = process.communicate(timeout=20)[0].strip()
    assert process.returncode == 0, (command, process.returncode)
    return text


class Call:
    """A connection from one host to the echo on another."""

    def __init__(self, here, there):
        self.process = python(here, CALL, network.name_of(there), stderr=subprocess.DEVNULL)
        self.made = self.process.stdout.readline().strip() == "connected"

    def answer(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def echo_on(host):
    process = python(host, ECHO)
    assert process.stdout.readline() == ".\n"
    return process


def processes_of_this_test():
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if MARK in path.read_text(errors="replace").split("\0"):
                found.append(int(path.parent.name))
    return set(found) - {os.getpid()}


class Hosts(unittest.TestCase):
    def on_login(self, body, count=2):
        def run():
            body()
            return 0

        sys.stderr.flush()
        self.assertEqual(hosts.up(count, run), 0)

    def test_each_has_a_name_and_knows_the_others(self):
        def body():
            for number in (1, 2):
                self.assertEqual(told_by(number, "hostname"), f"dds-host-{number}")
            echo_on(2)
            self.assertEqual(Call(1, 2).answer(), "1")
            echo_on(0)
            self.assertEqual(Call(1, 0).answer(), "1")

        self.on_login(body)

    def test_none_sees_memory_sockets_or_processes_of_another(self):
        hold = """
import ctypes, os, socket, time
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0of-one-host")
open("/dev/shm/of-one-host", "w").close()
open("/run/local/of-one-host", "w").close()
assert ctypes.CDLL(None).shmget(0x1234, 4096, 0o1600) >= 0
print(os.getpid(), flush=True)
time.sleep(60)
"""
        see = """
import os
kinds = [
    "@of-one-host" in open("/proc/net/unix").read(),
    "of-one-host" in os.listdir("/dev/shm"),
    "of-one-host" in os.listdir("/run/local"),
    len(open("/proc/sysvipc/shm").readlines()) > 1,
    any("time.sleep(60)" in open(f"/proc/{name}/cmdline").read()
        for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()),
]
print(kinds.count(True))
"""

        def body():
            python(1, hold).stdout.readline()
            seen = {host: told_by(host, sys.executable, "-sSEc", see) for host in (1, 2)}
            self.assertEqual(seen, {1: "5", 2: "0"})

        self.on_login(body)

    def test_a_cut_is_silent_and_heals(self):
        def body():
            echo_on(2)
            call = Call(1, 2)
            self.assertEqual(call.answer(), "1")
            hosts.ask("cut", "2")
            self.assertEqual(call.answer(), "silence")
            self.assertFalse(Call(1, 2).made)
            hosts.ask("heal", "2")
            answers = [call.answer() for _ in range(5)]  # the next retry of TCP takes a while
            self.assertTrue(set(answers) & {"1", "2", "3", "4"}, answers)
            self.assertTrue(Call(1, 2).made)

        self.on_login(body)

    def test_no_word_of_a_cut_host_reaches_the_login_node(self):
        send = "import socket; socket.socket(type=2).sendto(b'x', ('dds-host-0', 7777))"

        def body():
            with socket.socket(type=socket.SOCK_DGRAM) as word:
                word.bind(("", 7777))
                word.settimeout(0.5)
                for host in (1, 2, 3):
                    told_by(host, sys.executable, "-sSEc", send)
                    self.assertEqual(word.recv(10), b"x")
                    hosts.ask("cut", str(host))
                    told_by(host, sys.executable, "-sSEc", send)
                    with self.assertRaises(TimeoutError):
                        word.recv(10)

        self.on_login(body, count=3)

    def test_a_cut_between_two_leaves_the_third(self):
        def body():
            echo_on(3)
            calls = [Call(1, 3), Call(2, 3)]
            hosts.ask("cut", "1", "3")
            self.assertEqual([call.answer() for call in calls], ["silence", "1"])
            hosts.ask("heal", "1")
            self.assertTrue(Call(1, 3).made)

        self.on_login(body, count=3)

    def test_a_slow_port_takes_the_time_that_its_rate_says(self):
        send = """
import socket
peer = socket.create_connection(("dds-host-2", 7777))
peer.sendall(bytes(250000))
peer.shutdown(socket.SHUT_WR)
while peer.recv(65536):
    pass
"""

        def body():
            echo_on(2)
            took = {}
            for rate in ("10mbit", "off"):
                hosts.ask("slow", "1", rate)
                begin = time.monotonic()
                told_by(1, sys.executable, "-sSEc", send)
                took[rate] = time.monotonic() - begin
            self.assertGreater(took["10mbit"], 0.17)  # 0.2 s each way, less the burst
            self.assertLess(took["off"], took["10mbit"])
            words = hosts.ask("count", "1").split()
            self.assertGreater(int(words[3]), 2 * 250000)

        self.on_login(body)

    def test_a_stopped_host_hangs_until_it_goes_on(self):
        def body():
            echo_on(2)
            call = Call(1, 2)
            hosts.ask("stop", "2")
            self.assertEqual(call.answer(), "silence")
            hosts.ask("cont", "2")
            self.assertIn(call.answer(), ("1", "2"))

        self.on_login(body)

    def test_a_crashed_host_says_nothing_more(self):
        def body():
            echo = echo_on(2)
            call = Call(1, 2)
            self.assertEqual(call.answer(), "1")
            hosts.ask("crash", "2")
            self.assertEqual(call.answer(), "silence")
            time.sleep(0.2)
            self.assertIsNone(echo.poll())  # as ssh, which would not know
            with self.assertRaises(subprocess.TimeoutExpired):
                start(2, "true").wait(0.5)
            self.assertEqual(told_by(1, "echo", "here"), "here")

        self.on_login(body)

    def test_the_status_is_the_commands(self):
        def status(*command):
            return subprocess.run([*TOOL, "up", "1", "--", *command], timeout=60).returncode

        self.assertEqual(status("true"), 0)
        self.assertEqual(status("sh", "-c", "exit 7"), 7)
        self.assertEqual(status("sh", "-c", "kill -9 $$"), 128 + 9)
        self.assertEqual(status(*TOOL, "exec", "1", "sh", "-c", "exit 8"), 8)
        self.assertEqual(status(str(hosts.HERE / "rsh"), "-x", "dds-host-1", "exit", "9"), 9)

    def test_a_wrong_request_is_refused(self):
        def body():
            for request in ("cut 3", "cut x", "cut 0", "hew 1", "slow 1", "slow 1 x"):
                with self.assertRaises(OSError, msg=request):
                    hosts.ask(*request.split())

        self.on_login(body)

    def test_a_second_network_does_not_meet_the_first(self):
        def body():
            echo_on(2)
            self.on_login(lambda: self.assertFalse(Call(1, 2).made))
            self.assertTrue(Call(1, 2).made)

        self.on_login(body)

    def test_nothing_is_left_however_it_ends(self):
        def traces():
            with open("/proc/self/mountinfo") as mounts:
                return sorted(os.listdir("/sys/class/net")), mounts.read(), os.listdir("/run")

        snapshot.adopt_orphans()  # of the process that is killed
        before = traces()
        script = " ".join([*TOOL, "exec 1 sleep 600 & echo .; sleep 600"])
        for number in (signal.SIGTERM, signal.SIGKILL):
            process = subprocess.Popen(
                [*TOOL, "up", "2", "--", "sh", "-c", script],
                env=dict([MARK.split("=")], **os.environ),
                stdout=subprocess.PIPE,
            )
            self.assertEqual(process.stdout.readline(), b".\n")
            self.assertGreaterEqual(len(processes_of_this_test()), 5)
            process.send_signal(number)
            with contextlib.suppress(ChildProcessError):
                while True:  # the process, and its orphan
                    os.wait()
            self.assertEqual(processes_of_this_test(), set())
            self.assertEqual(traces(), before)
            process.stdout.close()

    def test_another_user_is_told_why_not(self):
        pid = os.fork()
        if pid == 0:
            os.setuid(65534)
            os._exit(0 if hosts.why_not() == "hosts of their own need root" else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)


if __name__ == "__main__":
    if why := hosts.why_not():
        print(f"skipped: {why}")
        sys.exit(hosts.SKIP)
    unittest.main(warnings="ignore")  # what is left open ends with the network
