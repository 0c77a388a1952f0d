"""tools/wheels: what it reads from an interpreter's headers, and how it calls the compiler."""

from __future__ import annotations

import importlib
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[1] / "tools" / "wheels"
pytestmark = pytest.mark.skipif(not TOOLS.is_dir(), reason="runs in a checkout")


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("build_wheels")


def write_headers(folder: Path, minor: int, config: str) -> Path:
    (folder / "patchlevel.h").write_text(f"#define PY_MAJOR_VERSION\t3\n#define PY_MINOR_VERSION\t{minor}\n")
    (folder / "pyconfig.h").write_text(config)
    return folder


@pytest.mark.parametrize(
    ("config", "tag"),
    [("/* #undef Py_GIL_DISABLED */\n", "cp314"), ("#define Py_GIL_DISABLED 1\n", "cp314t")],
)
def test_an_interpreter_is_its_headers(build: ModuleType, tmp_path: Path, config: str, tag: str) -> None:
    python = build.read_headers(write_headers(tmp_path, 14, config))
    assert python.tag == tag
    suffix = python.suffix(build.TARGETS["aarch64-musl"])
    assert suffix == f".cpython-{tag[2:]}-aarch64-linux-musl.so"


def test_a_folder_without_headers(build: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no folder of Python's headers: .*patchlevel\.h"):
        build.read_headers(tmp_path)


@pytest.mark.parametrize("platform", ["x86_64-linux-gnu", "aarch64-linux-musl"])
def test_a_module_has_the_suffix_of_its_interpreter(build: ModuleType, tmp_path: Path, platform: str) -> None:
    wheel = tmp_path / "unspool-0-cp313-cp313-linux_aarch64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("unspool/__init__.py", "")
        archive.writestr(f"unspool/_core.cpython-313-{platform}.so", "")
    build.check_module(wheel, f".cpython-313-{platform}.so")
    with pytest.raises(SystemExit, match=rf"needs unspool/_core\.cpython-311-{platform}"):
        build.check_module(wheel, f".cpython-311-{platform}.so")


@pytest.mark.parametrize("found", ["manylinux_2_17_aarch64", "manylinux_2_28_aarch64"])
def test_an_older_platform_is_enough(build: ModuleType, found: str) -> None:
    build.check_platform(f"unspool-0-cp311-cp311-manylinux2014_aarch64.{found}.whl", "manylinux_2_28_aarch64")


@pytest.mark.parametrize(
    "found", ["manylinux_2_34_aarch64", "manylinux_2_17_x86_64", "musllinux_1_1_aarch64", "linux_aarch64"]
)
def test_another_platform_is_refused(build: ModuleType, found: str) -> None:
    with pytest.raises(SystemExit, match="needs more than manylinux_2_28_aarch64"):
        build.check_platform(f"unspool-0-cp311-cp311-{found}.whl", "manylinux_2_28_aarch64")


@pytest.mark.skipif(sys.platform == "win32", reason="the scripts are of a POSIX shell")
def test_the_toolchain_calls_zig_for_its_target(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zig = ModuleType("ziglang")
    zig.__file__ = str(tmp_path / "__init__.py")
    monkeypatch.setitem(sys.modules, "ziglang", zig)
    (tmp_path / "zig").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "zig").chmod(0o755)
    file = build.write_toolchain(tmp_path / "work", "aarch64-linux-musl", "Linux", CMAKE_STRIP="true")
    compiler = file.parent / "c++"
    text = file.read_text()
    assert f'set(CMAKE_CXX_COMPILER "{compiler}" CACHE' in text
    assert 'set(CMAKE_SYSTEM_PROCESSOR "aarch64" CACHE' in text
    assert 'set(CMAKE_STRIP "true" CACHE' in text
    done = subprocess.run([compiler, "-c", "one file.cpp"], capture_output=True, text=True, check=True)
    assert done.stdout == "c++ -target aarch64-linux-musl -g0 -c one file.cpp\n"
