"""Which interface is near which CPU: machines are played by a hwloc-calc, or by a tree of files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cpu_nic_map
from cpu_nic_map import _machine
from cpu_nic_map._text import format_map, natural, parse_ranges

SOCKETS = ("0-3,8-11", "4-7,12-15")
HWLOC = """#!/bin/sh
[ "$1 $2 $3" = "--disallowed -p -I" ] && [ $# = 5 ] || exit 9
cat "$(dirname "$0")/told/$4 $5" 2>/dev/null || { echo "invalid $5" >&2; exit 1; }
"""


def write(path, line):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{line}\n")


def plug(sys, kind, name, slot, **files):
    """Link an interface to its slot, both ways, as /sys does."""
    device = sys / "devices/pci0000:00" / slot
    device.mkdir(parents=True, exist_ok=True)
    for file, line in files.items():
        write(device / kind / name / file.replace("__", "/"), line)
    (device / kind / name).mkdir(parents=True, exist_ok=True)
    (device / kind / name / "device").symlink_to(device)
    (sys / "class" / kind).mkdir(parents=True, exist_ok=True)
    (sys / "class" / kind / name).symlink_to(device / kind / name)


def place(sys, slot, cpus, node):
    write(sys / "devices/pci0000:00" / slot / "local_cpulist", cpus)
    write(sys / "devices/pci0000:00" / slot / "numa_node", node)


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Two sockets of 4 cores, 8 threads and no interface; no hwloc-calc, an empty environment."""
    root = tmp_path / "sys"
    write(root / "devices/system/cpu/online", "0-15")
    write(root / "devices/system/node/online", "0-1")
    for node, cpus in enumerate(SOCKETS):
        write(root / f"devices/system/node/node{node}/cpulist", cpus)
        write(root / f"devices/system/node/node{node}/distance", "10 32" if node == 0 else "32 10")
    write(root / "class/net/lo/operstate", "unknown")
    monkeypatch.setattr(_machine, "SYS", root)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("FABRIC_IFACE", "DDSTORE_NIC_MAP", "SLURM_LOCALID"):
        monkeypatch.delenv(name, raising=False)
    return root


@pytest.fixture
def slingshot(bare):
    """The same with one interface a socket."""
    for i, cpus in enumerate(SOCKETS):
        place(bare, f"slot{i}", cpus, i)
        plug(bare, "net", f"hsn{i}", f"slot{i}", operstate="up")
        plug(bare, "cxi", f"cxi{i}", f"slot{i}")
    return bare


@pytest.fixture
def hwloc(bare, tmp_path):
    """A hwloc-calc, that knows interfaces where /sys does not know where they are."""
    script = tmp_path / "bin/hwloc-calc"
    write(script, HWLOC)
    script.chmod(0o755)
    told = tmp_path / "bin/told"
    write(told / "pu all", ",".join(map(str, range(16))))
    write(told / "numa all", "0,1")
    for i, cpus in enumerate(SOCKETS):
        both = ",".join(map(str, parse_ranges(cpus)))
        write(told / f"pu numa:{i}", both)
        write(told / f"pu os=hsn{i}", both)
        write(told / f"numa os=hsn{i}", i)
        plug(bare, "net", f"hsn{i}", f"slot{i}", operstate="up")
    (told.parent / "sh").symlink_to("/bin/sh")
    for tool in ("cat", "dirname"):
        (told.parent / tool).symlink_to(f"/usr/bin/{tool}")
    return told


def run_on(monkeypatch, *cpus):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(cpus))


@pytest.mark.parametrize("machine", ["slingshot", "hwloc"])
def test_the_map_is_the_same_by_hwloc_and_by_sys(machine, request):
    request.getfixturevalue(machine)
    assert cpu_nic_map.serialize_env() == "hsn0=0-3,8-11;hsn1=4-7,12-15"
    pus, nearest = cpu_nic_map.build_map("hsn*")
    assert pus == list(range(16))
    assert nearest(9) == ("hsn0", "yes", 0)
    assert nearest(4) == ("hsn1", "yes", 1)


def test_hcalc_asks_hwloc_calc(hwloc):
    assert cpu_nic_map.hcalc("os=hsn1", "pu") == [4, 5, 6, 7, 12, 13, 14, 15]
    assert cpu_nic_map.hcalc("all", "numa") == [0, 1]
    with pytest.raises(RuntimeError, match=r"-I pu os=ib0: invalid os=ib0; `lstopo` shows"):
        cpu_nic_map.hcalc("os=ib0", "pu")
    write(hwloc / "pu os=ib0", "0x00ff")
    with pytest.raises(RuntimeError, match="0x00ff"):
        cpu_nic_map.hcalc("os=ib0", "pu")


