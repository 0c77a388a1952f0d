"""No circle of imports in generation/, compat/ and serve/, and no import of a layer above."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import unspool

ROOT = Path(unspool.__file__).parent


def module_name(file: Path) -> str:
    parts = ["unspool", *file.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def type_checking_nodes(tree: ast.Module) -> set[ast.AST]:
    """What stands under `if TYPE_CHECKING:` and never runs."""
    blocks = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    ]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


FILES = {module_name(file): file for file in ROOT.rglob("*.py")}


def imports(name: str, with_types: bool) -> set[str]:
    """The modules of the package that a module imports, under functions too.

    Args:
        with_types: Whether imports for types alone count.
    """
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    skipped = set() if with_types else type_checking_nodes(tree)
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inner if name in FILES} or {node.module}
    return {module for module in found if module in FILES and module != name}


GRAPH = {name: imports(name, with_types=False) for name in FILES}
TYPE_GRAPH = {name: imports(name, with_types=True) for name in FILES}


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


@pytest.mark.parametrize(
    ("folder", "graph"),
    [
        ("generation", TYPE_GRAPH),
        ("serve", TYPE_GRAPH),
        ("generation", GRAPH),
        ("compat", GRAPH),
        ("serve", GRAPH),
        ("grammar", GRAPH),
    ],
    ids=lambda value: value if isinstance(value, str) else "types" if value is TYPE_GRAPH else "imports",
)
def test_a_folder_has_no_circle(folder: str, graph: dict[str, set[str]]) -> None:
    prefix = f"unspool.{folder}"
    inside = {name for name in graph if name == prefix or name.startswith(f"{prefix}.")}
    assert len(inside) > 5
    assert find_cycle({name: graph[name] & inside for name in inside}) is None


@pytest.mark.parametrize(
    ("folder", "above"),
    [
        ("generation", ("compat", "serve", "integrations", "testing")),
        ("prompts", ("generation", "compat", "serve", "integrations", "testing")),
        ("prompt_pieces", ("prompts", "generation", "compat", "serve", "integrations", "testing")),
        ("grammar", ("generation", "compat", "serve", "integrations")),
        ("serve", ("compat",)),
    ],
)
def test_a_layer_does_not_import_those_above(folder: str, above: tuple[str, ...]) -> None:
    prefixes = tuple(f"unspool.{name}" for name in above)
    wrong = [
        (name, other)
        for name, others in GRAPH.items()
        for other in others
        if name.startswith(f"unspool.{folder}") and other.startswith(prefixes)
    ]
    assert wrong == []


def test_a_circle_is_found() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None
