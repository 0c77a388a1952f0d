"""A batch gives what `parse` gives one by one, in any shape of input, and lets the interpreter run."""

from __future__ import annotations

import dataclasses
import gc
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
import unspool
from hypothesis import given, settings
from hypothesis import strategies as st
from unspool import Message, parse, parse_batch
from unspool.errors import ArgumentError
from unspool.testing.cases import shipped_cases

from ..outputs import TOOLS, outputs

CALL = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'


def without_deltas(message: Message) -> Message:
    return dataclasses.replace(message, deltas=())


FORMATS = [file.name for file in unspool.formats()]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=20)  # each reads up to seven outputs three times
@given(data=st.data())
def test_a_batch_is_each_alone(format: str, data: st.DataObject) -> None:
    """Texts, cut-off and random ones too, some as bytes that need not be UTF-8."""
    texts: list[Any] = data.draw(st.lists(outputs(format), max_size=5))
    texts += data.draw(st.lists(st.binary(max_size=20), max_size=2))
    count = len(texts)
    reasons = data.draw(
        st.lists(st.sampled_from(["stop", "length", "error"]), min_size=count, max_size=count)
    )
    options = {
        "id_seed": 3,
        "audit": data.draw(st.booleans()),
        "repair": data.draw(st.booleans()),
        "parallel_tool_calls": data.draw(st.booleans()),
    }
    alone = [
        parse(text, format, TOOLS, finish_reason=reason, **options)
        for text, reason in zip(texts, reasons, strict=True)
    ]
    for threads in (1, 2):
        batch = parse_batch(texts, format, TOOLS, finish_reason=reasons, threads=threads, **options)
        assert batch == list(map(without_deltas, alone))


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", FORMATS)
def test_every_case(name: str) -> None:
    for case in shipped_cases(name):
        options = {"finish_reason": case.finish_reason, **case.options}
        first, second = parse_batch([case.input, case.input.encode()], name, case.tools, **options)
        assert case.differences(first) == {}, str(case)
        assert case.differences(second) == {}, str(case)


def ids_of(tokenizer: Any) -> list[list[int]]:
    return [tokenizer.encode(text) for text in ("Hello", CALL, "größer 世界", "", "<think>so</think>" + CALL)]


@pytest.mark.parametrize("threads", [1, 3])
def test_ids(deepseek: Any, threads: int) -> None:
    rows = ids_of(deepseek) * 50
    options = {"tokenizer": deepseek.tokenizer, "id_seed": 3}
    alone = [without_deltas(parse(ids, "qwen3", **options)) for ids in rows]
    assert parse_batch(rows, "qwen3", threads=threads, **options) == alone
    assert alone[1].tool_calls[0].name == "now"
    assert alone[1].token_counts.tool_calls > 0


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("trust", ["id", "text"])
def test_ids_of_every_format(name: str, trust: Any, deepseek: Any) -> None:
    """Ids that are read together give what they give one by one, their counts by region too."""
    rows = [deepseek.encode(case.input) for case in shipped_cases(name)]
    options = {"tokenizer": deepseek.tokenizer, "id_seed": 3, "trust": trust}
    alone = [without_deltas(parse(ids, name, TOOLS, **options)) for ids in rows]
    assert parse_batch(rows, name, TOOLS, **options) == alone


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=8)
@given(data=st.data())
def test_random_ids_of_every_format(name: str, deepseek: Any, data: st.DataObject) -> None:
    rows = [deepseek.encode(data.draw(outputs(name)))]
    options = {
        "tokenizer": deepseek.tokenizer,
        "id_seed": 3,
        "repair": data.draw(st.booleans()),
        "stop": data.draw(st.sampled_from([(), ("e",), ("</",)])),
        "stop_in": data.draw(st.sampled_from(["everywhere", "content"])),
    }
    alone = [without_deltas(parse(ids, name, TOOLS, **options)) for ids in rows]
    assert parse_batch(rows, name, TOOLS, **options) == alone


def test_ids_in_every_shape(deepseek: Any) -> None:
    rows = [ids for ids in ids_of(deepseek) if ids]
    expected = parse_batch(rows, "hermes", tokenizer=deepseek.tokenizer, id_seed=3)
    width = min(map(len, rows))
    shapes: list[Any] = [
        tuple(map(tuple, rows)),
        (row for row in rows),
        [np.array(row, dtype=np.int32) for row in rows],
        np.array([np.array(row) for row in rows], dtype=object),
        [memoryview(np.array(row)) for row in rows],
    ]
    for shape in shapes:
        assert parse_batch(shape, "hermes", tokenizer=deepseek.tokenizer, id_seed=3) == expected
    table = np.array([row[:width] for row in rows])
    assert parse_batch(table, "hermes", tokenizer=deepseek.tokenizer, id_seed=3) == parse_batch(
        table.tolist(), "hermes", tokenizer=deepseek.tokenizer, id_seed=3
    )


