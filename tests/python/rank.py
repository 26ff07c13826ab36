"""One rank of a test: rank.py MODULE FUNCTION DIRECTORY RANK SIZE."""

import importlib.util
import sys
from pathlib import Path


def main(source: str, function: str, directory: str, rank: str, size: str) -> None:
    """Import the test's module and run its function with a communicator."""
    sys.path.insert(0, str(Path(source).parent))
    spec = importlib.util.spec_from_file_location(Path(source).stem, source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    import pyddstore

    with pyddstore.FileComm(directory, int(rank), int(size), timeout=30) as comm:
        getattr(module, function)(comm)


main(*sys.argv[1:])