def test_hcalc_without_hwloc_says_what_to_install(bare):
    with pytest.raises(RuntimeError, match="is hwloc installed"):
        cpu_nic_map.hcalc("all", "pu")


def test_sys_tells_of_a_device_that_hwloc_does_not_see(hwloc, bare):
    (hwloc / "pu os=hsn1").unlink()
    (hwloc / "numa os=hsn1").unlink()
    place(bare, "slot1", SOCKETS[1], 1)
    assert cpu_nic_map.serialize_env() == "hsn0=0-3,8-11;hsn1=4-7,12-15"


def test_a_cpu_without_a_near_one_gets_the_node_s_or_the_least_far(bare):
    write(bare / "devices/system/node/online", "0-3")
    for node, far in enumerate(("10 12 32 32", "12 10 32 32", "32 32 10 12", "32 32 12 10")):
        write(bare / f"devices/system/node/node{node}/cpulist", f"{4 * node}-{4 * node + 3}")
        write(bare / f"devices/system/node/node{node}/distance", far)
    for i, (cpus, node) in enumerate((("0-1", 0), ("12-15", 3))):
        place(bare, f"slot{i}", cpus, node)
        plug(bare, "net", f"hsn{i}", f"slot{i}", operstate="up")
    _, nearest = cpu_nic_map.build_map()
    assert nearest(1) == ("hsn0", "yes", 0)
    assert nearest(2) == ("hsn0", "same-NUMA", 0)
    assert nearest(5) == ("hsn0", "no", 1)
    assert nearest(9) == ("hsn1", "no", 2)
    assert cpu_nic_map.serialize_env() == "hsn0=0-7;hsn1=8-15"


