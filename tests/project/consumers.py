#!/usr/bin/env python3
"""Somebody else's program builds and runs against the package, in each way it can be found.

Usage: consumers.py SOURCE_ROOT BUILD_ROOT pkgconfig|cmake|subproject
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(*command, **environment):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL,
                   env={**os.environ, **environment})


def installed(build, place):
    """Installs under a folder of its own and tells the prefix and the library's folder there."""
    run("meson", "install", "--no-rebuild", "--quiet", "-C", build, "--destdir", place / "root")
    pc = next((place / "root").rglob("ddstore.pc"))
    options = dict(line.split("=", 1) for line in pc.read_text().splitlines()
                   if "=" in line and " " not in line.split("=")[0])
    prefix = place / "root" / options["prefix"].lstrip("/")
    return prefix, pc.parent.parent


def by_pkgconfig(source, build, place):
    prefix, lib = installed(build, place)
    finder = shutil.which("pkg-config") or shutil.which("pkgconf")
    flags = subprocess.run([finder, f"--define-variable=prefix={prefix}", "--cflags", "--libs",
                            "ddstore"], check=True, text=True, stdout=subprocess.PIPE,
                           env={**os.environ, "PKG_CONFIG_PATH": str(lib / "pkgconfig")}).stdout
    run(os.environ.get("CC", "cc"), source / "main.c", *flags.split(), "-o", place / "consumer")
    run(place / "consumer", LD_LIBRARY_PATH=str(lib))


def by_cmake(source, build, place):
    _, lib = installed(build, place)
    run("cmake", "-G", "Ninja", "-S", source, "-B", place / "cmake",
        f"-Dddstore_DIR={lib / 'cmake/ddstore'}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", place / "cmake")
    run(place / "cmake" / "consumer")


def by_subproject(source, build, place):
    """Inside another Meson project: found, compiled against, linked to.

    The library itself is not compiled once more: that takes minutes and shows nothing new.
    """
    shutil.copytree(source, place / "project")
    (place / "project/subprojects").mkdir()
    (place / "project/subprojects/ddstore").symlink_to(source.parents[2])
    folder = place / "meson"
    run("meson", "setup", folder, place / "project", "--force-fallback-for=ddstore",
        "-Dddstore:tools=false")
    run("ninja", "-C", folder, "consumer.p/main.c.o")
    steps = subprocess.run(["ninja", "-C", folder, "-t", "commands", "consumer"], check=True,
                           text=True, stdout=subprocess.PIPE).stdout.splitlines()
    link = steps[-1]
    print(link)
    if "subprojects/ddstore/src/libddstore.so" not in link:
        raise SystemExit("the consumer is not linked to the subproject's library")
    if any("tests" in step for step in steps):
        raise SystemExit("a subproject should not build its tests")


WAYS = {"pkgconfig": (by_pkgconfig, ("pkg-config", "pkgconf")), "cmake": (by_cmake, ("cmake",)),
        "subproject": (by_subproject, ("meson",))}


def main(root, build, way):
    consume, tools = WAYS[way]
    if not any(map(shutil.which, tools)):
        print("skipped: no", " or ".join(tools))
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="consumer-") as place:
        consume(pathlib.Path(root).resolve() / "tests/project/consumer",
                pathlib.Path(build).resolve(), pathlib.Path(place))
    print(f"consumed by {way}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
