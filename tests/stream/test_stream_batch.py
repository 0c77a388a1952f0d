"""A batch writes what each stream writes alone, in any step."""

from __future__ import annotations

import array
import contextlib
import dataclasses
import random
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import unspool
from unspool import BatchResult, Delta, StreamBatch, TokenStreamer, Vocabulary, WireWriter
from unspool.errors import ArgumentError, StreamError
from unspool.testing.cases import shipped_cases

torch = pytest.importorskip("torch", reason="torch is not installed; pip install torch")

CALL = '<tool_call>\n{"name": "now", "arguments": {"of": ["Kraków", 3]}}\n</tool_call>'
PROTOCOLS = ["chat_completions", "completions", "responses", "messages", "open_inference", "google"]


@pytest.fixture(scope="module")
def vocabulary(deepseek: Any) -> Vocabulary:
    return Vocabulary.from_tokenizer(deepseek.tokenizer)


def writer_of(protocol: str = "chat_completions", **options: Any) -> WireWriter:
    return WireWriter(protocol, model="m", id="r", created=1, **options)


def fields(delta: Delta) -> tuple[Any, ...]:
    names = (
        "kind",
        "text",
        "index",
        "id",
        "name",
        "status",
        "finish_reason",
        "reason",
        "token_span",
        "token_ids",
    )
    return tuple(getattr(delta, name) for name in names)


