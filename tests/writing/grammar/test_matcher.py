"""`GrammarMatcher`: a mask allows what `take` takes, and a matcher is where its ids led, however it came there."""

from __future__ import annotations

import array
import copy
import os
import pickle
import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch
import unspool
from unspool import ArgumentError, GrammarMatcher, StreamError, Vocabulary
from unspool.writing.engines.token_trie import token_trie

from .tools import tools_for

BYTES = Vocabulary(
    {bytes([byte]): byte for byte in range(256)},
    [(256, "<end>", "<end>", True), (257, "<tool>", "<tool>", True)],
    is_bytes=True,
)
END = 256
NUMBER = 'start: <[257]> "hello" /[0-9]{2,3}/ ("x" | "y")\n'
FORMATS = ["hermes", "qwen3_coder", "pythonic", "deepseek_v32", "openai", "gemma4", "kimi_k2", "mistral"]


def bitmask_of(matcher: GrammarMatcher, words: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    bitmask = np.full((1, words), -1, np.int32)
    matcher.fill(bitmask)
    return bitmask[0]


def allowed_ids(bits: np.ndarray[Any, np.dtype[np.int32]]) -> list[int]:
    found: list[int] = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist()
    return found


# Markers as tokens, which a grammar names by their numbers.
MARKERS = sorted({marker for name in FORMATS for marker in unspool.get_format(name).facts.marker_tokens})
MARKED = Vocabulary(
    {bytes([byte]): byte for byte in range(256)},
    [(256 + at, marker, marker, True) for at, marker in enumerate(MARKERS)],
    is_bytes=True,
)

WALKS = [(v, name) for v in ("bytes", "marked") for name in FORMATS]
WALKS += [(v, name) for v in ("tekken", "qwen") for name in FORMATS[:2]]


def find_vocabulary(name: str, request: pytest.FixtureRequest) -> Vocabulary:
    own = {"bytes": BYTES, "marked": MARKED}.get(name)
    found: Vocabulary = request.getfixturevalue(name).vocabulary if own is None else own
    return found


@pytest.fixture(params=WALKS, ids=" ".join)
def place(request: pytest.FixtureRequest) -> tuple[GrammarMatcher, Vocabulary]:
    vocabulary, file = find_vocabulary(request.param[0], request), unspool.get_format(request.param[1])
    grammar = file.grammar(tools_for(file), tool_choice="required", tokenizer=vocabulary)
    return GrammarMatcher(grammar, vocabulary, end_ids=[2]), vocabulary


def steps(matcher: GrammarMatcher, words: int, rng: random.Random) -> Iterator[list[int]]:
    """Take ids at random, and yield those that were taken so far and what is allowed."""
    taken: list[int] = []
    for _ in range(30):
        allowed = allowed_ids(bitmask_of(matcher, words))
        yield allowed
        if not allowed:
            return
        taken.append(rng.choice(allowed))
        matcher.take(taken[-1])


def words_of(vocabulary: Vocabulary) -> int:
    return (len(vocabulary) + 31) // 32


def test_fork_and_rollback_lead_where_the_ids_do(place: tuple[GrammarMatcher, Vocabulary]) -> None:
    matcher, vocabulary = place
    rng, words = random.Random(1), words_of(vocabulary)
    start, taken = matcher.fork(), list[int]()
    for _ in range(40):
        allowed = allowed_ids(bitmask_of(matcher, words))
        if allowed:
            taken.append(rng.choice(allowed))
            matcher.take(taken[-1])
        action = rng.random()
        if action < 0.3 or not allowed:
            back = rng.randint(0, min(4, len(taken)))
            matcher.rollback(back)
            del taken[len(taken) - back :]
        elif action < 0.5:
            other, matcher = matcher, matcher.fork()
            other.forced()
            other.rollback(len(taken))
        fresh = start.fork()
        fresh.take(*taken)
        assert (bitmask_of(matcher, words) == bitmask_of(fresh, words)).all()
        assert (matcher.is_ended, matcher.is_accepting) == (fresh.is_ended, fresh.is_accepting)


def test_validate_counts_what_take_takes(place: tuple[GrammarMatcher, Vocabulary]) -> None:
    matcher, vocabulary = place
    rng, words = random.Random(2), words_of(vocabulary)
    for _ in steps(matcher, words, rng):
        ahead, drafts = matcher.fork(), list[int]()
        for _ in range(rng.randrange(6)):
            allowed = allowed_ids(bitmask_of(ahead, words)) or [2]
            drafts.append(rng.choice(allowed) if rng.random() < 0.9 else rng.randrange(len(vocabulary) + 2))
            if ahead.validate(drafts[-1:]):
                ahead.take(drafts[-1])
        before = bitmask_of(matcher, words)
        valid = matcher.validate(drafts)
        assert (bitmask_of(matcher, words) == before).all(), "nothing changes"
        one_by_one = matcher.fork()
        for id in drafts[:valid]:
            one_by_one.take(id)
        if valid < len(drafts):
            before = bitmask_of(one_by_one, words)
            with pytest.raises(StreamError, match=f"id {drafts[valid]} "):
                one_by_one.take(drafts[valid])
            assert (bitmask_of(one_by_one, words) == before).all(), "a refused id changes nothing"
            with pytest.raises(StreamError):
                matcher.take(*drafts)


def test_the_mask_allows_what_take_takes(place: tuple[GrammarMatcher, Vocabulary]) -> None:
    matcher, vocabulary = place
    rng, words = random.Random(3), words_of(vocabulary)
    for allowed in steps(matcher, words, rng):
        for id in [2, *rng.sample(range(len(vocabulary)), 15), *rng.sample(allowed, min(10, len(allowed)))]:
            assert (id in allowed) == (matcher.validate([id]) == 1), id


def test_forced_text_is_what_every_answer_goes_on_with(place: tuple[GrammarMatcher, Vocabulary]) -> None:
    matcher, vocabulary = place
    rng, words = random.Random(4), words_of(vocabulary)

    def text(ids: list[int]) -> bytes:
        return b"".join(vocabulary.token_bytes(id) or str(id).encode() for id in ids if id != 2)

    found = 0
    for _ in range(2):
        walk, taken, forced = matcher.fork(), list[int](), list[tuple[int, list[int]]]()
        for at in count():
            ids = walk.forced()
            assert walk.validate(ids) == len(ids)
            forced.append((at, ids))
            allowed = allowed_ids(bitmask_of(walk, words))
            if not allowed or at == 40:
                break
            id = ids[0] if ids and rng.random() < 0.5 else rng.choice(allowed)
            walk.take(id)
            taken.append(id)
        for at, ids in forced:
            rest = text(taken[at:])
            assert rest.startswith(text(ids)[: len(rest)])
            found += len(ids)
    assert found


@pytest.mark.parametrize("name", ["bytes", "tekken", "qwen"])
@pytest.mark.parametrize(("more_words", "threads"), [(0, 1), (0, 3), (-1, 3), (3, 2)])
def test_masks_in_a_batch_are_the_single_ones(
    name: str, more_words: int, threads: int, request: pytest.FixtureRequest
) -> None:
    vocabulary = find_vocabulary(name, request)
    rng, words = random.Random(5), words_of(vocabulary) + more_words
    matchers = []
    for format in FORMATS[:3]:
        file = unspool.get_format(format)
        grammar = file.grammar(tools_for(file), tool_choice="required", tokenizer=vocabulary)
        first = GrammarMatcher(grammar, vocabulary, end_ids=[2, 32 * words + 1])
        matchers += [first, *(first.fork() for _ in range(7))]
    rows = rng.sample(range(40), len(matchers))
    for _ in range(5):
        bitmask = np.full((40, words), 7, np.int32)
        GrammarMatcher.fill_batch(matchers, bitmask, rows, threads=threads)
        for matcher, row in zip(matchers, rows, strict=True):
            assert (bitmask[row] == bitmask_of(matcher, words)).all()
            if allowed := allowed_ids(bitmask[row]):
                matcher.take(rng.choice(allowed))
        others = [row for row in range(40) if row not in rows]
        assert (bitmask[others] == 7).all()


@pytest.mark.parametrize("size", [255, 256, 257, 287, 288, 289])
def test_bits_beyond_the_vocabulary_are_0(size: int) -> None:
    pieces = {bytes([n]): n for n in range(256)} | {b"ab" + bytes([97 + n]): 256 + n for n in range(33)}
    vocabulary = Vocabulary(dict(list(pieces.items())[:size]), [], is_bytes=True)
    assert len(vocabulary) == size
    matcher = GrammarMatcher("start: /(.|\\n)+/\n", vocabulary, end_ids=[0, size + 40])
    for words in (1, 5, 8, 9, 10, 12):
        found = allowed_ids(bitmask_of(matcher, words))
        assert max(found) < min(size, 32 * words)
        ended = matcher.fork()
        ended.take(97)
        found = allowed_ids(bitmask_of(ended, words))
        assert 0 in found
        assert (size + 40 in found) == (size + 40 < 32 * words)
        assert size not in found
        batch = np.zeros((1, words), np.int32)
        GrammarMatcher.fill_batch([ended], batch)
        assert allowed_ids(batch[0]) == found


def test_an_end_id_ends_the_answer() -> None:
    matcher = GrammarMatcher("start: /[0-9]+/\n", BYTES, end_ids=[END])
    with pytest.raises(StreamError, match="id 256"):
        matcher.take(END)
    matcher.take(*b"12", END)
    assert matcher.is_ended
    assert allowed_ids(bitmask_of(matcher, 9)) == [END]
    assert matcher.validate([END, ord("1")]) == 1
    assert matcher.forced() == []
    matcher.rollback(2)
    assert not matcher.is_ended
    matcher.take(*b"3", END, END)
    assert matcher.validate(b"1") == 0


def test_any_token_but_some_is_no_end() -> None:
    """A model that would end inside its reasoning writes on: "any token but the markers" does not admit the end."""
    matcher = GrammarMatcher("start: <[257]> <[^256-257]>* <[257]>", BYTES, end_ids=[END])
    matcher.take(257)
    one, batch = np.zeros((2, 1, 9), np.int32)
    matcher.fill(one)
    GrammarMatcher.fill_batch([matcher], batch)
    for bits in (one[0], batch[0]):
        assert allowed_ids(bits) == [*range(256), 257]
    assert matcher.validate([END]) == 0


def test_forced_tokens_and_text() -> None:
    matcher = GrammarMatcher(NUMBER, BYTES, end_ids=[END])
    assert matcher.forced() == [257, *b"hello"]
    matcher.take(257, *b"hel")
    assert matcher.forced() == list(b"lo")
    matcher.take(*b"lo12")
    assert matcher.forced() == []
    matcher.take(*b"x")
    assert matcher.is_ended
    assert matcher.forced() == []


def test_a_long_text_is_forced_in_parts() -> None:
    matcher = GrammarMatcher(f'start: "{"heLLo" * 1000}" /[0-9]/\n', BYTES)
    text = bytearray()
    while ids := matcher.forced():
        matcher.take(*ids)
        text += bytes(ids)
    assert text == b"heLLo" * 1000


def test_the_memory_is_the_callers() -> None:
    matcher = GrammarMatcher(NUMBER, BYTES)
    tensor = torch.zeros((3, 9), dtype=torch.int32)
    matcher.fill(tensor, 1)
    assert tensor.tolist() == [[0] * 9, [0] * 8 + [2], [0] * 9]
    wide = np.zeros((2, 20), np.int32)
    matcher.fill(wide[:, 4:14], 1)  # rows need not follow one another
    assert allowed_ids(wide[1]) == [257 + 4 * 32]
    GrammarMatcher.fill_batch([matcher], wide[:, 9:18], [0])
    assert allowed_ids(wide[0]) == [257 + 9 * 32]
    shared = memoryview(array.array("i", [0] * 9)).cast("b").cast("i", (1, 9))
    matcher.fill(shared)
    assert shared.tolist() == [[0] * 8 + [2]]


READ_ONLY = np.zeros((1, 9), np.int32)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("bitmask", "row", "message"),
    [
        (np.zeros((1, 9), np.int64), 0, "int64"),
        (np.zeros((1, 9), np.uint8), 0, "uint8"),
        (np.zeros(9, np.int32), 0, r"shape \(9,\)"),
        (np.zeros((9, 2), np.int32).T, 0, "gaps"),
        (np.zeros((1, 9), np.dtype(">i4")), 0, ">i4"),
        (READ_ONLY, 0, "read-only"),
        ([[0] * 9], 0, "int32 array of shape"),
        (None, 0, "int32 array of shape"),
        (torch.zeros((1, 9), dtype=torch.int32, device="meta"), 0, "CPU"),
        (np.zeros((1, 9), np.int32), 1, "row is 1, and the bitmask has 1 rows"),
        (np.zeros((1, 9), np.int32), -1, "row is -1"),
    ],
)
def test_another_bitmask_is_refused(bitmask: Any, row: int, message: str) -> None:
    matcher = GrammarMatcher(NUMBER, BYTES)
    with pytest.raises(ArgumentError, match=message):
        matcher.fill(bitmask, row)
    with pytest.raises(ArgumentError, match=message):
        GrammarMatcher.fill_batch([matcher], bitmask, [row])


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda matcher: matcher.rollback(1), ArgumentError, "0 ids were taken; pass 0 to 0"),
        (lambda matcher: matcher.rollback(-1), ArgumentError, "count is -1"),
        (lambda matcher: matcher.take(-1), StreamError, "id -1"),
        (lambda matcher: matcher.take(10**7), StreamError, "id 10000000"),
        (lambda matcher: matcher.take(258), StreamError, "id 258"),
        (lambda matcher: matcher.take("a"), TypeError, "integer"),
        (lambda matcher: matcher.take(1.0), TypeError, "integer"),
        (lambda matcher: matcher.fill_batch([matcher] * 2, np.zeros((2, 9), np.int32)), ArgumentError, "once"),
        (lambda matcher: matcher.fill_batch([matcher], np.zeros((2, 9), np.int32), [0, 1]), ArgumentError, "2 rows"),
        (lambda matcher: matcher.fill_batch([matcher], np.zeros((2, 9), np.int32), threads=0), ArgumentError, "threads"),
        (pickle.dumps, TypeError, "cannot be pickled"),
        (copy.copy, TypeError, "cannot be pickled"),
    ],
)  # fmt: skip
def test_bad_calls_change_nothing(
    act: Callable[[GrammarMatcher], Any], error: type[Exception], message: str
) -> None:
    matcher = GrammarMatcher(NUMBER, BYTES)
    with pytest.raises(error, match=message):
        act(matcher)
    matcher.take(257, *b"hello123x")


