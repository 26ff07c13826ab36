"""What ddstore-info tells of one process.

info.py DDSTORE_INFO
"""

import os
import resource
import socket
import sys

import tool


def test_every_section_is_printed_for_people(info):
    text = tool.run([info], 0)
    headings = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert headings == tool.SECTIONS, headings


def test_variables_have_their_defaults(info):
    told = tool.facts([info])["environment"]
    assert told["DDSTORE_TIMEOUT_S"]["value"] == "30"
    assert told["DDSTORE_HANDSHAKE_DIR"]["value"] is None
    for variable in told.values():
        assert variable["from"] == "default"
        assert all((variable["takes"], variable["meaning"]))


def test_a_value_of_the_environment_is_told_as_such(info):
    told = tool.facts([info], DDSTORE_TIMEOUT_S="7")["environment"]
    assert told["DDSTORE_TIMEOUT_S"]["value"] == "7"
    assert told["DDSTORE_TIMEOUT_S"]["from"] == "environment"
    assert told["DDSTORE_SHM"]["from"] == "default"


def test_an_empty_variable_counts_as_unset(info):
    told = tool.facts([info], DDSTORE_SHM="")["environment"]["DDSTORE_SHM"]
    assert (told["value"], told["from"]) == ("1", "default")


def test_junk_is_an_error_and_all_else_is_still_told(info):
    junk = "x" * 5000
    for name in tool.facts([info])["environment"]:
        told = tool.facts([info], 1, **{name: junk})
        error = told["environment"][name]["error"]
        assert told["problems"] == [error], told["problems"]
        assert name in error, error
        assert told["ranks"]["0"]["paths"] == [{"path": "self", "ranks": [0]}], told["ranks"]
        assert name in tool.run([info], 1, **{name: junk}).split("problems")[0]


def test_a_kernel_that_is_not_there_is_an_error(info):
    told = tool.facts([info], 1, DDSTORE_KERNEL="mmx")
    assert "sse2" in told["environment"]["DDSTORE_KERNEL"]["error"]
    assert told["processor"]["kernel"] == told["processor"]["kernels"][-1]


def test_bytes_that_are_no_text_do_not_break_the_output(info):
    env = tool.environment(DDSTORE_NODE=os.fsdecode(b'a\xff"\\'))
    told = tool.facts([info], **{"DDSTORE_NODE": env["DDSTORE_NODE"]})
    assert told["environment"]["DDSTORE_NODE"]["value"] == 'a?"\\'


def test_a_misspelt_variable_is_found(info):
    told = tool.facts([info], 1, DDSTORE_TIMEOUT="7")
    assert "DDSTORE_TIMEOUT " in told["problems"][0]
    assert told["environment"]["DDSTORE_TIMEOUT_S"]["from"] == "default"


def test_each_kernel_that_runs_here_can_be_chosen(info):
    processor = tool.facts([info])["processor"]
    assert processor["kernel"] == processor["kernels"][-1]
    for kernel in processor["kernels"]:
        assert tool.facts([info], DDSTORE_KERNEL=kernel)["processor"]["kernel"] == kernel


def test_a_node_is_the_machine_or_a_name(info):
    here = tool.facts([info])["node"]
    assert here["host"] == socket.gethostname()
    assert here["identity"] == tool.facts([info])["node"]["identity"]
    named = [tool.facts([info], DDSTORE_NODE=name)["node"]["identity"] for name in "aab"]
    assert named[0] == named[1] != named[2] != here["identity"]


def test_limits_are_those_of_the_process(info):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    told = tool.facts(["sh", "-c", f'ulimit -S -n {soft - 1}; exec "$0" "$@"', info])["limits"]
    assert told["nofile"]["soft"] == soft - 1
    assert told["nofile"]["hard"] == ("unlimited" if hard == resource.RLIM_INFINITY else hard)


def test_interfaces_are_the_kernels(info):
    told = tool.facts([info])["network"]
    for name in next(os.walk("/sys/class/net"))[1]:
        virtual = not os.path.exists(f"/sys/class/net/{name}/device")
        assert told[name]["kind"] == "other" or not virtual
    chosen = tool.facts([info], FABRIC_IFACE="lo")["network"]["chosen"]
    assert chosen == {"net": "lo", "device": None, "why": "FABRIC_IFACE"}
    chosen = tool.facts([info], FABRIC_IFACE="hsn99")["network"]["chosen"]
    assert chosen["net"] == told["chosen"]["net"]
    assert chosen["why"].startswith("FABRIC_IFACE: hsn99 is not here; ")
    cpus = ",".join(map(str, os.sched_getaffinity(0)))
    assert tool.facts([info], DDSTORE_NIC_MAP=f"lo={cpus}")["network"]["chosen"]["net"] == "lo"


def test_memory_is_the_kernels(info):
    with open("/proc/meminfo") as file:
        total = next(int(line.split()[1]) for line in file if line.startswith("MemTotal"))
    assert tool.facts([info])["memory"]["total_bytes"] == total * 1024


def test_without_being_asked_no_mpi_is_loaded(info):
    told = tool.facts([info], OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2")
    assert told["mpi"]["found"] == []
    assert told["mpi"]["bound"] is None
    assert list(told["ranks"]) == ["0"]


def test_of_processes_without_an_mpi_one_tells(info):
    launched = {"PMI_RANK": "1", "PMI_SIZE": "2"}
    assert tool.run([info], 0, **launched) == ""
    assert tool.facts([info, "--rank", "1"], **launched)["mpi"]["launcher"]["rank"] == 1


def test_what_is_no_mpi_is_refused(info):
    for library in ("libc.so.6", "libnothing.so"):
        assert library in tool.facts([info, "--mpi", library], 1)["problems"][0]


def test_a_command_line_that_makes_no_sense_is_refused(info):
    for words in (["--what"], ["more"], ["--rank", "x"], ["--rank", "-1"], ["--rank", "1"]):
        assert tool.run([info, *words], 2) == ""
    assert "--mpi" in tool.run([info, "--help"], 0)


if __name__ == "__main__":
    sys.exit(tool.run_all(dict(globals()), sys.argv[1]))
