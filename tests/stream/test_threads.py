"""What threads share, and what one thread has for itself; with the GIL and without it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import subprocess
import sys
import sysconfig
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
import unspool
from unspool import (
    ArgumentReader,
    Delta,
    DeltaChannel,
    Detokenizer,
    Parser,
    StreamBatch,
    TokenStreamer,
    Vocabulary,
    WireWriter,
)
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.tool_schemas import compile_tools
from unspool.errors import ArgumentError, ChannelClosedError, StreamError
from unspool.streams.parse_batch import BatchParser

from ..outputs import TOOLS

T = TypeVar("T")
# Bytes are ids here.
BYTES = Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich", "days": [1, 2]}}\n</tool_call>'
TEXT = f"<think>\nWhere? Zürich.\n</think>\n\nI look.\n{CALL}\n{CALL}"
X = ord("x")
COUNT = 8
IS_FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
# Without the GIL threads meet where they run at the same time; with it, only where one lets go of it.
ROUNDS = 10 if IS_FREE else 1


@pytest.fixture(autouse=True)
def _often_another_thread() -> Iterator[None]:
    """With the GIL, threads take turns often enough to meet inside a call."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def in_threads(*works: Callable[[int], Any]) -> list[Any]:
    """What each of eight threads made of its work, which gets its number; they begin together."""
    barrier = threading.Barrier(COUNT)
    results: list[Any] = [None] * COUNT
    errors: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait(30)
        try:
            results[number] = works[number % len(works)](number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
    return results


def when_free(call: Callable[[], T]) -> T:
    """What the call returns once its batch is in no other thread's step."""
    while True:
        try:
            return call()
        except StreamError as error:
            if "in a step" not in str(error):
                raise
            time.sleep(1e-4)


def content(message: unspool.Message) -> tuple[Any, ...]:
    return message.content, message.reasoning, message.tool_calls, message.finish_reason


@pytest.mark.skipif(not IS_FREE, reason="this interpreter has the GIL")
def test_the_import_does_not_bring_the_gil_back() -> None:
    code = "import sys, unspool._core; print(sys._is_gil_enabled())"
    env = {key: value for key, value in os.environ.items() if key != "PYTHON_GIL"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_streams_share_what_no_output_changes() -> None:
    format, tools = compile_format("qwen3", vocabulary=BYTES), compile_tools(TOOLS)

    def run(_: int) -> list[unspool.Message]:
        messages = []
        for _ in range(5 * ROUNDS):
            streamer = TokenStreamer(BYTES, format, tools, id_seed=3, audit=True)
            for id in TEXT.encode():
                streamer.put(id)
            messages.append(streamer.finish())
        return messages

    alone = run(0)[0]
    assert len(alone.tool_calls) == 2
    for messages in in_threads(run):
        for message in messages:
            assert (content(message), message.audit) == (content(alone), alone.audit)


def test_a_stream_takes_ids_from_one_thread_at_a_time() -> None:
    streamer = TokenStreamer(BYTES, "hermes", keep_message=True)

    def feed(_: int) -> int:
        accepted = 0
        for _ in range(2000 * ROUNDS):
            with contextlib.suppress(StreamError):
                streamer.put(X)
                accepted += 1
        return accepted

    def look(_: int) -> int:
        for _ in range(300 * ROUNDS):
            assert set(streamer.message.content) <= {"x"}
            assert streamer.region == "content"
            assert streamer.held == (b"", "none")
            assert not streamer.is_finished
        return 0

    accepted = sum(in_threads(feed, feed, feed, look))
    assert streamer.token_count == accepted > 0
    assert streamer.finish().content == "x" * accepted


def test_long_chunks_for_one_stream() -> None:
    """One that takes long is read without the GIL: another thread is refused, to feed and to look."""
    parser, chunk = Parser("hermes"), "x" * (1 << 18)

    def feed(_: int) -> int:
        accepted = 0
        for _ in range(20):
            with contextlib.suppress(StreamError):
                parser.parse_chunk(chunk)
                accepted += 1
        return accepted

    def look(_: int) -> int:
        for _ in range(20):
            with contextlib.suppress(StreamError):
                assert len(parser.message.content) % len(chunk) == 0
        return 0

    accepted = sum(in_threads(feed, look))
    assert len(parser.finish().content) == accepted * len(chunk) > 0


def test_messages_that_python_helps_to_make() -> None:
    """Labels and repaired calls: another thread feeds the stream while their Python code runs."""
    streamer = TokenStreamer(BYTES, "hermes", TOOLS, labels=True, repair=True, id_seed=3)
    call = CALL.replace('"city"', "'city'").encode()

    def feed(_: int) -> None:
        for id in call * 4:
            streamer.put(id)

    def look(_: int) -> None:
        for _ in range(200):
            with contextlib.suppress(StreamError):
                message = streamer.message
                assert {call.name for call in message.tool_calls} <= {"get_weather"}
                assert len(message.labels or ()) <= len(call) * 4
                assert len(streamer.labels()) <= len(call) * 4

    threads = [threading.Thread(target=look, args=(0,), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    feed(0)
    for thread in threads:
        thread.join(60)
    message = streamer.finish()
    assert [call.name for call in message.tool_calls] == ["get_weather"] * 4
    assert message.labels is not None
    assert len(message.labels) == len(call) * 4


def test_forks_of_one_stream() -> None:
    head, tail = list(TEXT.encode()[:40]), list(TEXT.encode()[40:])
    source = TokenStreamer(BYTES, "qwen3", TOOLS, id_seed=3)
    source.put(head)

    def run(_: int) -> list[unspool.Message]:
        messages = []
        for _ in range(20 * ROUNDS):
            copy = source.fork()
            copy.put(tail)
            messages.append(copy.finish())
        return messages

    alone = run(0)[0]
    assert all(content(message) == content(alone) for messages in in_threads(run) for message in messages)


def test_forks_of_a_stream_that_is_fed() -> None:
    source = TokenStreamer(BYTES, "hermes")

    def feed(_: int) -> None:
        for _ in range(100 * ROUNDS):
            source.put([X] * 20)

    def fork(_: int) -> None:
        for _ in range(20 * ROUNDS):
            copy = source.fork()
            count = copy.token_count
            copy.put(X)
            assert copy.finish().content == "x" * (count + 1)

    in_threads(feed, fork)
    assert source.token_count == 8000 * ROUNDS


def test_a_detokenizer_in_many_threads() -> None:
    detokenizer = Detokenizer(BYTES)

    def run(_: int) -> int:
        size = 0
        for _ in range(1000 * ROUNDS):
            size += len(detokenizer.put([X, X, X]))
            assert not detokenizer.is_stopped
            detokenizer.fork().end()
        return size

    assert in_threads(run) == [3000 * ROUNDS] * COUNT
    assert detokenizer.end() == ""


def test_a_batch_in_many_threads() -> None:
    batch = StreamBatch(BYTES, "hermes", rollback_window=2)
    writer = WireWriter("chat_completions", model="m", n=2)
    writer.begin()
    shared = [batch.add(writer=writer, choice=choice) for choice in range(2)]
    own = [batch.add() for _ in range(1100)]  # enough for a step that releases the GIL

    def step(number: int) -> int:
        accepted = 0
        slots = [*shared, *own] if number % 2 else shared
        for _ in range((10 if number % 2 else 400) * ROUNDS):
            with contextlib.suppress(StreamError):
                result = batch.step(slots, [X] * len(slots))
                accepted += 1
                assert result.sse(shared[0]).count(b"data: ") == 1
                assert [
                    delta.text for slot in own[:3] if slot in result for delta in result.deltas(slot)
                ] in (
                    [],
                    ["x"] * 3,
                )
        return accepted

    def come_and_go(_: int) -> int:
        for _ in range(50 * ROUNDS):
            writer = WireWriter("messages", model="m")
            slot = when_free(partial(batch.add, writer=writer, deltas=True))
            when_free(partial(batch.finish, slot))
            assert when_free(partial(batch.message, slot)).finish_reason == "stop"
            when_free(partial(batch.remove, slot))
        return 0

    def fork(_: int) -> int:
        for _ in range(50 * ROUNDS):
            copy = when_free(partial(batch.fork, own[0], deltas=True))
            when_free(partial(batch.step, [copy], [X, X], [0, 2]))
            when_free(partial(batch.rollback, copy, 1))
            count = when_free(partial(batch.token_count, copy))
            when_free(partial(batch.finish, copy))
            assert when_free(partial(batch.message, copy)).content == "x" * count
            when_free(partial(batch.remove, copy))
        return 0

    def keep_alive(_: int) -> int:
        for _ in range(400 * ROUNDS):
            with contextlib.suppress(StreamError):
                assert writer.keep_alive().startswith(b":")
                assert (writer.has_begun, writer.has_ended) == (True, False)
        return 0

    accepted = sum(in_threads(step, step, come_and_go, keep_alive, fork))
    assert [batch.token_count(slot) for slot in shared] == [accepted] * 2
    assert accepted > 0
    assert len(batch) == len(shared) + len(own)


def test_short_steps_refuse_no_thread() -> None:
    """They wait for each other, and so do those who come and go."""
    batch = StreamBatch(BYTES, "hermes")

    def run(_: int) -> None:
        for _ in range(50 * ROUNDS):
            slot = batch.add()
            batch.step([slot], [X] * 500, [0, 500])
            assert batch.token_count(slot) == 500
            batch.remove(slot)

    in_threads(run)
    assert len(batch) == 0


def test_a_writer_in_many_threads() -> None:
    writer = WireWriter("chat_completions", model="m")
    deltas = [Delta("content", text="y")] * 100

    def run(_: int) -> None:
        for _ in range(50 * ROUNDS):
            assert b'"' + b"y" * 100 + b'"' in writer.write(deltas)

    in_threads(run)


def test_a_writer_that_changes_hands() -> None:
    """Two batches take a writer in turn; whoever has it, each use of it is whole."""
    batches = [StreamBatch(BYTES, "hermes") for _ in range(2)]
    writer = WireWriter("chat_completions", model="m", n=10_000)
    numbers = iter(range(10_000))
    lock = threading.Lock()

    def lend(number: int) -> None:
        for _ in range(100 * ROUNDS):
            with lock:
                choice = next(numbers)
            with contextlib.suppress(StreamError):
                slot = batches[number % 2].add(writer=writer, choice=choice)
                assert b"x" in batches[number % 2].step([slot], [X]).sse(slot)
                batches[number % 2].remove(slot)

    def use(_: int) -> None:
        for _ in range(300 * ROUNDS):
            with contextlib.suppress(StreamError):
                assert writer.keep_alive().startswith(b":")
            with contextlib.suppress(StreamError):
                assert b"y" in writer.write(Delta("content", text="y", choice=0))

    in_threads(lend, use, lend, lend)
    assert b"y" in writer.write([Delta("content", text="y")])


def test_a_channel_of_many_producers_and_consumers() -> None:
    channel = DeltaChannel(maxsize=3)
    left = iter(range(COUNT // 2))
    lock = threading.Lock()

    def produce(number: int) -> list[str]:
        made = [Delta("content", text=f"{number}.{i}") for i in range(300)]
        for delta in made[:150]:
            channel.put(delta)
        channel.put_many(made[150:])
        with lock:
            is_last = next(left) == COUNT // 2 - 1
        if is_last:
            channel.close()
        return []

    def consume(number: int) -> list[str]:
        if number == 1:
            return [delta.text for delta in channel]
        if number == 3:
            return asyncio.run(consume_async(), debug=False)
        texts = []
        while (delta := channel.get()) is not None:
            texts.append(delta.text)
            texts += [delta.text for delta in channel.drain()]
        return texts

    async def consume_async() -> list[str]:
        return [delta.text async for delta in channel]

    got = Counter(text for texts in in_threads(produce, consume) for text in texts)
    assert got == Counter(f"{number}.{i}" for number in range(0, COUNT, 2) for i in range(300))


def test_a_channel_wakes_event_loops() -> None:
    """A producer may put between the look into the channel and the wait: no wake-up is lost."""

    def run(_: int) -> int:
        channel = DeltaChannel()

        def produce() -> None:
            for i in range(200):
                channel.put(Delta("content", text=str(i)))
            channel.close()

        async def consume() -> int:
            threading.Thread(target=produce, daemon=True).start()
            count = 0
            while await channel.aget(timeout=30) is not None:
                count += 1
            return count

        return asyncio.run(consume())

    assert in_threads(run) == [200] * COUNT


def test_a_channel_fails_with_one_error() -> None:
    for _ in range(5 * ROUNDS):
        channel = DeltaChannel()
        errors = [ValueError(str(number)) for number in range(COUNT)]

        def run(number: int, channel: DeltaChannel = channel, errors: list[ValueError] = errors) -> str:
            if number % 2:
                channel.fail(errors[number])
            with pytest.raises(ValueError, match=r"^\d$") as raised:
                channel.get(timeout=30)
            return str(raised.value)

        assert len(set(in_threads(run))) == 1
        with pytest.raises(ChannelClosedError):
            channel.put(Delta("content", text="x"))


def test_one_batch_parser() -> None:
    parser = BatchParser("hermes", TOOLS, tokenizer=BYTES, threads=2, id_seed=3)
    outputs = [CALL, list(CALL.encode()), "Hello.", f"I look. {CALL}"] * 20
    alone = [content(message) for message in parser.parse(outputs)]

    def run(_: int) -> list[Any]:
        return [[content(message) for message in parser.parse(outputs)] for _ in range(ROUNDS)]

    assert in_threads(run) == [[alone] * ROUNDS] * COUNT


def test_formats_are_compiled_and_registered_at_once(tmp_path: Path) -> None:
    names = ["hermes", "qwen3", "qwen3_coder", "llama3_json", "pythonic", "openai", "mistral"]
    file = 'name = "{}"\ncall = "<go>${{object}}</go>"\n'

    def run(number: int) -> None:
        vocabulary = Vocabulary({"a": 0}, [(1, "<tool_call>", "<tool_call>", True)])
        for i in range(10):
            for name in names:
                assert compile_format(name).name == name
                assert compile_format(name, vocabulary=BYTES, tool_choice=f"f{i}").name == name
                assert compile_format(name, vocabulary=vocabulary).name == name
            mine = tmp_path / f"mine_{number}_{i}.toml"
            mine.write_text(file.format(mine.stem))
            assert unspool.register_format(mine) is unspool.get_format(mine.stem)
            assert mine.stem in {format.name for format in unspool.formats()}
            assert unspool.parse(CALL, "hermes").tool_calls[0].name == "get_weather"

    in_threads(run)
    assert len({format.name for format in unspool.formats() if format.name.startswith("mine_")}) == COUNT * 10


def test_deltas_are_read_by_all() -> None:
    message = unspool.parse(TEXT, "qwen3", TOOLS, id_seed=3, tokenizer=BYTES)
    names = ("kind", "text", "index", "choice", "id", "name", "status", "finish_reason", "token_ids", "json")

    def values(delta: Delta) -> tuple[Any, ...]:
        return tuple(getattr(delta, name) for name in names), delta.to_openai(), repr(delta)

    alone = [values(delta) for delta in message.deltas]

    def run(_: int) -> None:
        for _ in range(20 * ROUNDS):
            reader = ArgumentReader()
            for delta, expected in zip(message.deltas, alone, strict=True):
                assert values(delta) == expected
                assert delta == pickle.loads(pickle.dumps(delta))
            assert reader.put(message.deltas)

    in_threads(run)


def test_a_reader_of_arguments_in_many_threads() -> None:
    deltas, reader = unspool.parse(TEXT, "qwen3", TOOLS, id_seed=3).deltas, ArgumentReader()
    alone = [repr(event) for event in reader.put(deltas)]
    assert len(alone) > 4

    def run(_: int) -> None:
        for _ in range(50 * ROUNDS):
            assert [repr(event) for event in reader.put(deltas)] == alone

    in_threads(run)


def test_lists_that_another_thread_changes() -> None:
    ids, deltas = [X] * 100, [Delta("content", text="x")] * 100

    def change(_: int) -> None:
        for _ in range(200 * ROUNDS):
            ids.clear()
            deltas.clear()
            ids.extend([X] * 100)
            deltas.extend(Delta("content", text="x") for _ in range(100))

    def read(_: int) -> None:
        streamer, detokenizer = TokenStreamer(BYTES, "hermes"), Detokenizer(BYTES)
        writer = WireWriter("chat_completions", model="m")
        batch = StreamBatch(BYTES, "hermes")
        slot = batch.add()
        for _ in range(100 * ROUNDS):
            assert {letter for delta in streamer.put(ids) for letter in delta.text} <= {"x"}
            assert set(detokenizer.put(ids)) <= {"x"}
            assert writer.write(deltas).count(b"data: ") <= 2  # the role comes first
            with contextlib.suppress(ArgumentError):  # the offsets are of another length by now
                batch.step([slot], ids, [0, len(ids)])
        assert set(streamer.finish().content) <= {"x"}

    in_threads(change, read, read, read)
