"""What processes can leave on a machine: names that outlive them, and the processes themselves.

Where the system allows it the test gets namespaces of its own, so that what other programs do
meanwhile cannot be taken for a leak of the test.
"""

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import time

libc = ctypes.CDLL(None, use_errno=True)

PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET = 0x00020000, 0x08000000, 0x40000000
MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 0x4000, 0x40000, 2, 4
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def adopt_orphans():
    """Processes whose parent ends become this one's children, however they hid from it."""
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def isolate():
    """Take a network, a System V and a /dev/shm of our own; False where that is not allowed."""
    if libc.unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET) != 0:
        return False
    if (
        libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0
        or libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=1777") != 0
    ):
        raise OSError(ctypes.get_errno(), "mount")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:  # lo starts out down
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
    return True


def take():
    """The names that are there now."""
    names = (
        {f"/dev/shm/{name}" for name in os.listdir("/dev/shm")}
        if os.path.isdir("/dev/shm")
        else set()
    )
    for kind in ("shm", "sem", "msg"):
        for words in table(f"/proc/sysvipc/{kind}"):
            names.add(f"System V {kind} {words[1]}")
    for words in table("/proc/net/unix"):
        if len(words) > 7 and words[7].startswith("@"):
            names.add(f"abstract socket {words[7]}")
    return names


def table(path):
    try:
        with open(path, errors="replace") as file:
            return [line.split() for line in file][1:]
    except FileNotFoundError:
        return []


def left(before, patience):
    """What has come since `before` and stays; `patience` is for what is just going away."""
    end = time.monotonic() + patience
    while (more := take() - before) and time.monotonic() < end:
        time.sleep(0.02)
    return [f"left: {name}" for name in sorted(more)]


def files(top):
    """Everything below `top` that is no directory."""
    return [
        f"file left: {os.path.relpath(os.path.join(where, name), top)}"
        for where, _, names in os.walk(top)
        for name in sorted(names)
    ]


def children():
    """The children of this process."""
    mine = os.getpid()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and (words := stat(int(name))) and int(words[1]) == mine:
            found.append(int(name))
    return found


def descendants(pids):
    """These processes and all that come from them."""
    parents = {
        int(name): int(words[1])
        for name in os.listdir("/proc")
        if name.isdigit() and (words := stat(int(name)))
    }
    found = list(pids)
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def stat(pid):
    """/proc/PID/stat from the state on: state, parent, group, session ..."""
    text = read(f"/proc/{pid}/stat")
    return text.rpartition(")")[2].split() if text else None


def describe(pid):
    words = stat(pid)
    state, session = (words[0], words[3]) if words else ("?", "?")
    command = read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    return (
        f"{pid} ({command or read(f'/proc/{pid}/comm').strip()}) "
        f"state {state} of the session {session}"
    )


def backtraces(pids, seconds=20):
    """Where each thread of each process is: by what the kernel says, and by gdb."""
    debuggers = {}
    if shutil.which("gdb"):
        import subprocess

        for pid in pids:
            debuggers[pid] = subprocess.Popen(
                ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "thread apply all backtrace 40"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
    texts = {pid: in_kernel(pid) for pid in pids}
    end = time.monotonic() + seconds
    for pid, debugger in debuggers.items():
        try:
            texts[pid] += debugger.communicate(timeout=max(0.1, end - time.monotonic()))[0]
        except subprocess.TimeoutExpired:
            debugger.kill()
            debugger.communicate()
            texts[pid] += "gdb took too long"
    return texts


def in_kernel(pid):
    text = ""
    for thread in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        where = f"/proc/{pid}/task/{thread}"
        text += (
            f"thread {thread} ({read(where + '/comm').strip()}) "
            f"syscall {read(where + '/syscall').strip()}\n{read(where + '/stack').rstrip()}\n"
        )
    return text


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""