def test_texts_in_every_shape() -> None:
    texts = ["Hello", CALL, ""]
    expected = parse_batch(texts, "hermes", id_seed=3)
    shapes: list[Any] = [
        iter(texts),
        np.array(texts),
        [text.encode() for text in texts],
        [bytearray(text.encode()) for text in texts],
        [memoryview(text.encode()) for text in texts],
    ]
    for shape in shapes:
        assert parse_batch(shape, "hermes", id_seed=3) == expected


def test_columns_of_pyarrow(deepseek: Any) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    texts = ["Hello", CALL, "", "größer"]
    expected = parse_batch(texts, "hermes", id_seed=3)
    for column in (
        arrow.array(texts),
        arrow.array(texts, arrow.large_string()),
        arrow.array([text.encode() for text in texts]),
        arrow.chunked_array([texts[:1], texts[1:]]),
    ):
        assert parse_batch(column, "hermes", id_seed=3) == expected
    rows = ids_of(deepseek)
    expected = parse_batch(rows, "hermes", tokenizer=deepseek.tokenizer, id_seed=3)
    for type in (arrow.list_(arrow.int64()), arrow.list_(arrow.int32()), arrow.large_list(arrow.uint32())):
        column = arrow.array([[1], *rows, [2]], type).slice(1, len(rows))
        assert parse_batch(column, "hermes", tokenizer=deepseek.tokenizer, id_seed=3) == expected
    views = arrow.array(rows, arrow.list_view(arrow.int64())) if hasattr(arrow, "list_view") else rows
    assert parse_batch(views, "hermes", tokenizer=deepseek.tokenizer, id_seed=3) == expected
    chunks = arrow.chunked_array([rows[:2], rows[2:]])
    assert parse_batch(chunks, "hermes", tokenizer=deepseek.tokenizer, id_seed=3) == expected
    with pytest.raises(TypeError, match=r"outputs\[1\]: it is of type NoneType"):
        parse_batch(arrow.array(["a", None]), "hermes")


def test_options_hold_for_all() -> None:
    plain, called = parse_batch(["so</think>\nyes", "so</think>" + CALL], "deepseek_r1", prompt="<think>\n")
    assert (plain.reasoning, plain.content) == ("so", "yes")
    assert called.reasoning == "so"
    (message,) = parse_batch([CALL], "hermes", tool_choice="none")
    assert (message.content, message.tool_calls) == (CALL, ())
    assert parse_batch(["<think>a</think>b"], "qwen3", reasoning_field="reasoning")[0].to_openai() == {
        "role": "assistant", "content": "b", "reasoning": "a",
    }  # fmt: skip
    assert parse_batch([], "hermes") == []


def test_an_empty_prompt_is_one() -> None:
    for format in FORMATS:
        assert parse_batch(["a"], format, prompt="") == [without_deltas(parse("a", format, prompt=""))]


def test_ids_of_calls_differ() -> None:
    messages = parse_batch([CALL] * 500, "hermes", threads=2)
    assert len({message.tool_calls[0].id for message in messages}) == 500


