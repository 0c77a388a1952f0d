"""The rooms of the package: imports go to the same room or a lower one, and never in a circle."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest
import unspool

ROOT = Path(unspool.__file__).parent

#: From the top down, as in CONTRIBUTING.md. The folders of a room have an order too.
ROOMS = (
    "__init__", "__main__", "integrations",
    "serve.command", "serve", "serve.playground", "serve.engines", "serve.models", "serve.wires", "serve.http",
    "generation", "testing", "streams",
    "formats", "formats.templates",
    "writing.grammar", "writing.render", "writing.engines", "writing.schemas", "writing.rules", "writing",
    "core.stream", "core.schema", "core.regular", "core.vocabulary", "core.format", "core",
    "_core", "errors",
)  # fmt: skip


def module_name(file: Path) -> str:
    parts = ["unspool", *file.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(file): file for file in ROOT.rglob("*.py")}


def imports(file: Path, names: set[str]) -> set[str]:
    """The modules of the package that a file imports: for types too, and under functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inner if name in names} or {node.module}
    return {name for name in found if name in names}


@functools.cache
def package() -> dict[str, set[str]]:
    """The imports of every module."""
    return {name: imports(file, {*FILES}) - {name} for name, file in FILES.items()}


def room_of(module: str) -> str:
    """The innermost room that a module is in."""
    inside = module.removeprefix("unspool").removeprefix(".") or "__init__"
    around = (room for room in ROOMS if inside == room or inside.startswith(f"{room}."))
    return max(around, key=len, default="none")


def arrows_up(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The imports of a room above."""
    rank = {room: place for place, room in enumerate(ROOMS)}
    return sorted(
        (name, other)
        for name, others in graph.items()
        for other in others
        if rank[room_of(other)] < rank[room_of(name)]
    )


def find_cycle(graph: dict[str, set[str]]) -> list[str] | None:
    """One circle, as the names along it; None if there is none."""
    state: dict[str, int] = {}
    path: list[str] = []

    def visit(name: str) -> list[str] | None:
        state[name] = 1
        path.append(name)
        for other in sorted(graph.get(name, ())):
            if state.get(other) == 1:
                return [*path[path.index(other) :], other]
            if other not in state and (found := visit(other)):
                return found
        path.pop()
        state[name] = 2
        return None

    for name in sorted(graph):
        if name not in state and (found := visit(name)):
            return found
    return None


def test_every_entry_is_a_room() -> None:
    entries = {path.stem for path in ROOT.iterdir() if path.suffix in ("", ".py", ".pyi")} - {"__pycache__"}
    entries -= {"parsers"}  # package data
    assert entries - {"py"} == {room.split(".")[0] for room in ROOMS}
    assert all(room_of(name) != "none" for name in FILES)


def test_no_room_is_a_hall() -> None:
    folders = {file.parent for file in FILES.values()}
    counts = {str(folder.relative_to(ROOT)): len([*folder.glob("[!_]*.py")]) for folder in folders}
    assert {name: count for name, count in counts.items() if count > 21} == {}


def test_imports_go_down() -> None:
    assert len(package()) > 200
    assert arrows_up(package()) == []


def test_no_import_is_in_a_circle() -> None:
    assert find_cycle(package()) is None


@pytest.mark.parametrize(
    ("graph", "wrong"),
    [
        ({"unspool.core.stream.message": {"unspool.serve.app"}}, 1),
        ({"unspool.core.format.registry": {"unspool.core.stream.message"}}, 1),
        ({"unspool.serve.app": {"unspool.core.stream.message"}}, 0),
        ({"unspool.serve.wires.chat": {"unspool.serve.app"}}, 1),
        ({"unspool.serve.app": {"unspool.serve.wires.chat"}}, 0),
        ({"unspool.errors": {"unspool"}}, 1),
    ],
)
def test_an_arrow_up_is_found(graph: dict[str, set[str]], wrong: int) -> None:
    assert len(arrows_up(graph)) == wrong


def test_a_circle_is_found() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None
