"""What ddstore-info tells of the ranks of an MPI.

info_mpi.py DDSTORE_INFO MPIRUN LIBRARY
"""

import sys

import tool

RANKS = 3


def paths_of(told, rank):
    return {other: p["path"] for p in told["ranks"][str(rank)]["paths"] for other in p["ranks"]}


def test_the_mpi_is_told(info, job, library):
    mpi = tool.facts([*job, info, "--mpi", library])["mpi"]
    assert mpi["bound"]["path"] in [found["path"] for found in mpi["found"]]
    assert "MPI" in mpi["bound"]["name"]
    assert mpi["bound"]["flavour"] in ("mpich", "openmpi", "mpi5")
    assert mpi["thread_level"].startswith("MPI_THREAD_")


def test_ranks_of_a_node_share_memory(info, job, library):
    told = tool.facts([*job, info, "--mpi", library])
    assert list(told["ranks"]) == [str(rank) for rank in range(RANKS)]
    for rank in range(RANKS):
        paths = paths_of(told, rank)
        assert paths == {r: "self" if r == rank else "shm" for r in range(RANKS)}, paths


def test_where_they_share_none_mpi_reads(info, job, library):
    told = tool.facts([*job, info, "--mpi", library], DDSTORE_SHM="0")
    for rank in range(RANKS):
        for other, path in paths_of(told, rank).items():
            assert path == "self" if other == rank else path.startswith("mpi "), path


def test_a_rank_can_be_chosen(info, job, library):
    for rank in range(RANKS):
        told = tool.facts([*job, info, "--mpi", library, "--rank", str(rank)])
        assert told["library"]["pid"] == told["ranks"][str(rank)]["pid"]


def test_junk_of_one_rank_is_told_by_the_other(info, job, library):
    """Rank 1's shell sets it: it is not in the environment that mpirun hands on."""
    shell = (
        'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; [ "$rank" = 1 ] && export DDSTORE_SHM=maybe;'
        '"$0" "$@" || exit 0'
    )
    told = tool.run([*job, "sh", "-c", shell, info, "--mpi", library, "--json"], 0)
    assert "rank 1: environment variable DDSTORE_SHM is 'maybe'" in told, told


if __name__ == "__main__":
    tool_path, mpirun, mpi = sys.argv[1:]
    launched = [mpirun, "-n", str(RANKS)]
    sys.exit(tool.run_all(dict(globals()), tool_path, launched, mpi))
