"""The streams of a soak: each is made of a seed and a number, and knows what it must say."""

from __future__ import annotations

import functools
import random
from collections import Counter
from typing import Any

import unspool
from unspool import ArgumentError, Message, Parser, StreamBatch, StreamError, TokenStreamer, Vocabulary
from unspool.testing import shipped_cases
from unspool.testing.cases import Case

KEY = b"the key of the soak"
CASES = [case for case in shipped_cases() if "prompt" not in case.options]
FILES = {file.name: file for file in unspool.formats()}


@functools.cache
def tokens_of(format: str) -> list[str]:
    facts = FILES[format].facts
    return sorted({text for text in (*facts.markers, *facts.marker_tokens) if len(text) > 1 and text.strip()})


@functools.cache
def vocabulary_of(format: str) -> Vocabulary:
    """One id a byte, and one for each marker."""
    added = [(256 + i, text, text, True) for i, text in enumerate(tokens_of(format))]
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True)


@functools.cache
def may_be_strict(format: str) -> bool:
    try:
        Parser(format, tokenizer=vocabulary_of(format), strict_markers=True)
    except ArgumentError:
        return False
    return True


def is_plain(options: dict[str, Any]) -> bool:
    """Whether a stream of these options may trust ids alone."""
    return options.get("trust", "id") == "id" and not options.get("unmarked_calls")


def encode(rng: random.Random, text: str, tokens: list[str]) -> list[int]:
    """The ids of a text: a marker is its token, or now and then spelled with ordinary tokens."""
    ids: list[int] = []
    while text:
        token = max((t for t in tokens if text.startswith(t)), key=len, default="")
        if token and rng.random() < 0.9:
            ids.append(256 + tokens.index(token))
        else:
            token = text[0]
            ids += token.encode()
        text = text[len(token) :]
    return ids


def output_of(rng: random.Random, case: Case) -> str:
    """A case's output as it is, cut, damaged, doubled, or a soup of the format's markers."""
    text, kind = case.input, rng.randrange(8)
    if kind == 0:
        return text[: rng.randint(0, len(text))]
    if kind == 1:
        at = rng.randint(0, len(text))
        return (
            text[:at]
            + rng.choice([*tokens_of(case.format), "é", '"', "}", "\n"])
            + text[at + rng.randrange(4) :]
        )
    if kind == 2:
        return text * 2
    if kind == 3:
        words = [*tokens_of(case.format), '{"name": "f", "arguments": {"x": 1}}', " a ", "\n", "𝄞", "f"]
        return "".join(rng.choice(words) for _ in range(rng.randrange(20)))
    return text


def shown(message: Message, ids: bool = True) -> tuple[Any, ...]:
    calls = [(call.id if ids else "", call.name, call.arguments, call.status) for call in message.tool_calls]
    problems = [(item.text, item.reason) for item in message.malformed]
    return message.content, message.reasoning, calls, problems, message.finish_reason


