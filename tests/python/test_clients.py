"""What real programs do with a `PyDDStore`, over 1 to 4 processes that meet in a directory."""

import pytest

import clients


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("client", clients.ALL, ids=lambda client: client.__name__)
def test_a_program_runs_as_it_is(launch, client, size):
    launch(client, size, DDSTORE_COLLECTIVE_TIMEOUT_S="40")
