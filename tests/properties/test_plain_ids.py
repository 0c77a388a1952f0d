"""An id that passes by leaves the deltas and the message of one that the parser reads.

A stream with an audit has no plain ids, so it is the measure. With the variable UNSPOOL_READ_BOTH_WAYS, as in a step of
CI, each plain id of any test is read in both ways, and the whole state is compared.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from unspool import Delta, Message, StreamBatch, TokenStreamer, Vocabulary, WireWriter, parse_batch
from unspool.testing import shipped_cases
from unspool.testing.cases import Case

from .label_tokens import Tokens, cut

pytestmark = pytest.mark.filterwarnings("ignore:the content has")

#: What stands before a case's output, or not: text with all that may mean something somewhere.
TEXT = 'Some words, a line.\nAnd "more" of it: a < b\n\n  \\indented\u2028 `text` é\n'
OPTIONS: list[dict[str, Any]] = [
    {},
    {},
    {"white_space": "trim"},
    {"stop": ["Paris!", "\nUser"]},
    {"stop": ["z"], "stop_in": "everywhere"},
    {"unknown_tools": "content"},
    {"repair": True},
    {"max_argument_bytes": 20},
    {"also": "any"},
    {"incomplete_calls": "withhold"},
    {"start_in": "reasoning"},
]
PROTOCOLS = ["chat_completions", "completions", "responses", "messages", "open_inference", "google"]
FORMATS = sorted({case.format for case in shipped_cases()})


def options_of(case: Case, **options: Any) -> dict[str, Any]:
    tools = None if case.tools is None else list(case.tools)
    return {"tools": tools, "id_seed": 5, **case.options, **options}


def read(tokens: Tokens, case: Case, **options: Any) -> tuple[list[Delta], Message]:
    stream = TokenStreamer(tokens.vocabulary, case.format, **options_of(case, **options))
    deltas = [delta for id in tokens.ids for delta in stream.put(id)]
    return deltas, stream.finish(case.finish_reason)


def parts(message: Message) -> tuple[Any, ...]:
    return message.content, message.reasoning, message.tool_calls, message.malformed, message.token_counts


def drawn(format: str) -> list[tuple[Tokens, Case, dict[str, Any], str]]:
    """Each case with tokens, options and a protocol that are drawn."""
    draw = random.Random(format)
    sizes = [1, 1, 2, 3, 4, 6, 9]
    return [
        (
            cut(format, draw.choice(["", TEXT]) + case.input, lambda: draw.choice(sizes)),
            case,
            draw.choice(OPTIONS),
            draw.choice(PROTOCOLS),
        )
        for case in shipped_cases(format)
    ]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
def test_deltas_and_message_are_those_of_ids_that_are_read(format: str) -> None:
    for tokens, case, options, _ in drawn(format):
        deltas, message = read(tokens, case, **options)
        expected, whole = read(tokens, case, **options, audit=True)
        assert deltas == expected, (case.name, options)
        assert parts(message) == parts(whole), (case.name, options)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
def test_a_whole_output_has_the_message_of_a_stream(format: str) -> None:
    for tokens, case, options, _ in drawn(format):
        if options.keys() & {"incomplete_calls"}:
            continue  # of deltas
        given = options_of(case, **options)
        (whole,) = parse_batch(
            [tokens.ids], case.format, finish_reason=case.finish_reason, tokenizer=tokens.vocabulary, **given
        )
        assert parts(whole) == parts(read(tokens, case, **options)[1]), (case.name, options)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
def test_a_batch_writes_what_a_writer_makes_of_the_deltas(format: str) -> None:
    for tokens, case, _, protocol in drawn(format):
        writer, alone = (WireWriter(protocol, model="m", id="x", created=1) for _ in range(2))
        batch = StreamBatch(tokens.vocabulary, case.format)
        slot = batch.add(writer=writer, **options_of(case))
        stream = TokenStreamer(tokens.vocabulary, case.format, **options_of(case, audit=True))
        for id in tokens.ids:
            expected = alone.write(stream.put(id))
            assert batch.step([slot], [id]).sse(slot) == expected, (case.name, protocol)


def test_an_id_with_a_held_line_break_has_the_ids_of_both() -> None:
    vocabulary = Vocabulary({b"a": 0, b"b c": 1, b".\n": 2, b"\n": 3}, [], is_bytes=True)
    stream = TokenStreamer(vocabulary, "hermes")
    deltas = [delta for id in [0, 1, 2, 1, 3, 1] for delta in stream.put(id)]
    assert [delta.text for delta in deltas] == ["a", "b c", ".", "\nb c", "\nb c"]
    assert [delta.token_ids for delta in deltas] == [(0,), (1,), (2,), (1,), (3, 1)]


@pytest.mark.parametrize(
    ("format", "begin", "share"),
    [
        ("hermes", "", 0.9),
        ("qwen3", "<think>\n", 0.9),
        ("hermes", '<tool_call>\n{"name": "write", "arguments": {"text": "', 0.9),
        ("qwen3_coder", "<tool_call>\n<function=write>\n<parameter=text>\n", 0.75),
    ],
)
def test_most_of_a_text_passes_by(format: str, begin: str, share: float) -> None:
    """The tests above compare two ways: here is the second one."""
    text = "".join(f"Line {number} of a text, with some words.\n" for number in range(40))
    tokens = cut(format, begin + (text.replace("\n", "\\n") if '"' in begin else text), lambda: 4)
    stream = TokenStreamer(tokens.vocabulary, format)
    passed = 0
    for id in tokens.ids:
        passed += stream._passes_by(id)
        stream.put(id)
    assert passed / len(tokens.ids) > share
