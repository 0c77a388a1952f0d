"""Any split of the same stream gives the same message."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool import Message, Parser
from unspool.testing import pieces_of, shipped_cases

from ..outputs import TOOLS, outputs

SEED = 7  # call ids are the same every time
reasons = st.sampled_from(["stop", "length"])
tool_lists = st.sampled_from([TOOLS, None, []])


def key(message: Message) -> Any:
    return (
        message.content,
        message.reasoning,
        message.tool_calls,
        message.malformed,
        message.finish_reason,
    )


@given(data=st.data())
def test_text_split_at_any_bytes(format: str, data: st.DataObject) -> None:
    output = data.draw(outputs(format)).encode()
    tools, reason = data.draw(tool_lists), data.draw(reasons)
    cuts = data.draw(st.lists(st.integers(0, len(output)), max_size=8))
    whole = Parser(format, tools, id_seed=SEED).parse(output, reason)
    for pieces in (pieces_of(output, cuts), pieces_of(output, range(1, len(output)))):
        parser = Parser(format, tools, id_seed=SEED)
        for piece in pieces:
            parser.parse_chunk(piece)
        assert key(parser.finish(reason)) == key(whole), pieces


@pytest.mark.parametrize("name", ["deepseek", "tekken"])
@given(data=st.data())
def test_ids_in_any_groups(format: str, name: str, request: Any, data: st.DataObject) -> None:
    tokenizer = request.getfixturevalue(name)
    ids = tokenizer.encode(data.draw(outputs(format)))
    # Special tokens come as ids only; strew some in.
    specials = list(tokenizer.vocabulary.added_tokens)
    for place in data.draw(st.lists(st.integers(0, len(ids)), max_size=3)):
        ids.insert(place, data.draw(st.sampled_from(specials)))
    reason = data.draw(reasons)
    cuts = data.draw(st.lists(st.integers(0, len(ids)), max_size=8))
    options = {"tokenizer": tokenizer.vocabulary, "id_seed": SEED}
    whole = Parser(format, TOOLS, **options).parse(ids, reason)
    for pieces in (pieces_of(ids, cuts), [[id] for id in ids]):
        parser = Parser(format, TOOLS, **options)
        spans = [delta.token_span for piece in pieces for delta in parser.parse_chunk(tokens=piece)]
        message = parser.finish(reason)
        assert key(message) == key(whole)
        assert message.token_counts == whole.token_counts
        ends = [0, *(end for _, end in [*spans, *(delta.token_span for delta in message.deltas)])]
        assert ends == sorted(ends)
        assert ends[-1] == len(ids)


@given(data=st.data())
def test_text_that_comes_later_than_its_ids(format: str, deepseek: Any, data: st.DataObject) -> None:
    """A host sends both; its text comes later, with or without special tokens' text."""
    ids = deepseek.encode(data.draw(outputs(format)))
    skip, reason = data.draw(st.booleans()), data.draw(reasons)
    keep_added = deepseek.decode(ids, True)
    text = (keep_added if skip else deepseek.decode(ids, False)).encode()
    by_ids = Parser(format, TOOLS, tokenizer=deepseek.vocabulary, id_seed=SEED).parse(ids, reason)
    parser = Parser(format, TOOLS, tokenizer=deepseek.vocabulary, id_seed=SEED)
    sent = 0
    shares = data.draw(st.binary(min_size=len(ids), max_size=len(ids)))  # one draw: draws are slow
    for position, (id, share) in enumerate(zip(ids, shares, strict=True)):
        # What the host may release by now: a prefix of what these ids decode to.
        known = len(deepseek.decode(ids[: position + 1], skip).encode().rstrip(b"\xef\xbf\xbd"))
        until = sent + max(0, min(known, len(text)) - sent) * share // 255
        parser.parse_chunk(text[sent:until], [id])
        sent = until
    parser.parse_chunk(text[sent:], [])
    assert key(parser.finish(reason)) == key(by_ids)


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("start_in", ["content", "reasoning"])
def test_a_call_that_begins_again_in_two_chunks(format: str, start_in: str, repair: bool) -> None:
    """What the first reading took decides what is read again: it does not depend on the chunk."""
    markers = {marker.strip() for marker in unspool.get_format(format).facts.markers} - {""}
    pattern = "|".join(re.escape(marker) for marker in sorted(markers, key=len, reverse=True))
    case = shipped_cases(format)[0]
    found = list(re.finditer(pattern, case.input)) if markers else []
    options: dict[str, Any] = {"repair": repair, "start_in": start_in, "id_seed": 1}
    for first, second in itertools.product(found[:6], repeat=2):
        # From the second one on, the output is whole.
        output = f"\n{first.group()}now{case.input[second.start() :]}"
        whole = Parser(format, case.tools, **options).parse(output)
        for cut in range(1, min(len(output), 80)):
            parser = Parser(format, case.tools, **options)
            parser.parse_chunk(output[:cut])
            parser.parse_chunk(output[cut:])
            assert key(parser.finish()) == key(whole), (output, cut)
