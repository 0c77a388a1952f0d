"""A batch's slots keep to their grammars: masks, drafts, forks and rollbacks take a slot's matcher along."""

from __future__ import annotations

import json
import random
import runpy
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llguidance", reason="needs unspool[constrain]")

import numpy as np
import torch
import unspool
from unspool import ArgumentError, GrammarMatcher, StreamBatch, StreamError, Vocabulary, WireWriter

BYTES = Vocabulary(
    {bytes([byte]): byte for byte in range(256)},
    [(256, "<|im_end|>", "<|im_end|>", True), (257, "<eos>", "<eos>", True), (258, "<pad>", "<pad>", True)],
    is_bytes=True,
)
WORDS = 9
TOOLS: list[dict[str, Any]] = [
    {"name": "now", "parameters": {"type": "object", "properties": {"of": {"type": "string"}}}}
]
NUMBER = 'start: /[0-9]{2,4}/ ("x" | "y")\n'
LOOP = "start: /[a-z]+/\n"


def batch_of(vocabulary: Vocabulary = BYTES, **options: Any) -> StreamBatch:
    return StreamBatch(vocabulary, "hermes", end_ids=[257], **options)


def allowed_ids(bits: np.ndarray[Any, np.dtype[np.int32]]) -> list[int]:
    found: list[int] = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist()
    return found


def test_slots_write_what_their_grammars_allow() -> None:
    rng = random.Random(1)
    batch = batch_of()
    calls = unspool.get_format("hermes").grammar(TOOLS, tool_choice="required", tokenizer=BYTES)
    compiled = GrammarMatcher(calls, BYTES, end_ids=[257])
    slots = [batch.add(TOOLS, grammar=compiled) for _ in range(3)]
    slots += [batch.add(grammar=NUMBER), batch.add(), batch.add(grammar=LOOP)]
    running = list(slots)
    for _ in range(400):
        bitmask = batch.masks(running)
        assert bitmask.shape == (len(running), WORDS)
        ids = [rng.choice(allowed_ids(row)) for row in bitmask]
        result = batch.step(running, np.array(ids, np.int32))
        running = [slot for slot in running if slot not in list(result.ended)]
        if not running:
            break
    for slot in slots[:3]:
        if slot not in running:
            batch.finish(slot)
            (call, *_) = batch.message(slot).tool_calls
            assert (call.name, call.status) == ("now", "complete")
    assert compiled.validate([257]) == 0, "the caller's matcher stays at its place"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["bytes", "qwen"])
def test_masks_are_those_of_each_matcher(name: str, threads: int, request: pytest.FixtureRequest) -> None:
    vocabulary = BYTES if name == "bytes" else request.getfixturevalue(name).vocabulary
    words = (len(vocabulary) + 31) // 32
    rng = random.Random(2)
    batch = batch_of(vocabulary, threads=threads)
    matchers = [GrammarMatcher(text, vocabulary, end_ids=[257]) for text in (NUMBER, LOOP)]
    slots = [batch.add(grammar=matchers[slot % 2]) if slot % 3 else batch.add() for slot in range(9)]
    bitmask = torch.zeros((64, words + 2), dtype=torch.int32)
    for _ in range(5):
        rng.shuffle(slots)
        drafts: list[list[int]] = [[rng.choice(b"12xyabc") for _ in range(rng.randrange(4))] for _ in slots]
        assert batch.masks(slots, bitmask, drafts=drafts) is bitmask
        row = 0
        for slot, ids in zip(slots, drafts, strict=True):
            matcher = batch.matcher(slot)
            expected = np.full((1, words + 2), -1, np.int32)
            for at in range(len(ids) + 1):
                expected[:] = -1
                if matcher is not None and matcher.validate(ids[:at]) == at:
                    ahead = matcher.fork()
                    ahead.take(*ids[:at])
                    ahead.fill(expected)
                assert (bitmask[row + at].numpy() == expected[0]).all()
            row += len(ids) + 1
        assert (bitmask[row:] == 0).all() or row > 32
        bitmask[:] = 0
        ids = [rng.choice(allowed_ids(batch.masks([slot])[0])) for slot in slots]
        batch.step(slots, ids)


@pytest.mark.parametrize("as_column", [list, lambda ids: np.array(ids, np.int32), lambda ids: torch.tensor(ids, dtype=torch.int32), lambda ids: array("i", ids), lambda ids: memoryview(array("i", ids))])  # fmt: skip
def test_an_id_that_is_not_allowed_changes_nothing(as_column: Any) -> None:
    batch = batch_of()
    slots = [batch.add(grammar=NUMBER), batch.add(), batch.add(grammar=LOOP)]
    batch.step(slots, list(b"1?a"))
    for ids, slot in ((b"?12a", 0), (b"12a1", 2)):
        with pytest.raises(StreamError, match=f"slot {slot}: the grammar does not allow id"):
            batch.step(as_column(slots), as_column(list(ids)), as_column([0, 1, 3, 4]))
    assert [batch.token_count(slot) for slot in slots] == [1, 1, 1]
    batch.step(as_column(slots), as_column(list(b"12xbc")), as_column([0, 0, 3, 5]))
    assert [batch.token_count(slot) for slot in slots] == [1, 4, 3]
    with pytest.raises((ArgumentError, TypeError)):
        batch.step(as_column(slots), as_column(list(b"1")))
    batch.step(as_column(slots[:1]), as_column(list(b"2")))
    batch.step(as_column(slots[:1]), as_column(list(b"x")))
    assert batch.message(0).content == "12x"


