"""The switch and its ports: p1, p2 ... in the login node's network, eth0 in each host's.

Everything is made and changed from the login node; `ip -n` reaches the hosts' ends.
"""

import pathlib
import subprocess

LOGIN_ADDRESS = "10.77.0.254"


def name_of(number):
    return f"dds-host-{number}"


def address_of(number):
    return f"10.77.0.{number}"


def run(*command, **how):
    done = subprocess.run(command, text=True, capture_output=True, **how)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def ip(*lines, host=None):
    where = ["-n", name_of(host)] if host else []
    run("ip", *where, "-b", "-", input="\n".join(lines) + "\n")


def switch():
    # An address of its own: a port that had the same would take what is sent here even when cut.
    ip(
        "link set lo up",
        "link add br0 address 02:00:00:00:00:fe type bridge",
        "link set br0 up",
        f"addr add {LOGIN_ADDRESS}/24 dev br0",
    )


def plug_in(number, pid):
    """Connect the host that this process is of."""
    run("ip", "netns", "attach", name_of(number), str(pid))
    ip(
        f"link add p{number} type veth peer name eth0 netns {name_of(number)}",
        f"link set p{number} master br0 up",
    )
    ip(
        "link set lo up",
        "link set eth0 addrgenmode none up",
        f"addr add {address_of(number)}/24 dev eth0",
        host=number,
    )


def cut(number):
    """Let nothing through any more, and tell nobody: the links stay up."""
    ip(f"link set p{number} nomaster")


def part(one, other):
    """The same between two hosts only: each sends to a neighbour that nobody is."""
    for here, there in ((one, other), (other, one)):
        ip(
            f"neigh replace {address_of(there)} lladdr 02:00:00:00:00:00 dev eth0 nud permanent",
            host=here,
        )


def heal(number, others):
    """Undo each cut and part of a host."""
    ip(f"link set p{number} master br0")
    ip("neigh flush dev eth0 nud permanent", host=number)
    for other in others:
        ip(f"neigh flush to {address_of(number)} dev eth0 nud permanent", host=other)


def slow(number, rate):
    """Limit a port in both directions; "off" takes the limit away."""
    burst = "1mb" if rate.endswith("gbit") else "32kb"  # short transfers are to feel it, too
    for where, device in (([], f"p{number}"), (["-n", name_of(number)], "eth0")):
        run("tc", *where, "qdisc", "replace", "dev", device, "root",
            *(["noqueue"] if rate == "off" else
              ["tbf", "rate", rate, "burst", burst, "latency", "100ms"]))  # fmt: skip


def count(number):
    """What the host has sent and received, as its port counted."""
    folder = pathlib.Path(f"/sys/class/net/p{number}/statistics")
    names = {"sent": "rx", "received": "tx"}
    return " ".join(
        f"{word} {(folder / f'{way}_packets').read_text().strip()} packets "
        f"{(folder / f'{way}_bytes').read_text().strip()} bytes"
        for word, way in names.items()
    )
