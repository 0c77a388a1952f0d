"""Arguments whose own Python code changes them while they are read."""

from __future__ import annotations

import array
import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import unspool
from unspool import Delta, DeltaChannel, Parser, StreamBatch, StreamError, Vocabulary, WireWriter
from unspool.streams.parse_batch import parse_batch


class Id:
    """An int-like whose `__index__` runs `act` first."""

    def __init__(self, act: Callable[[], Any], value: int = 1) -> None:
        self._act, self._value = act, value

    def __index__(self) -> int:
        self._act()
        return self._value


def vocabulary() -> Vocabulary:
    return Vocabulary({"a": 0, "b": 1, "c": 2}, [])


def clearing(size: int = 50) -> list[Any]:
    ids: list[Any] = []

    def act() -> None:
        ids.clear()
        ids.extend(object() for _ in range(3))
        ids.clear()

    ids.extend(Id(act) for _ in range(size))
    return ids


def parser(**options: Any) -> Parser:
    return Parser("hermes", tokenizer=vocabulary(), **options)


@pytest.mark.parametrize("first", [[], [0, 1, 2]])
def test_a_list_that_is_cleared_is_read_as_it_was(first: list[int]) -> None:
    ids = clearing()
    ids[:0] = first
    with_text = parser()
    with_text.parse_chunk(tokens=ids)
    assert with_text.token_count == 50 + len(first)


def test_every_reader_of_ids() -> None:
    uses: list[Callable[[Any], Any]] = [
        lambda ids: unspool.TokenStreamer(vocabulary(), "hermes").put(ids),
        lambda ids: unspool.Detokenizer(vocabulary()).put(ids),
        lambda ids: unspool.Detokenizer(vocabulary(), context=ids),
        lambda ids: parser(prompt=ids),
        lambda ids: Delta("content", text="x", token_ids=ids),
        lambda ids: parse_batch([ids, clearing()], "hermes", tokenizer=vocabulary()),
        lambda ids: Vocabulary({"a": 0}, [(id, "x", "x", False) for id in ids]),
        lambda ids: unspool.TokenStreamer(vocabulary(), "hermes", skip_prompt=True).put(ids),
    ]
    for use in uses:
        use(clearing())
        use(tuple(clearing()))


def test_growing_and_deleting() -> None:
    ids: list[Any] = []

    def act() -> None:
        ids.extend([2] * 10_000)
        del ids[:5]

    ids.extend(Id(act) for _ in range(20))
    one = parser()
    one.parse_chunk(tokens=ids)
    assert one.token_count == 20


def test_an_id_that_feeds_the_same_stream() -> None:
    one = parser()
    with pytest.raises(StreamError, match="in use"):
        one.parse_chunk(tokens=[Id(lambda: one.parse_chunk(tokens=[1]))])
    assert one.parse_chunk(tokens=[1])

    detokenizer = unspool.Detokenizer(vocabulary())
    inner: list[str] = []
    assert detokenizer.put([Id(lambda: inner.append(detokenizer.put([2, 2])), 0)]) == "a"
    assert inner == ["cc"]
    with pytest.raises(StreamError, match="ended"):
        detokenizer.put([Id(detokenizer.end)])


def test_an_id_that_raises_leaves_the_stream_as_it_was() -> None:
    def fail() -> None:
        raise KeyError("no")

    one = parser()
    with pytest.raises(KeyError):
        one.parse_chunk(tokens=[1, Id(fail)])
    assert one.token_count == 0


def test_a_vocabulary_that_changes() -> None:
    tokens: dict[str, Any] = {}
    tokens.update({f"t{i}": Id(tokens.clear, i) for i in range(100)})
    added: list[Any] = []
    added.extend((Id(added.clear, 200 + i), "x", "x", False) for i in range(20))
    assert Vocabulary(tokens, added).token_bytes(99) == b"t99"


