"""Our messages against those of `transformers.utils.chat_parsing`, given the whole text at once.

Where the two differ, on purpose:

- A later region of a field that does not repeat overwrites the earlier there; here it is appended.
- What there raises (a region that cannot be read, a required field that is missing) is `malformed` here,
  and its text is kept as content.
- Text outside of every field is discarded there; here it is `malformed` and kept, but for white space
  and the start anchor.
- A call that the end of the output cuts off is `incomplete` here.
- Arguments are cast by the tool's schema in calls without `function` too.
- What the prompt wrote is not emitted again.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st

from .templates import CASES, TOOLS, Case

chat_parsing = pytest.importorskip("transformers.utils.chat_parsing")

REASONING = ("thinking", "reasoning", "reasoning_content")
OUTSIDE = "text outside of every field"
CUT = "the output ends inside a parameter"


@dataclass
class Expected:
    texts: dict[str, str] = field(default_factory=lambda: {"content": "", "reasoning": ""})
    calls: list[tuple[str, Any]] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    is_cut: bool = False  # the last call may have been cut off


def _calls(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from _calls(item)
        return
    function = value.get("function", value)
    if isinstance(function.get("arguments", {}), dict) and isinstance(function["name"], str):
        yield function["name"], function.get("arguments", {})
    else:
        raise ValueError("this is no call")


def _expect(template: dict[str, Any], text: str, prefix: str, tools: Any) -> Expected | None:
    """What the oracle's regions add up to; None where it raises, or has no call to show."""
    expected = Expected()
    seen: set[str] = set()
    try:
        parser = chat_parsing.ResponseParser(template, prefix=prefix, tools=tools)
        events = parser.feed(text)
        message, last = parser.finalize()
        for event in events + last:
            if event["type"] != "region_close":
                continue
            name, value = event["field"], event["value"]
            kind = "reasoning" if name in REASONING else name
            if kind in expected.texts:
                join = template["fields"][name].get("join") or ""
                expected.texts[kind] += (join if name in seen else "") + value
                seen.add(name)
            elif name == "tool_calls":
                expected.calls += _calls(value)
        expected.is_cut = any(event["field"] == "tool_calls" for event in last[-2:])
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    expected.extra = {
        key: value
        for key, value in message.items()
        if key not in ("role", "content", "tool_calls", *REASONING)
    }
    return expected


def _parse(format: unspool.Format, pieces: list[str], prefix: str, tools: Any) -> tuple[Any, ...]:
    parser = unspool.Parser(format, tools, prompt=prefix, id_seed=1, audit=True)
    deltas = [delta for piece in pieces for delta in parser.parse_chunk(piece)]
    message = parser.finish()
    deltas += message.deltas
    texts = {
        kind: "".join(delta.text for delta in deltas if delta.kind == kind)
        for kind in ("content", "reasoning")
    }
    if not prefix:  # nothing is lost
        assert "".join(text for _, text in message.audit) == "".join(pieces)
    return message, texts


def _splits(text: str, seed: int) -> Iterator[list[str]]:
    yield list(text)
    for cut in range(1, len(text)):
        yield [text[:cut], text[cut:]]
    choice = random.Random(seed)
    for _ in range(5):
        cuts = sorted(choice.sample(range(len(text) + 1), min(len(text), choice.randint(1, 6))))
        yield [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _key(message: unspool.Message, texts: dict[str, str]) -> tuple[Any, ...]:
    fates = [
        (fate, "".join(text for _, text in group))
        for fate, group in itertools.groupby(message.audit, lambda item: item[0])
    ]
    return (texts, message.content, message.tool_calls, message.malformed, message.extra, fates)


def _check(
    case: Case, text: str, prefix: str, tools: Any, every_split: bool, has_oracle: bool = True
) -> None:
    format = unspool.Format.from_response_template(case.template)
    message, texts = _parse(format, [text], prefix, tools)
    for number, pieces in enumerate(_splits(text, len(text))):
        if number > 1 and not every_split:
            break
        assert _key(*_parse(format, pieces, prefix, tools)) == _key(message, texts), pieces
    for call in message.tool_calls:
        if call.is_complete:
            assert isinstance(json.loads(call.arguments), dict)
    expected = _expect(case.template, text, prefix, tools) if has_oracle else None
    if expected is None:
        return
    if not any(part.strip() for part in _continued(case, prefix)):
        assert texts == expected.texts
    assert {part.reason for part in message.malformed} <= {OUTSIDE, *((CUT,) if expected.is_cut else ())}
    assert message.extra == expected.extra or prefix
    calls = list(message.tool_calls)
    assert len(calls) == len(expected.calls)
    for call, (name, arguments) in zip(calls, expected.calls, strict=True):
        assert call.name == name
        if call.status == "complete":
            assert json.loads(call.arguments) == arguments
        else:
            assert (call.status, call, expected.is_cut) == ("incomplete", calls[-1], True)


def _continued(case: Case, prefix: str) -> list[str]:
    """The part of the message that the prompt has written; the oracle emits it again."""
    parser = chat_parsing.ResponseParser(case.template, prefix=prefix)
    told = [event["text"] for event in parser.initial_events if event["type"] == "region_chunk"]
    return [*told, parser._buffer[parser._pos :]]


@pytest.mark.parametrize("tools", [None, TOOLS], ids=["untyped", "typed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_models_write(case: Case, tools: Any) -> None:
    for text in case.outputs:
        for prefix in case.prefixes:
            _check(case, text, prefix, tools, every_split=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_models_write_is_read(case: Case) -> None:
    """The outputs above are no corner cases: all of each is understood."""
    for text in case.outputs:
        assert _expect(case.template, text, "", TOOLS) is not None
        message, _ = _parse(unspool.Format.from_response_template(case.template), [text], "", TOOLS)
        assert not message.malformed
        assert all(call.is_complete for call in message.tool_calls)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cut_anywhere(case: Case) -> None:
    for text in case.outputs:
        for end in range(len(text)):
            _check(case, text[:end], "", TOOLS, every_split=False)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_any_order_of_pieces(case: Case) -> None:
    @given(
        st.lists(st.sampled_from(case.pieces), max_size=12).map("".join),
        st.sampled_from(case.prefixes),
        st.sampled_from([None, TOOLS]),
    )
    def check(text: str, prefix: str, tools: Any) -> None:
        _check(case, text, prefix, tools, every_split=len(text) < 60)

    check()


def test_the_templates_that_transformers_ships() -> None:
    serving = pytest.importorskip("transformers.cli.serving.utils")
    outputs = {case.name: case for case in CASES}
    for types, template in serving._RESPONSE_TEMPLATE_FALLBACKS.items():
        case = outputs[next(name for name in ("qwen3", "qwen3_5", "gemma4") if name in types)]
        for text in case.outputs:
            for prefix in case.prefixes:
                _check(Case(case.name, template, (), ()), text, prefix, TOOLS, every_split=True)
