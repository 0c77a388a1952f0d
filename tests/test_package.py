"""What pip installs: what it needs, what an import loads, and how the native module is linked."""

from __future__ import annotations

import ast
import importlib
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool import _core

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
in_checkout = pytest.mark.skipif(not (ROOT / "csrc").is_dir(), reason="runs in a checkout")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@in_checkout
def test_the_package_needs_no_other() -> None:
    assert project()["project"]["dependencies"] == ["tomli>=2; python_version < '3.11'"]


@in_checkout
@pytest.mark.parametrize("extra", ["serve", "test"])
def test_extras_that_run_the_command_line_include_it(extra: str) -> None:
    extras = project()["project"]["optional-dependencies"]
    included = {name for line in extras[extra] for name in re.findall(r"[\w-]+", line.partition("[")[2])}
    assert "cli" in included


def test_import_is_light() -> None:
    heavy = [
        "torch",
        "transformers",
        "numpy",
        "tokenizers",
        "click",
        "rich",
        "asyncio",
        "logging",
        "ssl",
        "hashlib",
        "concurrent.futures",
        "dataclasses",
        "importlib.resources",
        "inspect",
        "json",
        "pathlib",
        "queue",
        "threading",
    ]
    code = f"import sys, unspool; print(*(name for name in {heavy} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@in_checkout
def test_names_that_are_imported_later_are_declared_for_type_checkers() -> None:
    tree = ast.parse((ROOT / "python/unspool/__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    declared = {alias.name: node.module or "" for node in imports for alias in node.names}
    assert declared == {name: f"unspool.{module}" for name, module in vars(unspool)["_MODULE_OF"].items()}
    for name, module in declared.items():
        assert getattr(unspool, name) is getattr(importlib.import_module(module), name), name
        assert name in unspool.__all__


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'unspool' has no attribute 'generatr'"):
        _ = unspool.generatr  # type: ignore[attr-defined]


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_the_script_names_the_extra_that_is_missing(missing: str) -> None:
    if missing == "rich":
        pytest.importorskip("click")
    code = f"import sys; sys.modules[{missing!r}] = None; from unspool.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(rf"unspool: .*{missing}.*; pip install 'unspool\[cli\]'\n", done.stderr)


@pytest.mark.skipif(platform.system() != "Linux", reason="the module is an ELF file on Linux")
@pytest.mark.skipif(
    shutil.which("readelf") is None, reason="readelf is not installed: it comes with binutils"
)
def test_the_native_module_is_hardened() -> None:
    """Symbols are resolved at load time, and the table is then read-only; stacks are checked and not executable."""

    def readelf(option: str) -> str:
        command = ["readelf", "--wide", option, _core.__file__ or ""]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert re.search(r"\(FLAGS\).*BIND_NOW|\(BIND_NOW\)|\(FLAGS_1\).*NOW", readelf("--dynamic"))
    segments = readelf("--segments")
    assert "GNU_RELRO" in segments
    (stack,) = re.findall(r"GNU_STACK.* (RWE|RW) ", segments)
    assert stack == "RW"
    assert "__stack_chk_fail" in readelf("--dyn-syms")
