"""Templates that hypothesis makes up: small markers that overlap, so that every rule of choice counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .templates import Case
from .test_oracle import _check

pytest.importorskip("transformers.utils.chat_parsing")

_literals = st.text("ab<>", min_size=1, max_size=3)
_patterns = st.sampled_from(
    [
        "a(?:bc)?",
        "<+",
        r"\s*<a?",
        "ab|a|b>",
        "(?:a|ab)(?:c|>)?",
        "<[^>]*>",
        "a.*?b",
        "a(?!b)",
        "b(?=c|$)",
        "(?=a*>)",
        ">|$",
        "^a|b{2,3}?",
        r"\w>|\s",
        "^",
        r"(?:<a)+\b",
    ]
)


@st.composite
def _markers(draw: st.DrawFn, key: str) -> dict[str, Any]:
    if draw(st.booleans()):
        return {f"{key}_pattern": draw(_patterns)}
    return {key: draw(st.one_of(_literals, st.lists(_literals, min_size=1, max_size=3)))}


@st.composite
def _fields(draw: st.DrawFn, has_opener: bool, parsers: list[str]) -> dict[str, Any]:
    spec: dict[str, Any] = {"content": draw(st.sampled_from(parsers))}
    if has_opener:
        spec.update(draw(_markers("open")))
    if draw(st.booleans()) or has_opener:
        spec.update(draw(_markers("close")))
    if draw(st.booleans()):
        spec["content_args"] = {"strip": draw(st.booleans())}
    if spec["content"] == "text" and draw(st.booleans()):
        spec.update(repeats=True, join=draw(st.sampled_from(["", "-"])))
    return spec


@st.composite
def _templates(draw: st.DrawFn) -> dict[str, Any]:
    fields = {"content": draw(_fields(draw(st.booleans()), ["text"]))}
    if draw(st.booleans()):
        fields["thinking"] = draw(_fields(True, ["text"]))
    if draw(st.booleans()):
        fields["note"] = draw(_fields(True, ["text", "int", "bool", "json"]))
    return {"start_anchor": "|", "fields": fields}


def _loops(template: dict[str, Any], text: str) -> bool:
    """Where markers that match nothing open or close regions, the oracle runs for ever, or drops the rest."""
    import regex

    for spec in template["fields"].values():
        for key in ("open_pattern", "close_pattern"):
            if any(not match.group() for match in regex.finditer(spec.get(key, "$(?!)"), text)):
                return True
    return False


@given(_templates(), st.text("ab<>c 1\n", max_size=16), st.sampled_from(["", "|", "|a", "|<"]))
def test_generated_templates(template: dict[str, Any], text: str, prefix: str) -> None:
    case = Case("generated", template, (), ())
    _check(case, text, prefix, None, every_split=True, has_oracle=not _loops(template, prefix + text))
