"""Attacks of fixed numbers, and what earlier ones found."""

from __future__ import annotations

import inspect
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest
import unspool

from . import attack as attacks
from .__main__ import crash_in
from .attack import CHECKS, OPTIONS, Attack, draw, minimised, problems
from .mutations import MUTATIONS, World

pytestmark = pytest.mark.filterwarnings("ignore:the content has")

FOUND = sorted(Path(__file__).with_name("found").glob("*.json"))
SHARE = 125
SHARES = 32


@pytest.mark.rest(but_one_in=10)
@pytest.mark.parametrize("share", range(SHARES))
def test_fixed_attacks(share: int) -> None:
    for seed in range(share * SHARE, (share + 1) * SHARE):
        attack = draw(seed)
        assert not (found := problems(attack)), (seed, attack, found)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found(path: Path) -> None:
    assert problems(Attack.from_json(path.read_text(encoding="utf-8"))) == []


def test_an_attack_is_its_number_and_is_json() -> None:
    for seed in range(30):
        attack = draw(seed)
        assert attack == draw(seed) == Attack.from_json(attack.to_json())


def test_every_option_that_changes_parsing_is_drawn() -> None:
    """By text and by ids; the others are set by the checks, or say how a message is kept."""
    options = set(inspect.signature(unspool.Parser.__init__).parameters)
    others = {"self", "format", "tools", "unknown", "tokenizer", "id_seed", "reasoning_field", "keep_message"}
    assert options - others - {"audit", "labels", "rollback_window"} == set(OPTIONS)


def test_chains_use_the_formats_pieces() -> None:
    """Half of the attacks; most formats' chains hold calls that are complete."""
    complete = 0
    for number, format in enumerate(file.name for file in unspool.formats()):
        attacks = [draw(seed, [format]) for seed in range(2 * number + 1, 2 * number + 41, 2)]
        assert not any(attack.mutations for attack in attacks)
        messages = [unspool.parse(attack.raw, format) for attack in attacks]
        complete += any(call.is_complete for message in messages for call in message.tool_calls)
    assert complete > 60


def _ends(begin: int, count: int) -> None:
    if begin <= 12 < begin + count:
        os.kill(os.getpid(), signal.SIGSEGV)


def test_an_attack_that_ends_the_process_is_found() -> None:
    assert crash_in(0, 32, _ends) == 12
    assert crash_in(13, 32, _ends) is None


def test_there_are_24_mutations_and_each_changes_something() -> None:
    assert len(MUTATIONS) == 24
    for name, mutation in MUTATIONS.items():
        changed = 0
        for seed in range(20):
            world = World("hermes", random.Random(seed))
            text = world.output(own=True)
            changed += mutation(world, text) != text
        assert changed >= 3, name


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_that_fails_is_reported_and_made_small(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(attack: Attack, _: Any) -> None:
        assert b"Paris" not in attack.raw, "seen"

    monkeypatch.setitem(attacks.CHECKS, name, fails)
    attack = Attack("hermes", "Hello <tool_call> Paris </tool_call>", options={"repair": True})
    (problem,) = problems(attack)
    assert problem.startswith(f"{name}: AssertionError: seen")
    small = minimised(attack)
    assert (small.output, small.options) == ("Paris", {})


def test_a_parser_that_loses_a_byte_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks see what a faulty stream would do."""
    parse_chunk = attacks.Parser.parse_chunk

    def loses(self: Any, text: Any = None, **options: Any) -> Any:
        return parse_chunk(self, text[:-1] if text and len(text) > 3 else text, **options)

    monkeypatch.setattr(attacks.Parser, "parse_chunk", loses)
    found = {problem.partition(":")[0] for problem in problems(Attack("hermes", "Hello, what a long line"))}
    assert {"splits", "audit"} <= found
