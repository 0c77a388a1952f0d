"""Only core/schema asks a JSON Schema by keyword; all other rooms take what it has read."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import unspool
from unspool.core.schema.keywords import CHECKED, COMPOSING, DEFINITIONS, KEYWORDS_OF_TYPE, LISTING

ROOT = Path(unspool.__file__).parent
#: Also the names of other things: of a tool choice, of a method, of parts of a request.
_WORDS = {"required", "items", "format", "pattern", "contains", "not", "if"}
KEYWORDS = {
    *(keyword for keywords in KEYWORDS_OF_TYPE.values() for keyword in keywords),
    *LISTING, *COMPOSING, *CHECKED, *DEFINITIONS,
} - _WORDS  # fmt: skip
#: Their arguments name the keywords that a grammar does not enforce.
_NOTES = {"Dropped", "drop", "drop_all", "_drop", "_keep"}
#: Files outside core/schema, and how often each asks.
ALLOWED = {
    # These read the schemas of the server's own requests and answers, which msgspec has made.
    "serve/openapi.py": 6,
}


def asked(tree: ast.AST) -> Iterator[str]:
    """The keywords in a file, except those that it writes into a schema or names in a note."""
    written: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            written |= {id(key) for key in node.keys}
        if isinstance(node, ast.Call) and _name(node.func) in _NOTES:
            written |= {id(inner) for argument in node.args for inner in ast.walk(argument)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in KEYWORDS and id(node) not in written:
            yield node.value


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def counts(root: Path = ROOT) -> dict[str, int]:
    found: Counter[str] = Counter()
    for file in sorted(root.rglob("*.py")):
        name = file.relative_to(root).as_posix()
        if not name.startswith("core/schema/"):
            found[name] = sum(1 for _ in asked(ast.parse(file.read_text("utf-8"))))
    return {name: count for name, count in found.items() if count}


def test_only_the_reader_asks_by_keyword() -> None:
    assert counts() == ALLOWED, (
        "take the types of core/schema/schema.py, or the properties of core/schema/source.py"
    )


def test_asking_is_found() -> None:
    code = '''
x = schema.get("properties"), schema["anyOf"], "$ref" in schema, part.has("minLength"), said(part, "multipleOf")
schema = {"properties": {}, "type": "object"}
notes.drop(part, "uniqueItems", "why")
"""A docstring that says minItems."""
'''
    assert sorted(asked(ast.parse(code))) == ["$ref", "anyOf", "minLength", "multipleOf", "properties"]