def test_a_broken_matcher_is_reported_with_its_row() -> None:
    matchers = [GrammarMatcher("start: /a+/\n", BYTES) for _ in range(2)]
    matchers[1]._matcher.consume_token(10**6)  # as a limit that it reaches
    for words in (9, 12):
        with pytest.raises(StreamError, match="row 3: the grammar cannot go on"):
            GrammarMatcher.fill_batch(matchers, np.zeros((4, words), np.int32), [1, 3])
    with pytest.raises(StreamError, match=r"^the grammar cannot go on"):
        matchers[1].fill(np.zeros((1, 9), np.int32))
    with pytest.raises(StreamError, match="cannot go on"):
        matchers[1].take(97)


def test_matchers_of_a_batch_share_a_vocabulary() -> None:
    other = Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
    matchers = [GrammarMatcher("start: /a+/\n", vocabulary) for vocabulary in (BYTES, other)]
    with pytest.raises(ArgumentError, match="different vocabularies"):
        GrammarMatcher.fill_batch(matchers, np.zeros((2, 9), np.int32))


@pytest.mark.parametrize("grammar", ["", "start: missing\n", "no grammar", "start: /(/\n"])
def test_a_bad_grammar_is_refused(grammar: str) -> None:
    with pytest.raises(ArgumentError, match="the grammar cannot be read"):
        GrammarMatcher(grammar, BYTES)


