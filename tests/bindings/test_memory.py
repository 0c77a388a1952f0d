"""What a stream keeps after a chunk; counted in the C allocator's own numbers, not in pages."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from unspool import Delta, Detokenizer, Parser, StreamBatch, TokenStreamer, Vocabulary, WireWriter

from .allocator import allocated_bytes

MB = 1_000_000
KEPT = 100_000  # what a stream may keep after a chunk of any size
CALL = '<tool_call>\n{"name": "f", "arguments": {"x": "%s"}}\n</tool_call>'


pytestmark = pytest.mark.skipif(not allocated_bytes(), reason="needs glibc's mallinfo2")


def kept_by(make: Callable[[], Any], feed: Callable[[Any], Any]) -> int:
    feed(make())  # what is made once a process
    stream = make()
    gc.collect()
    before = allocated_bytes()
    feed(stream)
    gc.collect()
    return allocated_bytes() - before


def vocabulary() -> Vocabulary:
    return Vocabulary({"a": 0, "b": 1, "<tool_call>": 2, "</tool_call>": 3}, [])


TEXTS = {
    "content": "x" * MB,
    "lines": "some words\n" * (MB // 11),
    "call": CALL % ("y" * MB),
    "open_call": (CALL % ("y" * MB))[:-30],
    "escapes": CALL % ("\\u00e9" * (MB // 6)),
    "malformed": '<tool_call>{"name": "f", "arguments": {"a": @' + "q" * MB,
    "openers": "<tool_call" * (MB // 10),
    "json": '{"a": [' + "1," * (MB // 2),
}


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("format", ["hermes", "qwen3_coder", "llama3_json", "pythonic", "openai", "glm45"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_long_text_leaves_little(format: str, text: str) -> None:
    assert kept_by(lambda: Parser(format, keep_message=False), lambda p: p.parse_chunk(TEXTS[text])) < KEPT


def test_many_ids_leave_little() -> None:
    ids, text = [0] * MB, "a" * MB
    makes: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
        (lambda: Parser("hermes", tokenizer=vocabulary(), keep_message=False), lambda p: p.parse_chunk(tokens=ids)),
        (lambda: Parser("hermes", tokenizer=vocabulary(), keep_message=False), lambda p: p.parse_chunk(text, ids)),
        (lambda: Parser("hermes", keep_message=False), lambda p: p.parse_chunk(text, ids)),
        (lambda: TokenStreamer(vocabulary(), "hermes", keep_message=False), lambda s: s.put(ids)),
        (lambda: WireWriter("chat_completions", model="m"), lambda w: w.write(Delta("content", text=text))),
    ]  # fmt: skip
    for make, feed in makes:
        assert kept_by(make, feed) < KEPT
    assert kept_by(lambda: Detokenizer(vocabulary()), lambda d: d.put(ids)) < 3 * KEPT  # and its last pieces


def test_ids_without_a_tokenizer_cost_no_memory_for_ever() -> None:
    def feed(count: int) -> Callable[[Any], None]:
        def put(parser: Any) -> None:
            for _ in range(count):
                parser.parse_chunk("", [1] * 100)
            assert parser.token_count == count * 100

        return put

    def make() -> Any:
        return Parser("hermes", keep_message=False)

    assert abs(kept_by(make, feed(20_000)) - kept_by(make, feed(5_000))) < KEPT


def test_streams_that_are_dropped_leave_nothing() -> None:
    def feed(_: object) -> None:
        for _ in range(5000):
            parser = Parser("qwen3_coder")
            parser.parse_chunk("<tool_call><function=get_weather><parameter=city>Par" * 3)

    assert kept_by(lambda: None, feed) < KEPT


def test_long_steps_of_a_batch_leave_nothing() -> None:
    def make() -> tuple[StreamBatch, int]:
        batch = StreamBatch(vocabulary(), "hermes", keep_message=False)
        return batch, batch.add(writer=WireWriter("chat_completions", model="m"))

    def feed(made: tuple[StreamBatch, int]) -> None:
        batch, slot = made
        for _ in range(2000):
            batch.step([slot], [0, 1] * 200, [0, 400])

    assert kept_by(make, feed) < KEPT


def test_ids_that_no_text_shows_come_with_the_next_delta() -> None:
    parser = Parser("hermes")
    parser.parse_chunk("", [1, 2, 3])
    (delta,) = parser.parse_chunk("x", [4])
    assert delta.token_ids == (1, 2, 3, 4)
    late = Parser("hermes")
    for _ in range(200):
        late.parse_chunk("", [7] * 1000)
    (delta,) = late.parse_chunk("x", [8])
    assert delta.token_span == (0, 200_001)  # the place is exact where the ids are too many to keep
    assert delta.token_ids == ()
    (delta,) = late.parse_chunk("y", [9])
    assert delta.token_ids == (9,)


def test_an_audit_without_a_message_is_the_last_chunks() -> None:
    parser = Parser("hermes", audit=True, keep_message=False)
    audits = []
    for chunk in ("Hello <tool_", 'call>{"name": "f", "argum', 'ents": {}}</tool_call>'):
        parser.parse_chunk(chunk)
        audits += parser.message.audit
    audits += parser.finish().audit
    whole = Parser("hermes", audit=True).parse('Hello <tool_call>{"name": "f", "arguments": {}}</tool_call>')
    assert "".join(text for _, text in audits) == "".join(text for _, text in whole.audit)
    joined: list[list[str]] = []
    for fate, text in audits:
        if joined and joined[-1][0] == fate:
            joined[-1][1] += text
        else:
            joined.append([fate, text])
    assert joined == [list(item) for item in whole.audit]


def test_an_audit_without_a_message_is_not_kept() -> None:
    def feed(parser: Any) -> None:
        for _ in range(20_000):
            parser.parse_chunk("some words, and more\n")

    assert kept_by(lambda: Parser("hermes", audit=True, keep_message=False), feed) < KEPT