class Plan:
    """What a stream is made of and fed: `pieces` are texts or lists of ids."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.rng = rng = random.Random(seed)
        self.case = case = rng.choice(CASES)
        self.by_id = rng.random() < 0.6
        self.options: dict[str, Any] = {**case.options, "id_seed": rng.randrange(1, 1 << 40)}
        for name, values in (("repair", [True]), ("white_space", ["trim"]), ("incomplete_calls", ["withhold"]),
                             ("unknown_tools", ["content", "drop-with-report"]), ("parallel_tool_calls", [False]),
                             ("stop", [["Paris"], ["</"]])):  # fmt: skip
            if rng.random() < 0.1:
                self.options[name] = rng.choice(values)
        if self.by_id:
            self.options["tokenizer"] = vocabulary_of(case.format)
            if is_plain(self.options) and rng.random() < 0.2 and may_be_strict(case.format):
                self.options["strict_markers"] = True
        self.reason = rng.choices(["stop", "length", "cancelled", "error"], [12, 3, 2, 1])[0]
        text = output_of(rng, case)
        fed: Any = encode(rng, text, tokens_of(case.format)) if self.by_id else text.encode()
        if self.reason != "stop":
            fed = fed[: rng.randint(0, len(fed))]
        self.fed = fed
        self.pieces = self._cut()

    def _cut(self) -> list[Any]:
        pieces, at, longest = [], 0, self.rng.choice([1, 3, 8, 64, 4096])
        while at < len(self.fed):
            size = self.rng.randint(1, longest)
            pieces.append(self.fed[at : at + size])
            at += size
        return pieces

    def parser(self, **options: Any) -> Parser:
        return Parser(self.case.format, self.case.tools, **{**self.options, **options})

    def feed(self, stream: Any, piece: Any) -> list[Any]:
        return stream.parse_chunk(None, piece) if self.by_id else stream.parse_chunk(piece)

    def check(self, message: Message, how: str, *, ids: bool = True) -> None:
        """Raises AssertionError: the message is not what one call makes of the same input, call ids included if `ids`."""
        whole = self.parser().parse(self.fed, self.reason)
        if shown(message, ids) != shown(whole, ids):
            raise AssertionError(
                f"stream {self.seed} ({self.case}, {how}) differs from one-shot:\n{shown(message)}\n{shown(whole)}"
            )


class Stream:
    """A live stream that is fed a piece a step, and forked, moved, taken back or dropped meanwhile."""

    def __init__(self, seed: str, counts: Counter[str]) -> None:
        self.plan = plan = Plan(seed)
        self.counts = counts
        self.rng = plan.rng
        self.window = 8 if plan.by_id and not plan.options.get("stop") and self.rng.random() < 0.2 else 0
        self.stream: Any = plan.parser(rollback_window=self.window)
        self.left = list(reversed(plan.pieces))
        self.done: list[Any] = []

    def step(self) -> bool:
        """Feed a piece; False: the stream has ended, and its message was right."""
        if self.left:
            self._disturb()
            piece = self.left.pop()
            self.plan.feed(self.stream, piece)
            self.done.append(piece)
            self.counts["chunks"] += 1
            return True
        if self.rng.random() < 0.03:
            self.counts["dropped without an end"] += 1
            return False
        self.plan.check(self.stream.finish(self.plan.reason), "streamed")
        self.counts[f"ended: {self.plan.reason}"] += 1
        return False

    def _disturb(self) -> None:
        kind = self.rng.randrange(60)
        if kind == 0:
            self._fork()
        elif kind == 1 and not self.window:
            made = self.stream.snapshot(key=KEY)
            self.stream = Parser.restore(
                made, self.plan.case.format, self.plan.case.tools, key=KEY, **self.plan.options
            )
            self.counts["snapshots"] += 1
        elif kind == 2 and self.window:
            draft = [self.rng.randrange(256) for _ in range(self.rng.randint(1, self.window))]
            self.stream.parse_chunk(None, draft)
            self.stream.rollback(len(draft))
            self.counts["rollbacks"] += 1
        elif kind == 3:
            try:
                self.stream.parse_chunk(3.5)
            except TypeError:
                self.counts["refused arguments"] += 1
            else:
                raise AssertionError(f"stream {self.plan.seed} took a number for text")

    # The copy goes on to the end at once; the stream then reads on as if it were alone.
    def _fork(self) -> None:
        copy = self.stream.fork()
        if self.rng.random() < 0.5:
            copy, self.stream = self.stream, copy
        for piece in reversed(self.left):
            self.plan.feed(copy, piece)
        self.plan.check(copy.finish(self.plan.reason), "forked")
        self.counts["forks"] += 1


class Batch:
    """A `StreamBatch` whose slots are filled again as they end."""

    def __init__(self, seed: str, counts: Counter[str], slots: int = 16, format: str = "") -> None:
        self.counts = counts
        self.seed, self.number, self.slots = seed, 0, slots
        self.format = format or random.Random(seed).choice(list(FILES))
        self.batch = StreamBatch(vocabulary_of(self.format), self.format)
        self.plans: dict[int, tuple[Plan, list[int]]] = {}

    def step(self) -> bool:
        while len(self.plans) < self.slots:
            self._add()
        slots, ids, offsets = [], [], [0]
        for slot, (plan, left) in self.plans.items():
            piece = left[: plan.rng.randint(0, 3)]
            del left[: len(piece)]
            slots.append(slot)
            ids += piece
            offsets.append(len(ids))
        self.batch.step(slots, ids, offsets)
        self.counts["batch steps"] += 1
        for slot in [slot for slot, (_, left) in self.plans.items() if not left]:
            plan, _ = self.plans.pop(slot)
            try:
                self.batch.finish(slot, plan.reason)
            except StreamError:  # an end token or a stop string has ended it
                self.counts["batch: ended by themselves"] += 1
            else:
                plan.check(self.batch.message(slot), "in a batch")
                self.counts["ended in a batch"] += 1
            self.batch.remove(slot)
        return self.number < 200

    def _add(self) -> None:
        while True:
            self.number += 1
            plan = Plan(f"{self.seed}.{self.number}")
            if plan.by_id and plan.case.format == self.format:
                break
            plan.case = plan.rng.choice([case for case in CASES if case.format == self.format])
            text = output_of(plan.rng, plan.case)
            plan.by_id = True
            plan.options = {**plan.case.options, "id_seed": 7, "tokenizer": vocabulary_of(self.format)}
            plan.fed = encode(plan.rng, text, tokens_of(self.format))
            break
        options = {name: value for name, value in plan.options.items() if name != "tokenizer"}
        slot = self.batch.add(plan.case.tools, **options)
        self.plans[slot] = (plan, list(plan.fed))


def token_streamer(plan: Plan, **delivery: Any) -> TokenStreamer:
    options = {
        name: value for name, value in plan.options.items() if name not in ("tokenizer", "only_reasoning")
    }
    return TokenStreamer(
        vocabulary_of(plan.case.format), plan.case.format, plan.case.tools, **options, **delivery
    )
