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
import zipfile
from pathlib import Path
from typing import NamedTuple

from zig_toolchain import ROOT, tools_path, write_toolchain


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


def check_module(wheel: Path, suffix: str) -> None:
    """An interpreter imports no module whose file has another suffix."""
    with zipfile.ZipFile(wheel) as archive:
        modules = [name for name in archive.namelist() if name.endswith(".so")]
    if modules != [f"unspool/_core{suffix}"]:
        raise SystemExit(f"{wheel.name} has {modules}, and needs unspool/_core{suffix}")


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


def stub_libc(folder: Path) -> tuple[str | Path, ...]:
    """auditwheel's options that let it find musl's libc: here, `libc.so` is a text for glibc's linker."""
    libraries = folder / "libc"
    libraries.mkdir(exist_ok=True)
    run(folder / "c++", "-shared", "-nostdlib", "-x", "c++", os.devnull, "-o", libraries / "libc.so")
    return "--ldpaths", libraries


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
        PYTHON_IS_DEBUG="OFF",  # unless all three are set, pybind11 takes them from the running interpreter
    )
    for old in folder.glob("*.whl"):
        old.unlink()
    wheel = ("pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    run(
        *(sys.executable, "-m", *wheel),
        f"--config-settings=build-dir={folder / 'build'}",
        f"--config-settings=cmake.toolchain-file={toolchain}",
        PATH=tools_path(),
        _PYTHON_HOST_PLATFORM=f"linux-{processor}",
    )
    (built,) = folder.glob("*.whl")
    check_module(built, python.suffix(target))
    return Path(shutil.copy(audit(built, python, target, folder), out))


def audit(built: Path, python: Python, target: Target, folder: Path) -> Path:
    """Returns the wheel with its interpreter's and platform's tags, after auditwheel has read it."""
    retag = (sys.executable, "-m", "wheel", "tags", "--remove")
    abi = ("--python-tag", python.tag.rstrip("t"), "--abi-tag", python.tag)
    is_musl = target.zig.endswith("musl")
    # auditwheel takes a wheel for one of glibc unless its tag names musl.
    platform = target.platform if is_musl else target.platform.replace("manylinux_2_28", "linux")
    run(*retag, *abi, "--platform-tag", platform, built)
    (tagged,) = folder.glob("*.whl")
    audited = folder / "audited"
    shutil.rmtree(audited, ignore_errors=True)
    libc = stub_libc(folder) if is_musl else ()
    repair = ("auditwheel", "repair", "--wheel-dir", audited, *libc, tagged)
    run(sys.executable, "-m", *repair, PATH=tools_path())
    (repaired,) = audited.iterdir()
    check_platform(repaired.name, target.platform)
    run(*retag, "--platform-tag", target.platform, repaired)
    (repaired,) = audited.iterdir()
    return repaired


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
