"""At run time, the native module is documented as its stub is."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool import _core

ROOT = Path(__file__).parents[2]
STUB = ROOT / "python" / "unspool" / "_core.pyi"
PACKAGE = Path(unspool.__file__).parent
Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_everything_public_is_documented() -> None:
    things = {name: thing for name, thing in vars(_core).items() if name[0] != "_" and callable(thing)}
    for name, cls in list(things.items()):
        if isinstance(cls, type):
            things |= {f"{name}.{key}": getattr(cls, key) for key in vars(cls) if key[0] != "_"}
    assert len(things) > 200
    assert [name for name, thing in things.items() if not thing.__doc__] == []


def declared() -> Iterator[tuple[str, Any, list[Function] | ast.ClassDef]]:
    """What the stub documents: its name, the thing itself, and its overloads."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    for owner, nodes in [
        ("", tree.body),
        *((n.name, n.body) for n in tree.body if isinstance(n, ast.ClassDef)),
    ]:
        found = getattr(_core, owner) if owner else _core
        overloads: dict[str, list[Function]] = {}
        for node in nodes:
            if isinstance(node, Function):
                overloads.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                yield node.name, getattr(_core, node.name), node
        for name, functions in overloads.items():
            if name[:2] != "__" or name == "__init__":
                yield f"{owner}.{name}", inspect.getattr_static(found, name), functions


@pytest.mark.skipif(not STUB.is_file(), reason="needs the stub")
def test_the_text_is_the_stubs() -> None:
    for name, thing, stub in declared():
        texts = [ast.get_docstring(node) for node in (stub if isinstance(stub, list) else [stub])]
        function = getattr(thing, "__func__", thing)
        assert (function.__doc__ or "") == "\n\n".join(filter(None, texts)), name


@pytest.mark.skipif(not STUB.is_file(), reason="needs the stub")
def test_the_signature_is_the_stubs() -> None:
    for name, thing, stub in declared():
        if inspect.isdatadescriptor(thing) or not isinstance(stub, list) or len(stub) > 1:
            continue
        arguments = stub[0].args
        stubs = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        found = inspect.signature(getattr(thing, "__func__", thing)).parameters
        named = [
            each.name for each in found.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        ]
        assert named == stubs, name


def test_signatures_of_classes_and_bound_methods() -> None:
    assert list(inspect.signature(unspool.DeltaChannel).parameters) == ["maxsize"]
    assert list(inspect.signature(unspool.Delta).parameters)[:2] == ["kind", "text"]
    assert list(inspect.signature(unspool.DeltaChannel().put).parameters) == [
        "delta",
        "timeout",
    ]  # of pybind11
    assert list(inspect.signature(unspool.Parser("hermes").put).parameters) == ["ids"]  # of our own


def test_help_shows_each_parameter_of_a_parser() -> None:
    text = pydoc.plain(pydoc.render_doc(unspool.Parser))
    shown = re.findall(r"^ \|      (\w+): ", text, re.M)
    parameters = inspect.signature(unspool.Parser).parameters.values()
    names = [item.name for item in parameters if item.kind is not item.VAR_KEYWORD]
    assert [name for name in shown if name in names][: len(names)] == names


def test_a_list_of_parameters_is_indented_once() -> None:
    """Otherwise `help` and the site show them as one block."""
    for file in (file for file in PACKAGE.rglob("*.py*") if file.suffix in (".py", ".pyi")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            text = ast.get_docstring(node) or "" if isinstance(node, (ast.ClassDef, Function)) else ""
            for indent, section, first in re.findall(r"^( *)(Args|Raises|Returns|Yields):\n( *)", text, re.M):
                assert len(first) == len(indent) + 4, f"{file.name}: {node}: {section}"