class Counts(Mapping[str, Any]):
    """A mapping that is cleared while its items are asked for."""

    def __init__(self) -> None:
        self.data = {f"m{i}": i for i in range(30)}

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        keys = list(self.data)
        yield from keys

    def __len__(self) -> int:
        return len(self.data)

    def items(self) -> Any:
        items = list(self.data.items())
        self.data.clear()
        return items


def test_a_writer_whose_arguments_use_it() -> None:
    writer = WireWriter("chat_completions", model="m")

    def deltas() -> Iterator[Delta]:
        yield Delta("content", text="a")
        writer.write(Delta("content", text="b"))
        yield Delta("finish", finish_reason="stop")

    assert b'"a"' in writer.write(deltas())
    assert b"[DONE]" in writer.end(Counts())


def test_log_probabilities_that_change() -> None:
    writer = WireWriter("chat_completions", model="m")
    entries: list[Any] = []

    class Number:
        def __float__(self) -> float:
            entries.clear()
            return -1.0

    entries.extend([("x", Number(), [("y", Number())])] * 20)
    writer.add_logprobs(0, entries)


def test_an_iterable_that_uses_the_channel() -> None:
    channel = DeltaChannel()

    def deltas() -> Iterator[Delta]:
        yield Delta("content", text="a")
        channel.close()
        yield Delta("content", text="b")

    with pytest.raises(unspool.ChannelClosedError):
        channel.put_many(deltas())
    assert [delta.text for delta in channel] == ["a"]


@pytest.mark.parametrize("make", [bytearray, lambda data: memoryview(bytearray(data))])
def test_a_chunk_of_bytes_is_given_back(make: Callable[[bytes], Any]) -> None:
    for chunk in (b"hello <tool_c", b"x" * 300_000):
        data = make(chunk)
        owner = data if isinstance(data, bytearray) else data.obj
        one = Parser("hermes")
        one.parse_chunk(data)
        if isinstance(data, memoryview):
            data.release()
        owner.extend(b"!")  # BufferError while somebody holds it
        with pytest.raises(unspool.UnspoolError):
            one.parse_chunk(make(chunk), None, "nonsense")


def test_an_array_of_ids_is_given_back() -> None:
    good, bad, wrong = array.array("i", [0, 1, 2]), array.array("q", [0, -1]), array.array("d", [1.0])
    one = parser()
    one.parse_chunk(tokens=good)
    for ids in (bad, wrong):
        with pytest.raises((TypeError, ValueError)):
            one.parse_chunk(tokens=ids)
    for ids in (good, bad, wrong):
        ids.append(1)
    assert one.token_count == 3


def test_a_released_view() -> None:
    view = memoryview(bytearray(b"x"))
    view.release()
    for use in (
        lambda: Parser("hermes").parse_chunk(view),
        lambda: parser().parse_chunk(tokens=view),
        lambda: parse_batch([view], "hermes"),
    ):
        with pytest.raises(ValueError, match="released"):
            use()


class Closed:
    """An object whose attributes cannot be looked up."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"{name} is closed")


def test_an_attribute_that_raises() -> None:
    """As it is: since 3.13 CPython reports an error that a look-up passes over."""
    batch = StreamBatch(vocabulary(), "hermes")
    slot = batch.add()
    for use in (
        lambda: parser().parse_chunk(tokens=Closed()),
        lambda: unspool.TokenStreamer(vocabulary(), "hermes", skip_prompt=True).put(Closed()),
        lambda: batch.step([slot], Closed()),
    ):
        with pytest.raises(RuntimeError, match="is closed"):
            use()
    assert batch.step([slot], [0])


class Tensor:
    """What looks like a tensor and is not of one mind."""

    shape = (1, 3)
    dtype = "int64"

    def __init__(self, list_: list[Any]) -> None:
        self._list = list_

    def tolist(self) -> list[Any]:
        return self._list


@pytest.mark.parametrize("items", [[1, 2, None], [[1, [2]]], [[]], [], [[[[1]]]], [1.5]])
def test_a_tensor_that_lies(items: list[Any]) -> None:
    with contextlib.suppress(TypeError, ValueError):
        parser().parse_chunk(tokens=Tensor(items))
