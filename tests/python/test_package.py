"""What importing the package does, and that it needs neither its sources nor a clean process."""

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyddstore

ROOT = Path(__file__).parents[2]


def python(code, cwd, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=60, check=True)


def test_an_import_loads_nothing_else(tmp_path):
    code = (
        "import sys; before = set(sys.modules); import pyddstore\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names)))\n"
        "pyddstore.Store; print(sorted({'torch', 'mpi4py'} & set(sys.modules)))"
    )
    assert python(code, tmp_path).stdout.split("\n")[:2] == ["['pyddstore']", "[]"]


def test_every_name_of_all_is_there():
    for name in pyddstore.__all__:
        assert getattr(pyddstore, name) is not None
    assert set(pyddstore.__all__) <= set(dir(pyddstore))


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'pyddstore' has no attribute 'PyStore'"):
        pyddstore.PyStore  # noqa: B018


def test_the_version_is_that_of_the_distribution():
    assert re.fullmatch(r"\d+\.\d+\.\d+", pyddstore.__version__)


def test_mpi_is_there_unless_it_was_switched_off(tmp_path, monkeypatch):
    code = "import pyddstore; print(pyddstore.HAVE_MPI)"
    for value, told in (("1", "True"), ("0", "False")):
        monkeypatch.setenv("DDSTORE_MPI", value)
        assert python(code, tmp_path).stdout.strip() == told


@pytest.mark.parametrize(("value", "told"), [("0", "False"), ("1", "True")])
def test_a_build_records_whether_mpi_was_switched_off(tmp_path, monkeypatch, value, told):
    if not shutil.which("meson"):
        pytest.skip("meson is not installed")
    monkeypatch.setenv("DDSTORE_MPI", value)
    options = ["-Dpython=enabled", "-Dtests=false", "-Dtools=false"]
    command = ["meson", "setup", str(tmp_path / "build"), str(ROOT), *options]
    subprocess.run(command, check=True, timeout=100, stdout=subprocess.DEVNULL)
    (built,) = (tmp_path / "build").rglob("_built.py")
    assert f"WITH_MPI = {told}\n" in built.read_text()


def test_a_build_without_mpi_takes_no_communicator(monkeypatch):
    from pyddstore import _mpi

    assert _mpi.have_mpi()
    monkeypatch.setattr(_mpi, "WITH_MPI", False)
    assert not _mpi.have_mpi()
    with pytest.raises(RuntimeError, match="HAVE_MPI is False"):
        _mpi.open_mpi(object())


def test_it_works_from_anywhere(tmp_path):
    code = (
        "import numpy, pyddstore\n"
        "with pyddstore.Store() as store:\n"
        "    store.add('x', numpy.arange(12.).reshape(4, 3))\n"
        "    print(store.get_batch('x', [3, 0]).tolist())"
    )
    assert python(code, tmp_path).stdout.strip() == "[[9.0, 10.0, 11.0], [0.0, 1.0, 2.0]]"


def test_another_librarys_dds_free_is_not_called(tmp_path):
    source = tmp_path / "foreign.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "int dds_free(void *p) { (void)p; abort(); }\n"
        "int dds_init(void *c, void *o, void *s) { (void)c, (void)o, (void)s; abort(); }\n"
    )
    library = tmp_path / "libforeign.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    assert ctypes.CDLL(str(library)).dds_free  # it exports the name
    code = (
        "import ctypes, sys; ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)\n"
        "import pyddstore; pyddstore.Store().free(); print('alive')"
    )
    assert python(code, tmp_path, library).stdout.strip() == "alive"