def test_interfaces_of_one_socket_share_it_core_by_core(bare):
    for i in range(4):
        place(bare, f"slot{i}", SOCKETS[i // 2], i // 2)
        plug(bare, "net", f"hsn{i}", f"slot{i}", operstate="up")
    assert (
        cpu_nic_map.serialize_env() == "hsn0=0-1,8-9;hsn1=2-3,10-11;hsn2=4-5,12-13;hsn3=6-7,14-15"
    )


def test_where_nothing_is_known_all_share_all(bare):
    for i in range(12):
        plug(bare, "net", f"hsn{i}", f"slot{i}", operstate="up")
    (bare / "devices/system/node/online").unlink()
    pus, nearest = cpu_nic_map.build_map()
    assert {nearest(pu)[1:] for pu in pus} == {("no", -1)}
    names = [nearest(pu)[0] for pu in pus]
    assert names == sorted(names, key=natural)
    assert len(set(names)) == 12


def test_what_is_down_does_not_count(slingshot):
    write(slingshot / "class/net/hsn1/operstate", "down")
    assert cpu_nic_map.serialize_env() == "hsn0=0-15"
    plug(slingshot, "infiniband", "mlx5_0", "slot8", ports__1__state="1: DOWN")
    plug(slingshot, "infiniband", "mlx5_1", "slot9", ports__1__state="4: ACTIVE")
    assert cpu_nic_map.serialize_env("mlx5_*") == "mlx5_1=0-15"


def test_cxi_alone_counts_as_its_network_device(bare):
    place(bare, "slot0", SOCKETS[0], 0)
    plug(bare, "cxi", "cxi0", "slot0")
    _, nearest = cpu_nic_map.build_map()
    assert nearest(0) == ("hsn0", "yes", 0)
    assert cpu_nic_map.serialize_env("cxi*") == "cxi0=0-15"


def test_a_virtio_device_is_where_its_pci_parent_is(bare):
    place(bare, "slot0", SOCKETS[1], 1)
    plug(bare, "net", "eth0", "slot0/virtio2", operstate="up")
    assert cpu_nic_map.build_map("eth*")[1](12) == ("eth0", "yes", 1)


def test_no_interface_is_an_error_with_the_remedy(bare):
    plug(bare, "net", "eth0", "slot0", operstate="up")
    write(bare / "class/net/bonding_masters", "")
    for call in (cpu_nic_map.build_map, cpu_nic_map.serialize_env, cpu_nic_map.allocated_nics):
        with pytest.raises(RuntimeError, match=r"matches 'hsn\*'; here are: eth0, lo\..*-p"):
            call()


def test_an_unreadable_machine_is_an_error_with_the_remedy(slingshot):
    (slingshot / "devices/system/cpu/online").unlink()
    with pytest.raises(RuntimeError, match="install hwloc, or set DDSTORE_NIC_MAP"):
        cpu_nic_map.serialize_env()


def test_ranges_are_compressed():
    assert cpu_nic_map.compress_ranges([0, 1, 2, 5]) == "0-2,5"
    assert cpu_nic_map.compress_ranges([5, 2, 1, 0, 1]) == "0-2,5"
    assert cpu_nic_map.compress_ranges([]) == ""


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,14}", fullmatch=True)
MAPS = st.dictionaries(st.integers(0, 65535), NAMES, max_size=60)


@given(MAPS)
def test_a_map_is_read_as_it_was_written(nics):
    text = format_map(nics)
    assert cpu_nic_map.parse_env(text) == nics
    assert format_map(cpu_nic_map.parse_env(text)) == text


@given(st.sets(st.integers(0, 65535), max_size=200).filter(bool))
def test_ranges_are_read_as_they_were_written(numbers):
    assert parse_ranges(cpu_nic_map.compress_ranges(numbers)) == sorted(numbers)


@given(st.text(alphabet="hsn01=;,- \n\u00e9", max_size=30))
def test_any_text_is_a_map_or_a_value_error(text):
    try:
        nics = cpu_nic_map.parse_env(text)
    except ValueError as error:
        assert re.search(r"piece \d+, .* at byte \d+: .*`cpu_nic_map --env`", str(error))  # noqa: PT017
    else:
        assert cpu_nic_map.parse_env(format_map(nics)) == nics


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hsn0", "piece 1, 'hsn0' at byte 0: it has no '='"),
        ("hsn0=0;;hsn1=1", "piece 2, '' at byte 7: it has no '='"),
        ("hsn0=0;hsn1=3-2", "piece 2, 'hsn1=3-2' at byte 7: '3-2' is neither a CPU"),
        ("hsn0=-1", "'-1' is neither a CPU, 0 to 65535"),
        ("hsn0=0,", "'' is neither a CPU"),
        ("hsn0=65536", "'65536' is neither"),
        ("hsn0=" + "9" * (1 << 20), "999...' is neither"),
        ("x" * (1 << 20), "xxx...' at byte 0: it has no '='"),
        ("hsn0=0-15;hsn1=8-31", "piece 2, 'hsn1=8-31' at byte 10: CPU 8 has 'hsn0' already"),
        ("a b=1", "'a b' is no interface's name"),
    ],
)
def test_junk_in_a_map_is_named_with_its_place(text, words):
    with pytest.raises(ValueError, match=re.escape(words)) as raised:
        cpu_nic_map.parse_env(text)
    assert len(str(raised.value)) < 400


def test_a_map_may_end_with_a_semicolon_and_be_empty():
    assert cpu_nic_map.parse_env("hsn0=0;") == {0: "hsn0"}
    assert cpu_nic_map.parse_env("") == {}


def test_the_argument_comes_before_the_environment_and_that_before_the_machine(
    slingshot, monkeypatch
):
    run_on(monkeypatch, 9, 3)
    assert cpu_nic_map.allocated_nics() == ([3, 9], {"hsn0"})
    monkeypatch.setenv("DDSTORE_NIC_MAP", "hsn5=0-9")
    assert cpu_nic_map.allocated_nics() == ([3, 9], {"hsn5"})
    assert cpu_nic_map.allocated_nics(nic_map="hsn6=3;hsn7=9") == ([3, 9], {"hsn6", "hsn7"})
    assert cpu_nic_map.allocated_nics(nic_map="hsn6=0") == ([3, 9], set())
    monkeypatch.setenv("DDSTORE_NIC_MAP", "junk")
    with pytest.raises(ValueError, match="DDSTORE_NIC_MAP: piece 1"):
        cpu_nic_map.allocated_nics()
    with pytest.raises(ValueError, match="nic_map: piece 1"):
        cpu_nic_map.select_fabric_iface(nic_map="junk")


def test_the_nearest_is_left_for_the_library(slingshot, monkeypatch, capsys):
    run_on(monkeypatch, 12)
    assert cpu_nic_map.select_fabric_iface() == "cxi1"
    assert os.environ["FABRIC_IFACE"] == "cxi1"
    assert capsys.readouterr() == ("", "")