def test_the_end_tokens_of_format_and_batch_end_an_answer() -> None:
    batch = batch_of()
    slot = batch.add(grammar=LOOP)
    batch.step([slot], [ord("a")])
    assert allowed_ids(batch.masks([slot])[0]) == [*range(97, 123), 256, 257]
    result = batch.step([slot], [256])
    assert list(result.ended) == [slot]
    assert allowed_ids(batch.masks([slot])[0]) == [256, 257]
    matcher = batch.matcher(slot)
    assert matcher is not None
    assert matcher.is_ended


def test_fork_and_rollback_take_the_matcher_along() -> None:
    batch = batch_of()
    slot = batch.add(grammar=NUMBER, rollback_window=4)
    batch.step([slot], list(b"12x"), [0, 3])
    batch.rollback(slot, 1)
    copy = batch.fork(slot)
    batch.step([copy, slot], list(b"xy"))
    assert [batch.message(each).content for each in (slot, copy)] == ["12y", "12x"]
    batch.rollback(slot, 2)
    assert allowed_ids(batch.masks([slot])[0]) == list(range(48, 58))
    with pytest.raises(ArgumentError):
        batch.rollback(slot, 9)
    assert allowed_ids(batch.masks([slot])[0]) == list(range(48, 58))
    batch.remove(slot)
    with pytest.raises(ArgumentError):
        batch.matcher(slot)
    assert batch.add() == slot
    assert batch.matcher(slot) is None, "the grammar went with its slot"
    batch.step([slot], [ord("?")])


def test_a_fork_with_a_writer_has_the_grammar_too() -> None:
    batch = batch_of()
    writer = WireWriter("chat_completions", model="m")
    slot = batch.add(writer=writer, grammar=NUMBER)
    copy = batch.fork(slot, writer=writer.fork())
    with pytest.raises(StreamError, match=f"slot {copy}"):
        batch.step([copy], [ord("?")])


def test_what_forced_says_is_a_draft() -> None:
    batch = batch_of()
    slot = batch.add(grammar='start: "hello" /[0-9]/\n')
    matcher = batch.matcher(slot)
    assert matcher is not None
    drafts = matcher.forced()
    bitmask = batch.masks([slot], drafts=[drafts])
    assert [allowed_ids(row) for row in bitmask[:-1]] == [[id] for id in b"hello"]
    assert allowed_ids(bitmask[-1]) == list(b"0123456789")
    batch.step([slot], drafts, [0, len(drafts)])
    assert allowed_ids(batch.masks([slot])[0]) == list(b"0123456789")


def test_bad_arguments() -> None:
    batch = batch_of()
    slot = batch.add(grammar=NUMBER)
    with pytest.raises(ArgumentError, match="needed"):
        batch.masks([slot], np.zeros((1, WORDS), np.int32), drafts=[[49]])
    with pytest.raises(ArgumentError, match="int64"):
        batch.masks([slot], np.zeros((1, WORDS), np.int64))
    with pytest.raises(ArgumentError, match="once"):
        batch.masks([slot, slot])
    with pytest.raises(ArgumentError, match="9"):
        batch.masks([9])
    with pytest.raises(ArgumentError, match="one for each"):
        batch.masks([slot], drafts=[])
    with pytest.raises(ArgumentError, match="cannot be read"):
        batch.add(grammar="no grammar")
    with pytest.raises(ArgumentError, match="syntax='lark'"):
        batch.add(grammar=unspool.json_grammar({"type": "integer"}, syntax="gbnf"))
    other = Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
    with pytest.raises(ArgumentError, match="another vocabulary"):
        batch.add(grammar=GrammarMatcher(NUMBER, other))
    one_way = 'start: a "x"\na[max_tokens=3]: /[a-z]+/\n'
    with pytest.raises(ArgumentError, match="cannot go back"):
        batch.add(grammar=one_way, rollback_window=2)
    assert len(batch) == 1
    batch.add(grammar=one_way)
    assert batch.masks([]).shape == (0, WORDS)


def test_one_thread_at_a_time() -> None:
    """Another thread's call raises `StreamError` or runs before or after; a slot's text and matcher stay together."""
    batch = batch_of(threads=2)
    slots = [batch.add(grammar=LOOP, rollback_window=4) for _ in range(32)]
    others, done = list[BaseException](), threading.Event()

    def repeat(act: Callable[[], Any]) -> None:
        while not done.is_set():
            try:
                act()
            except StreamError:
                continue
            except BaseException as error:
                others.append(error)

    threads = [
        threading.Thread(target=repeat, args=(act,))
        for act in (lambda: batch.masks(slots), lambda: batch.masks(slots[:3], drafts=[[97], [98], [99]]))
    ]
    for thread in threads:
        thread.start()
    taken = 0
    for _ in range(500):
        try:
            batch.step(slots, [97] * 32)
        except StreamError:
            continue
        taken += 1
    done.set()
    for thread in threads:
        thread.join()
    assert not others
    for slot in slots:
        assert batch.token_count(slot) == taken
        matcher = batch.matcher(slot)
        assert matcher is not None
        matcher.rollback(taken)
        with pytest.raises(ArgumentError):
            matcher.rollback(1)


def test_the_example_makes_calls() -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "constrained_requests.py"))
    calls = example["main"](8)
    assert len(calls) >= 8
    for call in calls:
        assert (call.name, call.status) == ("get_weather", "complete")
        assert json.loads(call.arguments)["city"] in ("Paris", "Oslo")
