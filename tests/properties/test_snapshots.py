"""A stream restored from a snapshot at any byte and at any token goes on as a fresh stream does.

In deltas, ids, message, audit and labels; and its own snapshot is the same bytes.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from dataclasses import replace

import pytest
from unspool import get_format

from ..forks import ForkLaw
from .label_tokens import cut
from .test_forks import FILTERS, law_of_bytes, law_of_ids, pairs, places

pytestmark = pytest.mark.filterwarnings("ignore:the content has")


def some(format: str, law: ForkLaw, number: int, thorough: bool) -> Iterable[int]:
    """Every place when thorough, else about twelve of each case."""
    size = len(law.output)
    if thorough:
        return places(format, size, number, thorough)
    return range(number % 5, size + 1, max(1, size // 12))


def test_at_every_byte(format: str, thorough: bool) -> None:
    for number, (case, other) in enumerate(pairs(format)):
        law = law_of_bytes(case, other)
        law.check_snapshots(some(format, law, number, thorough))


def test_at_every_token(format: str, thorough: bool) -> None:
    for number, (case, other) in enumerate(pairs(format)):
        if "only_reasoning" in case.options:
            continue
        law = law_of_ids(case, other)
        law.check_snapshots(some(format, law, number, thorough))


def test_with_every_filter(format: str, thorough: bool) -> None:
    for number, (case, other) in enumerate(pairs(format)):
        options = {name: value for name, value in FILTERS.items() if name not in case.options}
        law = law_of_bytes(case, other, **options)
        law.check_snapshots(some(format, law, number, thorough))


def test_after_the_end_of_a_turn(format: str, thorough: bool) -> None:
    """The output goes on after an end, whole or cut off there, with what may follow one."""
    ends = get_format(format).facts.ends
    for number, (case, other) in enumerate(pairs(format)):
        if "only_reasoning" in case.options:
            continue
        for end in ends if thorough else ends[:2]:
            cut_off = case.input[: len(case.input) * (number % 3 + 1) // 3]
            ended = replace(case, input=f"{cut_off}{end}\n{end} x")
            given = FILTERS if number % 2 else {"repair": number % 4 == 0}
            options = {name: value for name, value in given.items() if name not in case.options}
            for law_of in (law_of_bytes, law_of_ids):
                law = law_of(ended, other, **options)
                size = len(law.output)
                law.check_snapshots(range(size - 4, size + 1))


def test_from_reasoning(format: str, thorough: bool) -> None:
    """The host says that the output starts in reasoning, whether or not the format has any."""
    for number, (case, other) in enumerate(pairs(format)):
        options = {"start_in": "reasoning"} if "only_reasoning" not in case.options else {}
        for law_of in (law_of_bytes, law_of_ids):
            law = law_of(case, other, **options)
            law.check_snapshots(some(format, law, number, thorough))


def test_every_state_has_a_snapshot(format: str) -> None:
    """At each byte and each token the state is written, and a restored stream writes the same."""
    for case, other in pairs(format):
        for law_of in (law_of_bytes, law_of_ids):
            law = law_of(case, other)
            stream, copy = law.make(), law.make()
            for place in range(len(law.output)):
                law.put(stream, law.output[place : place + 1])
                state = stream._state()
                copy._restore_state(state)
                assert copy._state() == state, f"{case.name}: after {law.output[: place + 1]!r}"


#: Begun and not ended, so that a body which another family writes is open in many states.
SLIPS = ('"{\\"a\\": [1, \\"b', '{"a": ["b', "<a>b", "(a=['b")


def test_after_a_slip(format: str, thorough: bool) -> None:
    """Within text that the family does not write there, at some places of each case."""
    for number, (case, other) in enumerate(pairs(format)):
        if "only_reasoning" in case.options:
            continue
        size = len(case.input)
        for place in range(number % 7, size + 1, 1 if thorough else max(1, size // 6)):
            slip = SLIPS[(number + place) % len(SLIPS)]
            before = case.input[:place] + slip[: (number + place) % len(slip) + 1]
            slipped = replace(case, input=case.input[:place] + slip + case.input[place:])
            given = FILTERS if place % 2 else {"repair": place % 4 == 0}
            options = {name: value for name, value in given.items() if name not in case.options}
            law_of_ids(slipped, other, **options).check_snapshots([len(cut(format, before).ids) - 1])
            law_of_bytes(slipped, other, **options).check_snapshots([len(before.encode())])


def test_false_bytes_do_no_harm(format: str, thorough: bool) -> None:
    """A state that no stream wrote, under a right tag, is refused, or makes a stream that may raise."""
    rng = random.Random(format)
    refused = 0
    for number, (case, other) in enumerate(pairs(format)[:: 1 if thorough else 4]):
        options = FILTERS if number % 2 else {}
        law = law_of_bytes(case, other, **{n: v for n, v in options.items() if n not in case.options})
        stream = law.make()
        law.put(stream, law.output[: rng.randrange(len(law.output) + 1)])
        state = stream._state()
        for _ in range(200 if thorough else 25):
            changed = damaged(state, rng)
            try:
                copy = law.make()
                copy._restore_state(changed)
                law.put(copy, law.other)
                copy.finish(law.finish_reason)
            except (ValueError, RuntimeError, IndexError, MemoryError):
                refused += 1
    assert refused > 0


@pytest.mark.parametrize("format", ["hermes", "hyperclovax", "qwen3_coder", "pythonic"])
def test_no_false_byte_makes_an_endless_loop(format: str) -> None:
    """Each byte of a state within a call is another small number, one at a time: it may be a choice's."""
    case, other = pairs(format)[0]
    law = law_of_bytes(case, other)
    for place in (2 * len(law.output) // 3, len(law.output) - 30):
        stream = law.make()
        law.put(stream, law.output[:place])
        state = stream._state()
        for at in range(len(state)):
            for value in {0, 1, 2} - {state[at]}:
                changed = bytearray(state)
                changed[at] = value
                try:
                    copy = law.make()
                    copy._restore_state(bytes(changed))
                    law.put(copy, law.other)
                    copy.finish(law.finish_reason)
                except (ValueError, RuntimeError, IndexError, MemoryError):
                    continue


@pytest.mark.parametrize("format", ["hermes", "hy_v3", "openai"])
def test_no_small_number_in_a_state_does_harm(format: str) -> None:
    """Each byte of a state before any call is each number below 40, one at a time: it may be an index."""
    case, other = pairs(format)[0]
    law = law_of_bytes(case, other)
    stream = law.make()
    law.put(stream, law.output[:1])
    state = stream._state()
    for at, value in itertools.product(range(len(state)), range(40)):
        copy = law.make()
        try:
            copy._restore_state(state[:at] + bytes([value]) + state[at + 1 :])
            law.put(copy, law.other)
            copy.finish(law.finish_reason)
        except (ValueError, RuntimeError, IndexError, MemoryError):
            continue


def damaged(state: bytes, rng: random.Random) -> bytes:
    changed = bytearray(state)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(changed))
        changed[at] = rng.choice((0, 1, 2, 0x7F, 0xFF, changed[at] ^ 1, rng.randrange(256)))
    return bytes(changed)
