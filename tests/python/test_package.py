"""What importing the package does, and that it needs neither its sources nor a clean process."""

import ctypes
import re
import subprocess
import sys

import pytest

import pyddstore


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