def test_another_syntax_and_end_are_refused() -> None:
    with pytest.raises(ArgumentError, match="syntax='lark'"):
        GrammarMatcher(unspool.json_grammar({"type": "integer"}, syntax="gbnf"), BYTES)
    with pytest.raises(ArgumentError, match="-1"):
        GrammarMatcher(NUMBER, BYTES, end_ids=[END, -1])


@pytest.mark.parametrize("option", ["max_tokens=3", 'stop="."'])
def test_what_cannot_go_back_says_so(option: str) -> None:
    matcher = GrammarMatcher(f'start: "x" a\na[{option}]: /[a-z]+/\n', BYTES)
    matcher.take(*b"xa")
    with pytest.raises(ArgumentError, match="cannot go back"):
        matcher.rollback(1)
    matcher.take(*b"b")


@pytest.mark.parametrize("name", [file.name for file in unspool.formats() if file.has_tools])
def test_every_format_can_go_back(name: str) -> None:
    file = unspool.get_format(name)
    matcher = GrammarMatcher(file.grammar(tools_for(file), tool_choice="auto"), BYTES)
    (first, *_) = allowed_ids(bitmask_of(matcher, 9))
    matcher.take(first)
    matcher.rollback(1)


def test_a_table_of_a_vocabulary_is_kept_no_longer_than_it() -> None:
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
    matcher = GrammarMatcher("start: /a+/\n", vocabulary)
    assert token_trie(vocabulary) is matcher._trie


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    matcher = GrammarMatcher(NUMBER, BYTES)
    GrammarMatcher.fill_batch([matcher], np.zeros((1, 9), np.int32), threads=2)
    child = os.fork()
    if child == 0:
        bitmask = np.zeros((1, 9), np.int32)
        GrammarMatcher.fill_batch([matcher], bitmask, threads=2)
        os._exit(0 if allowed_ids(bitmask[0]) == [257] else 1)
    assert os.waitpid(child, 0)[1] == 0
