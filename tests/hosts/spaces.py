"""Namespaces: what makes some processes of this machine a host of their own.

Python 3.10 has no words for them, so the system calls are called as C does.
"""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import traceback

libc = ctypes.CDLL(None, use_errno=True)

MOUNTS, NAMES, IPC, PIDS, NETWORK = 0x00020000, 0x04000000, 0x08000000, 0x20000000, 0x40000000
FILES = {MOUNTS: "mnt", NAMES: "uts", IPC: "ipc", PIDS: "pid", NETWORK: "net"}
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1


def check(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def leave(kinds):
    """Take fresh namespaces of these kinds; that of PIDS is the next children's."""
    check(libc.unshare(kinds))


def enter(pid):
    """Join all namespaces of a process; that of PIDS is the next children's."""
    opened = {kind: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for kind, name in FILES.items()}
    for kind, fd in opened.items():
        check(libc.setns(fd, kind))
        os.close(fd)


def mount(source, target, kind=None, flags=0, data=None):
    encoded = [text and text.encode() for text in (source, target, kind)]
    check(libc.mount(*encoded, ctypes.c_ulong(flags), data and data.encode()))


def end_with_parent(number=signal.SIGKILL):
    check(libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0))


def fork_first(body):
    """Fork the first process of a PID namespace; `body` gives its exit status.

    All others in that namespace end with it, and it ends with this process.
    """
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    leave(PIDS)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            end_with_parent()
            os.close(own)
            code = body()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    check(libc.setns(own, PIDS))
    os.close(own)
    return pid


def become_host(name):
    """Take a network, a name, processes, a /dev/shm and System V objects of our own."""
    leave(MOUNTS | NAMES | IPC | NETWORK)
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    socket.sethostname(name)
    mount("proc", "/proc", "proc")
    mount("sysfs", "/sys", "sysfs")
    mount("tmpfs", "/dev/shm", "tmpfs", data="mode=1777")


def reap():
    """Take the children that have ended: (pid, exit status as a shell tells it)."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            yield pid, shell_status(status)


def shell_status(status):
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def processes_with(first):
    """The others in the PID namespace of `first`."""
    want = os.stat(f"/proc/{first}/ns/pid").st_ino
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            if pid != first and os.stat(f"/proc/{pid}/ns/pid").st_ino == want:
                yield pid