def steps(rows: dict[int, list[int]], seed: int) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Slots, ids and offsets of steps in which some of the streams get some ids, until all have theirs."""
    rng = random.Random(seed)
    left = {slot: list(ids) for slot, ids in rows.items()}
    while any(left.values()):
        slots = [slot for slot in left if rng.random() < 0.7]
        rng.shuffle(slots)
        ids: list[int] = []
        offsets = [0]
        for slot in slots:
            count = rng.choice([0, 1, 1, 1, 2, 5])
            ids += left[slot][:count]
            del left[slot][:count]
            offsets.append(len(ids))
        yield slots, ids, offsets


class Alone:
    """A stream and a writer of their own."""

    def __init__(self, streamer: TokenStreamer, writer: WireWriter) -> None:
        self.streamer, self.writer = streamer, writer

    def check(self, result: BatchResult, slot: int, deltas: list[Delta]) -> None:
        assert [fields(delta) for delta in result.deltas(slot)] == [fields(delta) for delta in deltas]
        assert result.sse(slot) == self.writer.write(deltas)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", [file.name for file in unspool.formats()])
def test_every_case_in_a_batch_is_each_alone(name: str, deepseek: Any, vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, name, id_seed=3)
    rows: dict[int, list[int]] = {}
    alone: dict[int, Alone] = {}
    reasons: dict[int, str] = {}
    for number, case in enumerate(shipped_cases(name)):
        options = {key: value for key, value in case.options.items() if key != "only_reasoning"}
        protocol = PROTOCOLS[number % len(PROTOCOLS)]
        slot = batch.add(case.tools, writer=writer_of(protocol), deltas=True, **options)
        streamer = TokenStreamer(vocabulary, name, case.tools, **{"id_seed": 3, **options})
        alone[slot] = Alone(streamer, writer_of(protocol))
        rows[slot], reasons[slot] = deepseek.encode(case.input), case.finish_reason
    for slots, ids, offsets in steps(rows, seed=len(name)):
        result = batch.step(slots, ids, offsets)
        for number, slot in enumerate(slots):
            alone[slot].check(
                result, slot, alone[slot].streamer.put(ids[offsets[number] : offsets[number + 1]])
            )
        assert bytes(result.data) == b"".join(map(result.sse, slots))
    for slot, one in alone.items():
        message = one.streamer.finish(reasons[slot])
        one.check(batch.finish(slot, reasons[slot]), slot, list(message.deltas))
        assert batch.message(slot) == dataclasses.replace(message, deltas=())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_id_a_step_gives_the_bytes_of_each_alone(
    protocol: str, deepseek: Any, vocabulary: Vocabulary
) -> None:
    texts = [f"Is it {n}?\n{CALL}\n{CALL}" + "x" * (n % 7) for n in range(60)]
    rows = [deepseek.encode(text) for text in texts]
    batch = StreamBatch(vocabulary, "hermes", id_seed=3)
    slots = [batch.add(writer=writer_of(protocol)) for _ in rows]
    got = [b""] * len(rows)
    for place in range(max(map(len, rows))):
        live = [slot for slot in slots if place < len(rows[slot])]
        result = batch.step(
            np.array(live, np.int32), np.array([rows[slot][place] for slot in live], np.int32)
        )
        offsets = result.offsets.tolist()
        for number, slot in enumerate(live):
            assert result.data[offsets[number] : offsets[number + 1]] == result.sse(slot)
            got[slot] += result.sse(slot)
    for slot in slots:
        got[slot] += batch.finish(slot).sse(slot)
    for text_ids, sse in zip(rows, got, strict=True):
        streamer = TokenStreamer(vocabulary, "hermes", id_seed=3)
        writer = writer_of(protocol)
        alone = b"".join(writer.write(streamer.put(id)) for id in text_ids) + writer.write(streamer.end())
        assert sse == alone


@pytest.mark.parametrize(
    "make",
    [
        lambda items: np.array(items, np.int32),
        lambda items: np.array(items, np.int64),
        lambda items: np.array(items, np.uint32),
        lambda items: np.repeat(np.array(items, np.int32), 2)[::2],
        lambda items: torch.tensor(items, dtype=torch.int32),
        torch.tensor,
        lambda items: torch.tensor(items).repeat_interleave(3)[::3],
        lambda items: array.array("i", items),
        lambda items: memoryview(array.array("q", items)),
        tuple,
    ],
)
def test_columns_in_every_shape(make: Any, deepseek: Any, vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, "hermes")
    slots = [batch.add(), batch.add()]
    ids = deepseek.encode("Hello big world")
    result = batch.step(make(slots), make([*ids, ids[0]]), make([0, len(ids), len(ids) + 1]))
    assert "".join(delta.text for delta in result.deltas(0)) == "Hello big world"
    assert [delta.text for delta in result.deltas(1)] == ["Hello"]
    assert result.slots.tolist() == slots
    assert 1 in result
    assert 2 not in result
    assert len(result) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["0"], [5]), "slots has an item of type str"),
        ((np.array([0.5]), [5]), "slots has items of format 'd'"),
        ((np.array([0], np.int16), [5]), "slots has items of format 'h'"),
        ((np.array([[0]], np.int32), [5]), "slots has 2 dimensions"),
        ((torch.tensor([0.5]), [5]), "slots does not hold integers"),
        ((0, [5]), "slots is of type int"),
        (([0], [-5]), "ids has -5"),
        (([0], np.array([-5])), "ids has -5 at 0"),
        (([0], np.array([-5], np.int32)), "ids has -5 at 0"),
        (([-1], [5]), "slot -1 is free"),
        (([7], [5]), "slot 7 is free"),
        (([1, 0, 1], [5, 5, 5]), "slot 1 is in this step twice"),
        (([0], [5, 6]), "1 slots and 2 ids"),
        (([0], [5, 6], [0, 1, 2]), "1 slots and 3 offsets"),
        (([0, 1], [5, 6], [0, 2, 1]), "offsets go down"),
        (([0], [5, 6], [0, 1]), "offsets go from 0 to 1"),
        (([0], [5, 6], [1, 2]), "offsets go from 1 to 2"),
        (([0, 2], [5, 6]), "slot 2 has finished"),
    ],
)
def test_a_bad_step_changes_nothing(arguments: Any, message: str, vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, "hermes")
    for _ in range(3):
        batch.add()
    batch.finish(2)
    with pytest.raises((TypeError, ArgumentError, StreamError), match=message):
        batch.step(*arguments)
    assert batch.token_count(0) == batch.token_count(1) == 0
    assert len(batch.step([0, 1], [5, 5])) == 2  # it still works


def test_an_id_that_the_tokenizer_refuses_is_named(tiktoken_vocabulary: Vocabulary) -> None:
    batch = StreamBatch(tiktoken_vocabulary, "hermes")
    batch.add()
    batch.add()
    with pytest.raises(ArgumentError, match=r"slot 1: .*99999"):
        batch.step([0, 1], [65, 99999])
    assert batch.token_count(0) == 0


@pytest.fixture
def tiktoken_vocabulary() -> Vocabulary:
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True, refuses_unknown=True)


def test_who_has_ended(deepseek: Any, vocabulary: Vocabulary) -> None:
    end = vocabulary.find_added("<｜end▁of▁sentence｜>")
    assert end is not None
    batch = StreamBatch(vocabulary, "deepseek_v3", end_ids=[5], stop="big")
    slots = [batch.add() for _ in range(4)]
    hello, big = deepseek.encode("Hello"), deepseek.encode(" big")
    assert batch.step(slots, hello * 4).ended.tolist() == []
    assert batch.step(slots, [*big, end, 5, *hello]).ended.tolist() == [0, 1, 2]
    assert batch.stop_reason(0) == "big"
    assert batch.stop_reason(1) is None
    assert batch.message(0).content == "Hello "
    assert batch.finish(3).ended.tolist() == [3]


def test_the_lowest_free_slot_is_used_again(vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, "hermes")
    assert [batch.add() for _ in range(4)] == [0, 1, 2, 3]
    batch.remove(2)
    batch.remove(1)
    assert [batch.add(), batch.add(), batch.add()] == [1, 2, 4]
    assert len(batch) == 5
    with pytest.raises(ArgumentError, match="slot 9 is free"):
        batch.remove(9)


def test_a_result_stays_as_it_is(deepseek: Any, vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, "hermes")
    slot = batch.add(writer=writer_of())
    kept = []
    for id in deepseek.encode("one two three four five six"):
        result = batch.step([slot], [id])
        kept.append((result.data, bytes(result.data), result.slots, result.offsets))
    for data, then, slots, offsets in kept:
        assert bytes(data) == then
        assert slots.tolist() == [slot]
        assert offsets.tolist() == [0, len(then)]


def test_answers_of_one_response_share_a_writer(deepseek: Any, vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, "hermes", id_seed=3)
    writer = writer_of(n=3)
    slots = [batch.add(writer=writer, choice=choice) for choice in range(3)]
    other = batch.add(writer=writer_of())
    out = writer.begin()
    for id in deepseek.encode("Hello world\n" + CALL):
        result = batch.step([slots[0], other, *slots[1:]], [id] * 4)
        out += b"".join(map(result.sse, slots))
    out += b"".join(batch.finish(slot).sse(slot) for slot in slots) + writer.end()
    assert out.count(b'"finish_reason":"tool_calls"') == 3
    for choice in range(3):
        assert out.count(b'"index":%d,"delta":{"content":" world"}' % choice) == 1


def test_a_batch_has_its_writers_deltas_to_itself(deepseek: Any, vocabulary: Vocabulary) -> None:
    batch, other = StreamBatch(vocabulary, "hermes"), StreamBatch(vocabulary, "hermes")
    writer = writer_of()
    slot = batch.add(writer=writer)
    with pytest.raises(StreamError, match="a batch writes this response's deltas"):
        writer.write(Delta("content", text="no"))
    with pytest.raises(StreamError, match="another batch"):
        other.add(writer=writer)
    with pytest.raises(ArgumentError, match="another slot has this writer"):
        batch.add(writer=writer)
    with pytest.raises(ArgumentError, match="choice is 1, and the writer's n is 1"):
        batch.add(writer=writer, choice=1)
    sse = batch.step([slot], deepseek.encode("Hello")).sse(slot) + batch.finish(slot).sse(slot)
    batch.remove(slot)
    with pytest.raises(ArgumentError, match="has deltas of choice 0"):
        batch.add(writer=writer)
    assert (sse + writer.end()).endswith(b"[DONE]\n\n")
    with pytest.raises(StreamError, match="has ended"):
        batch.add(writer=writer)


def test_a_writer_is_free_once_its_batch_is_gone(vocabulary: Vocabulary) -> None:
    writer = writer_of()
    batch = StreamBatch(vocabulary, "hermes")
    batch.add(writer=writer)
    del batch
    assert writer.write(Delta("content", text="yes"))


def test_a_response_that_has_ended_takes_no_step(vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, "hermes")
    writer = writer_of()
    slot = batch.add(writer=writer)
    writer.fail("no")
    with pytest.raises(StreamError, match="the response of slot 0 has ended"):
        batch.step([slot], [5])


def test_options_of_the_batch_and_of_a_slot(deepseek: Any, vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, "qwen3", keep_message=False)
    thinking = batch.add(prompt="<|im_start|>assistant\n<think>\n")
    plain = batch.add(keep_message=True, reasoning=False)
    ids = deepseek.encode("so</think>Hi")
    result = batch.step([thinking, plain], ids + ids, [0, len(ids), 2 * len(ids)])
    assert [delta.kind for delta in result.deltas(thinking)] == ["reasoning", "content"]
    assert {delta.kind for delta in result.deltas(plain)} == {"content"}
    assert batch.message(thinking).content == ""
    assert batch.message(plain).content == "so</think>Hi"
    with pytest.raises(TypeError, match="there is no option 'colour'"):
        batch.add(colour=1)
    with pytest.raises(ArgumentError, match="tokenizer is None"):
        StreamBatch(None, "qwen3")


def test_python_code_in_an_argument_cannot_use_the_batch(vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, "hermes")
    slot = batch.add()

    class Sly:
        def __index__(self) -> int:
            batch.step([slot], [5])
            return 5

    with pytest.raises(StreamError, match="this batch is in a step"):
        batch.step([slot], [Sly()])
    assert batch.token_count(slot) == 0


def test_a_list_that_fails_raises_what_it_raises(vocabulary: Vocabulary) -> None:
    class Broken(list[int]):
        def __iter__(self) -> Iterator[int]:
            raise ZeroDivisionError

    batch = StreamBatch(vocabulary, "hermes")
    slot = batch.add()
    with pytest.raises(ZeroDivisionError):
        batch.step(Broken([slot]), [5])
    assert batch.token_count(slot) == 0


def test_a_prompt_of_the_batch_is_each_slots(deepseek: Any, vocabulary: Vocabulary) -> None:
    batch = StreamBatch(vocabulary, "qwen3", prompt="<|im_start|>assistant\n<think>\n")
    thinking, plain = batch.add(), batch.add(prompt="<|im_start|>assistant\n<think>\n\n</think>\n\n")
    ids = deepseek.encode("Hello")
    result = batch.step([thinking, plain], ids + ids)
    assert [delta.kind for delta in result.deltas(thinking)] == ["reasoning"]
    assert [delta.kind for delta in result.deltas(plain)] == ["content"]


def test_arrays_that_change_during_a_long_step_are_read_as_they_were(vocabulary: Vocabulary) -> None:
    """Another thread may write into them while the step runs without the GIL."""
    batch = StreamBatch(vocabulary, "hermes", keep_message=False)
    slots = np.array([batch.add() for _ in range(2000)], np.int32)
    ids = np.full(2000, 5, np.int32)
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            slots[:], ids[:] = 1 << 30, -1
            slots[:], ids[:] = np.arange(2000), 5

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(50):
        with contextlib.suppress(ArgumentError):  # it came in the middle of a write
            assert len(batch.step(slots, ids)) == 2000
    is_over.set()
    thread.join()
