"""Labels partition the ids, at every split; joined by region, the bytes are the message's parts."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool import Labels, Message, parse_batch
from unspool.core.stream.labels import REGIONS
from unspool.testing import pieces_of, shipped_cases
from unspool.testing.cases import Case

from ..outputs import TOOLS, outputs
from .label_tokens import Tokens, cut, joined, labels_of, read, stream

pytestmark = pytest.mark.filterwarnings("ignore:the content has")


def cases_of(format: str) -> list[Case]:
    return [case for case in shipped_cases(format) if "only_reasoning" not in case.options]


def parts(message: Message) -> tuple[object, ...]:
    return message.content, message.reasoning, message.tool_calls, message.malformed


def is_object(text: str) -> bool:
    """Whether the text is a JSON object: then the family writes arguments as they are sent."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def rows(labels: Labels) -> list[tuple[int, int, bool]]:
    columns = (labels.regions.tolist(), labels.calls.tolist(), labels.is_mixed.tolist())
    return list(zip(*columns, strict=True))


def columns(labels: Labels) -> list[bytes]:
    return [column.tobytes() for column in (labels.regions, labels.calls, labels.is_mixed)]


def read_in_pieces(tokens: Tokens, case: Case, cuts: Sequence[int]) -> Message:
    """The message of ids that come in pieces; what was settled has not changed."""
    streamer = stream(tokens, case)
    seen = []
    for piece in pieces_of(tokens.ids, cuts):
        streamer.put(piece)
        seen.append(columns(streamer.labels()))
    message = streamer.finish(case.finish_reason)
    whole = columns(labels_of(message))
    for before in seen:
        assert all(column.startswith(part) for column, part in zip(whole, before, strict=True))
    return message


def check_law_1(tokens: Tokens, case: Case, cuts: Sequence[int]) -> Labels:
    whole = read(tokens, case)
    labels = labels_of(whole)
    assert len(labels) == len(tokens.ids) == sum(labels.counts().values())
    assert labels.is_final
    ends = [0, *(span.end for span in labels.spans)]
    assert [span.start for span in labels.spans] == ends[:-1]
    assert ends[-1] == len(labels)
    assert labels_of(read_in_pieces(tokens, case, cuts)) == labels
    assert labels_of(read_in_pieces(tokens, case, range(1, len(tokens.ids)))) == labels
    options = {"tokenizer": tokens.vocabulary, "id_seed": 5, "labels": True, **case.options}
    tools = None if case.tools is None else list(case.tools)
    (batch,) = parse_batch([tokens.ids], case.format, tools, finish_reason=case.finish_reason, **options)
    assert labels_of(batch) == labels
    return labels


def check_first_bytes(tokens: Tokens, bytewise: Labels, labels: Labels, bytes_of: Tokens) -> None:
    """A token has its first byte's label, and is mixed if another byte has another region or call."""
    place = 0  # in the bytewise tokens
    expected = rows(bytewise)
    for piece, label in zip(tokens.pieces, rows(labels), strict=True):
        inside = []
        size = 0
        while size < len(piece):
            inside.append(expected[place][:2])
            size += len(bytes_of.pieces[place])
            place += 1
        assert label == (*inside[0], any(other != inside[0] for other in inside)), piece


def test_labels_do_not_depend_on_the_split(format: str) -> None:
    rng = random.Random(7)
    for case in cases_of(format):
        tokens = cut(format, case.input)
        cuts = [rng.randrange(len(tokens.ids) + 1) for _ in range(3)]
        bytewise = check_law_1(tokens, case, cuts)
        longer = cut(format, case.input, lambda: rng.choice([1, 2, 3, 5, 9]))
        cuts = [rng.randrange(len(longer.ids) + 1) for _ in range(3)]
        labels = check_law_1(longer, case, cuts)
        if case.input.isascii():
            check_first_bytes(longer, bytewise, labels, tokens)


def test_labels_are_the_same_in_both_trust_modes(format: str) -> None:
    for case in cases_of(format):
        tokens = cut(format, case.input)
        by_id, by_text = read(tokens, case), read(tokens, case, trust="text")
        if parts(by_id) == parts(by_text):
            assert labels_of(by_id) == labels_of(by_text), case


def test_bytes_joined_by_region_are_the_messages_parts(format: str) -> None:
    for case in cases_of(format):
        tokens = cut(format, case.input)
        message = read(tokens, case)
        labels = labels_of(message)
        assert joined(tokens, labels, "content") == message.content
        assert joined(tokens, labels, "reasoning") == message.reasoning
        for index, call in enumerate(message.tool_calls):
            assert joined(tokens, labels, "name", index) in (call.name, "")
            written = joined(tokens, labels, "arguments", index)
            if call.is_complete and not call.repairs and is_object(written):
                assert written == call.arguments


def test_each_argument_has_tokens(format: str) -> None:
    for case in cases_of(format):
        tokens = cut(format, case.input)
        message = read(tokens, case)
        labels = labels_of(message)
        for index, call in enumerate(message.tool_calls):
            if not call.is_complete or "T14" in case.name:
                continue
            for key, value in json.loads(call.arguments).items():
                if value not in ("", [], {}):
                    assert labels.tokens((key,), call=index), (case, key)


@given(data=st.data())
def test_damaged_outputs(format: str, data: st.DataObject) -> None:
    text = data.draw(outputs(format))
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    tools = data.draw(st.sampled_from([tuple(TOOLS), None]))
    case = Case(
        format, "drawn", text, tools=tools, finish_reason=data.draw(st.sampled_from(["stop", "length"]))
    )
    rng = random.Random(len(text))
    tokens = cut(format, text, lambda: rng.choice(sizes))
    cuts = data.draw(st.lists(st.integers(0, len(tokens.ids)), max_size=4))
    labels = check_law_1(tokens, case, cuts)
    bytes_of = cut(format, text)
    message = read(bytes_of, case)
    assert joined(bytes_of, labels_of(message), "content") == message.content
    assert joined(bytes_of, labels_of(message), "reasoning") == message.reasoning
    if text.isascii():
        check_first_bytes(tokens, labels_of(message), labels, bytes_of)


def test_labels_change_nothing_else(format: str) -> None:
    """By ids that spell the markers, or have some of them."""
    markers = unspool.get_format(format).facts.marker_tokens
    for case in shipped_cases(format):
        for known in (markers, [], markers[::2], markers[1::2]):
            tokens = cut(format, case.input, known_markers=known)
            given = {"tokenizer": tokens.vocabulary, "id_seed": 1}
            for options in (case.options, {"only_reasoning": True}):
                plain, *others = (
                    unspool.Parser(format, case.tools, **given, **options, **records).parse(tokens.ids)
                    for records in ({}, {"audit": True}, {"labels": True})
                )
                assert all(parts(other) == parts(plain) for other in others), (case.name, known, options)


def test_regions_are_named_in_the_cores_order() -> None:
    assert REGIONS == ("content", "reasoning", "markup", "name", "arguments", "end", "skipped")
