"""A class with a `visit` names each of its members there: a new member is in snapshots, or is said not to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[1] / "csrc"
pytestmark = pytest.mark.skipif(not CSRC.is_dir(), reason="runs in a checkout")

CLASS = re.compile(r"^ *(?:class|struct) (\w+)(?: final)?(?: : ([^;{]*))? \{$", re.M)
INSIDE = re.compile(r"void (?:visit\w*)\(Archive& archive[^)]*\)[\w ]*\{")
OUTSIDE = re.compile(r"^void (?:\w+::)*(\w+)::visit\w*\(Archive& archive[^)]*\) \{$", re.M)
DECLARES = re.compile(r"void visit(?:_own)?\(Archive& archive")
NO_MEMBER = re.compile(r"(static|using|friend|template|virtual|enum|struct|class|explicit|namespace)\b")


def source() -> str:
    """All of the core, without comments and texts."""
    files = [*sorted(CSRC.rglob("*.h")), *sorted(CSRC.rglob("*.cpp"))]
    text = "\n".join(file.read_text() for file in files if file.parent.name != "third_party")
    text = re.sub(r"R\"\((.*?)\)\"", '""', text, flags=re.S)
    words = r"(//.*)|'(?:\\.|[^\\'\n])'|\"(?:\\.|[^\\\"\n])*\""
    return re.sub(words, lambda found: "" if found[1] else "0", text)


def block(text: str, begin: int) -> str:
    """What is between a brace that opens before `begin` and the one that closes it."""
    depth, end = 1, begin
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[begin : end - 1]


def members(body: str) -> Iterator[str]:
    """The data members that a class declares itself."""
    body = re.sub(r"(= |\b)\{[^{};]*\}", "", body)  # what members start with
    while "{" in body:  # functions, from the inside
        body = re.sub(r"\{[^{}]*\}", ";", body)
    for statement in re.sub(r"\b(public|private|protected):", "", body).split(";"):
        text = re.sub(r" = [^,]*", "", " ".join(statement.split()))
        text = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", text)))
        if " " in text and "(" not in text and not NO_MEMBER.match(text):
            yield from re.findall(r"(\w+)(?:,|$)", text)


def test_every_member_is_visited() -> None:
    text = source()
    classes = [(found[1], found[2] or "", block(text, found.end())) for found in CLASS.finditer(text)]
    visits: dict[str, str] = {}
    for found in OUTSIDE.finditer(text):
        visits[found[1]] = visits.get(found[1], "") + block(text, found.end())
    without = {name: body for name, _, body in classes if not DECLARES.search(body)}
    checked = 0
    for name, bases, body in classes:
        own = re.sub(r"^  +(?:class|struct) \w+[^;{]* \{$.*?^ +\};$", "", body, flags=re.M | re.S)
        if name == "Archive" or not DECLARES.search(own):
            continue
        inside = [block(own, found.end()) for found in INSIDE.finditer(own)]
        visit = "".join(inside) + visits.get(name, "")
        parts = [
            *members(own),
            *(m for base in re.findall(r"\w+", bases) for m in members(without.get(base, ""))),
        ]
        if not visit and not parts:
            continue
        missing = [member for member in parts if not re.search(rf"\b{member}\b", visit)]
        assert not missing, f"{name}::visit does not name {missing}"
        checked += len(parts)
    assert checked > 500