def test_of_several_the_first_is_taken_with_a_note(slingshot, monkeypatch, capsys):
    run_on(monkeypatch, 3, 4)
    assert cpu_nic_map.select_fabric_iface() == "cxi0"
    assert "near hsn0, hsn1; hsn0 is taken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "kept"), [("hsn3", "cxi3"), ("cxi2", "cxi2"), ("eth0", "eth0"), ("hsnx", "hsnx")]
)
def test_an_interface_that_is_set_stays(slingshot, monkeypatch, given, kept):
    monkeypatch.setenv("FABRIC_IFACE", given)
    assert cpu_nic_map.select_fabric_iface(nic_map="hsn0=0-15") == kept
    assert os.environ["FABRIC_IFACE"] == kept


@pytest.mark.parametrize(("turn", "name"), [("0", "cxi0"), ("3", "cxi1"), ("junk", "cxi0")])
def test_without_a_near_one_the_ranks_of_a_node_take_turns(slingshot, monkeypatch, turn, name):
    run_on(monkeypatch, 3)
    monkeypatch.setenv("SLURM_LOCALID", turn)
    assert cpu_nic_map.select_fabric_iface(nic_map="hsn0=8") == name


def test_without_slingshot_the_choice_is_the_library_s(bare, monkeypatch):
    plug(bare, "net", "eth0", "slot0", operstate="up")
    run_on(monkeypatch, 3)
    assert cpu_nic_map.select_fabric_iface() == ""
    assert "FABRIC_IFACE" not in os.environ


def command(*arguments, env=None):
    return subprocess.run(
        [sys.executable, "-m", "cpu_nic_map", *arguments],
        text=True,
        capture_output=True,
        timeout=60,
        env={**os.environ, **(env or {})},
        check=False,
    )


@pytest.fixture
def shell(hwloc, monkeypatch):
    """The real /sys beside our hwloc-calc: an interface that every Linux has."""
    write(hwloc / "pu os=lo", ",".join(map(str, range(8))))
    write(hwloc / "numa os=lo", 0)
    return command


def test_the_command_prints_a_table(shell):
    told = shell("-p", "lo")
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert len(lines) == 17
    assert lines[0].split() == ["CPU", "NIC", "NEAR", "NUMA"]
    assert lines[8].split() == ["7", "lo", "yes", "1"]
    assert lines[9].split() == ["8", "lo", "same-NUMA", "0"]
    assert lines[16].split() == ["15", "lo", "no", "1"]


def test_the_command_prints_what_is_asked_for_alone(shell):
    assert shell("3", "-p", "lo").stdout == "lo\n"
    assert shell("--env", "--pattern", "lo").stdout == "lo=0-15\n"
    mine = cpu_nic_map.compress_ranges(os.sched_getaffinity(0))
    told = shell("--allocated", env={"DDSTORE_NIC_MAP": "ib7=0-9999"})
    assert told.stdout == f"CPUs: {mine}\nNICs: ib7\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["99", "-p", "lo"], 1, "this machine has no CPU 99: it has 0-15"),
        (["--env", "-p", "nothing*"], 1, "no interface that is up matches 'nothing*'"),
        (["--env", "--allocated"], 2, "not allowed with"),
        (["x"], 2, "invalid int value: 'x'"),
    ],
)
def test_a_mistake_ends_the_command_with_words(shell, arguments, status, words):
    told = shell(*arguments)
    assert told.returncode == status
    assert words in told.stderr
    assert told.stdout == ""
    assert "Traceback" not in told.stderr


def test_help_teaches(shell):
    told = shell("--help")
    assert told.returncode == 0
    for word in ("--env", "--allocated", "--pattern", "export DDSTORE_NIC_MAP=$(", "FABRIC_IFACE"):
        assert word in told.stdout


def test_main_returns_its_status(bare, capsys):
    assert cpu_nic_map.main(["--help"]) == 0
    assert cpu_nic_map.main(["--nothing"]) == 2
    assert cpu_nic_map.main([]) == 1
    assert "no interface that is up" in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_error(shell):
    line = f"{sys.executable} -m cpu_nic_map -p lo; echo $? >&2"
    told = subprocess.run(
        ["/bin/sh", "-c", f"({line}) | :"], capture_output=True, text=True, timeout=60
    )
    assert told.stderr == "0\n"


def test_a_full_disk_is_an_error_with_words(shell):
    line = f"{sys.executable} -m cpu_nic_map -p lo > /dev/full"
    told = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60)
    assert told.returncode != 0
    assert "cpu_nic_map: [Errno 28]" in told.stderr


def test_every_linux_can_be_asked():
    assert cpu_nic_map.build_map("*")[0]
    assert Path("/sys/class/net/lo").exists()
