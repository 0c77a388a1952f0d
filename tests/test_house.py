"""What must agree, in two places or more: layers, stub, versions, commands, examples."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
import unspool
from unspool import _core

from .environments import clean_variables, make_environment

ROOT = Path(__file__).parents[1]
LAYERS = [
    "text",
    "vocabulary",
    "format",
    "body",
    "parser",
    "filter",
    "template",
    "delta",
    "channel",
    "stream",
    "bindings",
    "wasm",
]
in_checkout = pytest.mark.skipif(not (ROOT / "csrc").is_dir(), reason="runs in a checkout")


@in_checkout
def test_a_folder_includes_only_those_above_it() -> None:
    for file in (path for path in (ROOT / "csrc").rglob("*") if path.suffix in (".h", ".cpp")):
        if file.name == "unspool.h" or file.parent.name == "third_party":  # the face of the whole
            continue
        layer = LAYERS.index(file.parent.name)
        for include in re.findall(r'#include "(\w+)/', file.read_text()):
            assert LAYERS.index(include) <= layer, f"{file.name} includes {include}/"
        if file.parent.name != "bindings":
            assert "pybind11" not in file.read_text(), file.name


@in_checkout
def test_one_version() -> None:
    assert unspool.__version__ == _core.__version__
    assert f'version = "{unspool.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"## {unspool.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@in_checkout
def test_ci_runs_readmes_commands() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    for command in ("pip install '.[cli]' && unspool demo", "pip install -e '.[test]' && pytest"):
        assert command in readme or command.replace(".[", "unspool[") in readme  # a release names the package
        assert command in ci


@in_checkout
def test_stub_and_module_name_the_same_things() -> None:
    stub = (ROOT / "python" / "unspool" / "_core.pyi").read_text()
    for name, cls in vars(_core).items():
        if not inspect.isclass(cls):
            continue
        block = re.search(rf"^class {name}\b.*?(?=^class |^@final|^_Kind|\Z)", stub, re.M | re.S)
        assert block, f"{name} is not in the stub"
        declared = set(re.findall(r"def (\w+)\(", block.group()))
        real = {key for key in vars(cls) if not key.startswith(("__", "_pybind11"))}
        assert {key for key in declared if not key.startswith("__")} == real, name


def undocumented(name: str, stub: dict[str, ast.AST]) -> list[str]:
    """A public name, and its public methods and properties, that have no docstring of their own."""
    node = stub.get(name)
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):  # native: its documentation is the stub's
        parts = node.body if isinstance(node, ast.ClassDef) else []
        nodes = [node, *(part for part in parts if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)))]
        return [part.name for part in nodes if part.name[0] != "_" and not ast.get_docstring(part)]
    thing = getattr(unspool, name)
    found = {name: thing.__doc__} if "__doc__" in vars(thing) or inspect.isfunction(thing) else {name: None}
    for key, value in vars(thing).items() if inspect.isclass(thing) else ():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if key[0] != "_" and inspect.isfunction(function):
            found[f"{name}.{key}"] = function.__doc__
    return [key for key, text in found.items() if not text]


@in_checkout
def test_everything_public_is_documented() -> None:
    tree = ast.parse((ROOT / "python/unspool/_core.pyi").read_text())
    stub: dict[str, ast.AST] = {getattr(node, "name", ""): node for node in tree.body}
    names = [name for name in unspool.__all__ if name != "__version__"]
    assert [missing for name in names for missing in undocumented(name, stub)] == []


@in_checkout
def test_readmes_first_block_runs_with_the_package_alone(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(import unspool.*?)```\n\n```\n(.*?)```", readme, re.S)
    assert code
    assert len(readme[: code.end()].splitlines()) < 40, "a reader sees it first"
    python = make_environment(tmp_path, ["unspool"])
    command, env = [python, "-c", code.group(1)], clean_variables(python)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert re.sub(r"call_\w{24}", "call_…", done.stdout) == code.group(2)


def test_formats_are_package_data() -> None:
    names = {file.name for file in unspool.formats()}
    assert {
        "hermes",
        "qwen3",
        "qwen3_coder",
        "llama3_json",
        "mistral",
        "deepseek_r1",
        "json",
    } <= names
    aliases = [alias for file in unspool.formats() for alias in (file.name, *file.aliases)]
    assert len(aliases) == len(set(aliases)), "no name resolves to two formats"


def test_metadata() -> None:
    if metadata.packages_distributions().get("unspool"):
        assert metadata.version("unspool") == unspool.__version__
