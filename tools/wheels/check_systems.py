"""Compiles the core for Windows and macOS with `zig`; it links no program and needs no Python of theirs.

    pip install '.[wheels]'
    python tools/wheels/check_systems.py

Hosted CI builds and tests on these systems. This shows on a Linux machine that each file of the core compiles there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from zig_toolchain import ROOT, tools_path, write_toolchain

SYSTEMS = {"x86_64-windows-gnu": "Windows", "aarch64-macos": "Darwin"}


def compile_core(target: str, folder: Path) -> int:
    """Returns the number of compiled files."""
    toolchain = write_toolchain(
        folder,
        target,
        SYSTEMS[target],
        CMAKE_TRY_COMPILE_TARGET_TYPE="STATIC_LIBRARY",
        CMAKE_INSTALL_NAME_TOOL="true",
    )
    build = folder / "build"
    options = (f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", "-DUNSPOOL_PYTHON=OFF", "-DCMAKE_UNITY_BUILD=OFF")
    quick = "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"
    for command in (
        ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *options, quick],
        ["cmake", "--build", build, "--target", "unspool_core"],
    ):
        subprocess.run(command, env={**os.environ, "PATH": tools_path()}, stdout=sys.stderr, check=True)
    (archive,) = build.glob("*unspool_core.a")
    members = subprocess.run([folder / "ar", "t", archive], capture_output=True, text=True, check=True)
    return len(members.stdout.split())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", action="append", choices=SYSTEMS, help="default: all")
    options = parser.parse_args()
    for target in options.target or SYSTEMS:
        with tempfile.TemporaryDirectory() as temporary:
            print(f"{target}: {compile_core(target, Path(temporary))} files", flush=True)


if __name__ == "__main__":
    main()
