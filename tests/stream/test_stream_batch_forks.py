"""A slot's fork reads on as a fresh stream would, and a slot takes back ids as its stream does."""

from __future__ import annotations

from typing import Any

import pytest
from unspool import StreamBatch, TokenStreamer, Vocabulary, WireWriter
from unspool.errors import ArgumentError, StreamError

CALL = '<tool_call>\n{"name": "now", "arguments": {"of": ["Kraków", 3]}}\n</tool_call>'
FIRST = "Let me look." + CALL
SECOND = "\nIt is noon."
OTHER = '", 5]}}\n</tool_call> Or not.'


@pytest.fixture(scope="module")
def vocabulary(deepseek: Any) -> Vocabulary:
    return Vocabulary.from_tokenizer(deepseek.tokenizer)


@pytest.fixture(scope="module")
def ids(deepseek: Any) -> dict[str, list[int]]:
    return {text: deepseek.encode(text) for text in (FIRST, SECOND, OTHER)}


def batch_of(vocabulary: Vocabulary, **options: Any) -> StreamBatch:
    return StreamBatch(vocabulary, "hermes", id_seed=1, **options)


def new_writer(**options: Any) -> WireWriter:
    return WireWriter("chat_completions", model="m", id="r", created=1, **options)


def run(batch: StreamBatch, slot: int, ids: list[int]) -> bytes:
    """The bytes of all steps, an id each, and of the end."""
    parts = [batch.step([slot], [each]).sse(slot) for each in ids]
    return b"".join([*parts, batch.finish(slot).sse(slot)])


def test_a_fork_at_every_token_writes_what_a_fresh_slot_writes(
    vocabulary: Vocabulary, ids: dict[str, list[int]]
) -> None:
    batch = batch_of(vocabulary)
    for place in range(len(ids[FIRST])):
        head = ids[FIRST][:place]
        writer = new_writer()
        slot = batch.add(writer=writer)
        before = b"".join(batch.step([slot], [each]).sse(slot) for each in head)
        copy = batch.fork(slot, writer=writer.fork())
        bytes_of = {
            copy: before + run(batch, copy, ids[OTHER]),
            slot: before + run(batch, slot, ids[FIRST][place:] + ids[SECOND]),
        }
        for made, rest in ((copy, ids[OTHER]), (slot, ids[FIRST][place:] + ids[SECOND])):
            fresh = batch.add(writer=new_writer())
            assert bytes_of[made] == run(batch, fresh, head + rest), place
            assert batch.message(made) == batch.message(fresh)
            batch.remove(fresh)
            batch.remove(made)
    assert len(batch) == 0


def test_a_fork_without_a_writer_keeps_deltas(vocabulary: Vocabulary, ids: dict[str, list[int]]) -> None:
    batch = batch_of(vocabulary)
    slot = batch.add(writer=new_writer())
    batch.step([slot], ids[FIRST], [0, len(ids[FIRST])])
    copy = batch.fork(slot, choice=3)
    result = batch.step([copy], ids[SECOND], [0, len(ids[SECOND])])
    assert result.sse(copy) == b""
    assert "".join(delta.text for delta in result.deltas(copy)).strip() == SECOND.strip()
    assert {delta.choice for delta in result.deltas(copy)} == {3}


def test_a_fork_has_the_end_tokens_of_its_slot(vocabulary: Vocabulary, ids: dict[str, list[int]]) -> None:
    end = ids[SECOND][-1]
    batch = batch_of(vocabulary, end_ids=[end])
    copy = batch.fork(batch.add())
    assert list(batch.step([copy], [ids[FIRST][0]]).ended) == []
    assert list(batch.step([copy], [end]).ended) == [copy]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_slot_takes_back_ids_as_its_stream_does(
    count: int, vocabulary: Vocabulary, ids: dict[str, list[int]]
) -> None:
    batch = batch_of(vocabulary, rollback_window=5)
    for place in range(count, len(ids[FIRST])):
        slot = batch.add()
        alone = TokenStreamer(vocabulary, "hermes", id_seed=1, rollback_window=5)
        for each in ids[FIRST][:place]:
            batch.step([slot], [each])
            alone.put([each])
        taken = batch.rollback(slot, count)
        assert [delta.text for delta in taken.deltas(slot)] == [delta.text for delta in alone.rollback(count)]
        batch.step([slot], ids[OTHER], [0, len(ids[OTHER])])
        batch.finish(slot)
        fresh = batch.add()
        batch.step([fresh], [*ids[FIRST][: place - count], *ids[OTHER]], [0, place - count + len(ids[OTHER])])
        batch.finish(fresh)
        assert batch.message(slot) == batch.message(fresh)
        batch.remove(slot)
        batch.remove(fresh)


def test_what_a_fork_and_a_rollback_refuse(vocabulary: Vocabulary, ids: dict[str, list[int]]) -> None:
    batch = batch_of(vocabulary, rollback_window=5)
    writer = new_writer(n=2)
    slot = batch.add(writer=writer)
    with pytest.raises(ArgumentError, match="another slot has this writer"):
        batch.fork(slot, writer=writer)
    with pytest.raises(ArgumentError, match="slot 7 is free"):
        batch.fork(7)
    with pytest.raises(ArgumentError, match="has a writer, whose bytes are not taken back"):
        batch.rollback(slot, 1)
    bare = batch.add()
    batch.step([bare], [ids[FIRST][0]])
    with pytest.raises(ArgumentError, match="2"):
        batch.rollback(bare, 2)
    batch.finish(bare)
    with pytest.raises(StreamError, match="has finished"):
        batch.rollback(bare, 1)
    assert len(batch) == 2