def test_messages_are_like_those_of_python() -> None:
    """The native core fills the dataclasses: each of its fields, and nothing else."""
    text = "a" + CALL + "<tool_call>{broken</tool_call>"
    message = parse_batch([text], "hermes", repair=True)[0]
    call, malformed = message.tool_calls[0], message.malformed
    for record in (message, call, *malformed, message.token_counts):
        names = [field.name for field in dataclasses.fields(record)]
        assert [name for name in vars(record) if name != "schema"] == names
        again = type(record)(**{name: getattr(record, name) for name in names})
        assert again == record
        assert repr(again) == repr(record)
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.content = "b"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("outputs", "options", "error", "words"),
    [
        ("Hello", {}, TypeError, "outputs is of type str; pass a list"),
        (b"Hello", {}, TypeError, "outputs is of type bytes"),
        ({"a": 1}, {}, TypeError, "outputs is of type dict"),
        ({"a"}, {}, TypeError, "outputs is of type set"),
        (None, {}, TypeError, "outputs is of type NoneType"),
        (np.array("a"), {}, TypeError, "outputs is a single value"),
        (["a", 1], {}, TypeError, r"outputs\[1\]: it is of type int"),
        (["a", None], {}, TypeError, r"outputs\[1\]: it is of type NoneType"),
        (["a", 1.5], {}, TypeError, r"outputs\[1\]: it is of type float"),
        ([[1, "a"]], {}, TypeError, r"outputs\[0\]: a token id is of type str"),
        ([[1], [-1]], {}, ArgumentError, r"outputs\[1\]: token id -1 is negative"),
        (["a", "\ud800"], {}, ArgumentError, r"outputs\[1\]: text has a lone surrogate"),
        (["a", [1]], {}, ArgumentError, r"outputs\[1\]: token ids need a tokenizer"),
        (["a"], {"threads": 0}, ArgumentError, "threads is 0; pass 1 or more"),
        (["a"], {"threads": True}, ArgumentError, "threads is True"),
        (["a"], {"threads": 1.5}, TypeError, "float"),
        (["a"], {"finish_reason": "done"}, ArgumentError, "finish_reason is 'done'"),
        (["a"], {"finish_reason": ["stop", "stop"]}, ArgumentError, "has 2 items for 1 outputs"),
        (["a"], {"finish_reason": ["done"]}, ArgumentError, "finish_reason is 'done'"),
        (["a"], {"finish_reason": None}, TypeError, "finish_reason is of type NoneType"),
        (["a"], {"start_in": "tools"}, ArgumentError, "start_in is 'tools'"),
        (["a"], {"color": "red"}, TypeError, "color"),
    ],
)
def test_bad_arguments(outputs: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        parse_batch(outputs, "hermes", **options)


def test_ids_that_the_tokenizer_refuses(tekken: Any) -> None:
    with pytest.raises(ArgumentError, match=r"outputs\[1\]: .*99999999"):
        parse_batch([[1], [99999999]], "mistral", tokenizer=tekken.tokenizer)


@pytest.mark.parametrize("outputs", [["a" * 4_000_000 + CALL] * 12, [CALL] * 100_000], ids=["long", "many"])
def test_the_interpreter_runs_meanwhile(outputs: list[str]) -> None:
    """Another thread gets its turns while a batch is read, and while its messages are made.

    On a busy machine a turn may be late all the same; the fifth time is no accident.
    """
    gc.disable()  # going through what all tests before have left takes longer than the batch
    try:
        measured = [_measure_turns(outputs) for _ in range(5)]
    finally:
        gc.enable()
    assert all(turns > 5 for turns, _, _ in measured)
    assert any(longest_s < took_s / 2 for _, longest_s, took_s in measured), measured


def test_the_garbage_collector_is_as_it_was() -> None:
    assert gc.isenabled()
    parse_batch([CALL] * 1000, "hermes")
    assert gc.isenabled()
    gc.disable()
    try:
        parse_batch([CALL], "hermes")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_runs_in_python_sees_the_garbage_collector_on() -> None:
    """It may let other threads and signal handlers run, which may turn the collector on or off themselves."""
    fields = {
        "content": {"open": "<c>", "close": "</c>"},
        "score": {"open": "<s>", "close": "</s>", "content": "int"},
    }
    template = unspool.Format.from_response_template({"start_anchor": "<a>", "fields": fields})
    seen: set[tuple[str, bool]] = set()

    def look(frame: Any, *_: Any) -> None:
        seen.add((frame.f_code.co_name, gc.isenabled()))

    sys.setprofile(look)
    try:
        noted = parse_batch(["<s>4</s>"], template)
    finally:
        sys.setprofile(None)
    assert noted[0].extra == {"score": 4}
    assert ("loads", True) in seen
    assert all(is_enabled for _, is_enabled in seen)


def _measure_turns(outputs: list[str]) -> tuple[int, float, float]:
    """How many turns another thread had, the longest time without one, and the time in all, in seconds."""
    longest_s, turns = 0.0, 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal longest_s, turns
        last = time.perf_counter()
        while not stop.is_set():
            time.sleep(0.0005)
            now = time.perf_counter()
            longest_s, last, turns = max(longest_s, now - last), now, turns + 1

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin_s = time.perf_counter()
    messages = parse_batch(outputs, "hermes")
    took_s = time.perf_counter() - begin_s
    stop.set()
    ticker.join()
    assert len(messages) == len(outputs)
    return turns, longest_s, took_s
