"""One attack: an output, how it is read, and what must hold of it."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import unspool
from unspool import Message, Parser, StreamBatch, TokenStreamer, WireWriter
from unspool.testing import pieces_of, shipped_cases
from unspool.testing.wire import assemble, differences

from ..forks import ForkLaw, RollbackLaw
from ..outputs import TOOLS
from ..properties.label_tokens import END, Tokens, cut
from .chains import chain, draw_tools, draw_vocabulary
from .mutations import MUTATIONS, World

__all__ = ["Attack", "draw", "minimised", "problems"]

SEED = 7  # call ids are the same every time
TOOL_LISTS: dict[str, list[dict[str, Any]] | None] = {"known": TOOLS, "none": None, "empty": []}
PROTOCOLS = ("chat_completions", "completions", "responses", "messages", "open_inference", "google")
# Each option with values that change what is read or sent.
OPTIONS: dict[str, list[Any]] = {
    "repair": [True],
    "white_space": ["trim"],
    "unknown_tools": ["content", "drop-with-report"],
    "incomplete_calls": ["withhold"],
    "parallel_tool_calls": [False],
    "calls_in_fences": ["keep", "call"],
    "tool_calls_in_reasoning": ["auto", "keep", "end"],
    "start_in": ["content", "reasoning"],
    "unmarked_calls": [True],
    "also": ["any"],
    "reasoning": ["qwen3", False],
    "tool_choice": ["none", "required", "named"],
    "stop": [["Paris"], ["</", "\n\n"]],
    "include_stop": [True],
    "stop_in": ["everywhere"],
    "only_reasoning": [True],
    "prompt": ["none", "half", "whole and half"],
    "max_calls": [1, 2],
    "max_argument_bytes": [1, 20],
    "max_depth": [1, 3],
    "max_held_bytes": [1, 20, 200],
    "trust": ["text", "either"],
    "strict_markers": [True],
    "skip_special_tokens": [False],
}
# Those of token ids. A stream of text has no markers that it could trust strictly.
BY_IDS = {"trust", "strict_markers", "skip_special_tokens"}
# What a token streamer and a batch do not have.
OF_PARSERS = {"only_reasoning"}


@dataclass(frozen=True)
class Attack:
    """A mutated output, and the options that it is read with.

    Attributes:
        output: Bytes as Latin-1, so that an attack is JSON.
        tools: A key of TOOL_LISTS, or a list of tools.
        seed: Of the places where the checks cut.
        vocabulary: The texts that are tokens; None: the format's own markers.
    """

    format: str
    output: str
    tools: str | list[dict[str, Any]] = "known"
    reason: str = "stop"
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    mutations: tuple[str, ...] = ()
    vocabulary: list[str] | None = None

    def to_json(self) -> str:
        """A file of `found`."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Attack:
        """The attack in a file."""
        found = json.loads(text)
        return cls(**{**found, "mutations": tuple(found["mutations"])})

    @property
    def raw(self) -> bytes:
        """The output's bytes."""
        return self.output.encode("latin-1")

    @property
    def tool_list(self) -> list[dict[str, Any]] | None:
        """The request's tools."""
        return TOOL_LISTS[self.tools] if isinstance(self.tools, str) else self.tools

    def parser(self, **more: Any) -> Parser:
        """A fresh stream of text, or with a tokenizer of ids."""
        options = {**self.options, **more}
        if "tokenizer" not in more:
            options = {name: value for name, value in options.items() if name not in BY_IDS}
        return Parser(self.format, self.tool_list, id_seed=SEED, **options)


def draw(seed: int, formats: list[str] | None = None) -> Attack:
    """The attack of this number: every second one is a chain of pieces."""
    rng = random.Random(seed)
    format = rng.choice(formats or [file.name for file in unspool.formats()])
    attack = _draw_chain(format, seed, rng) if seed % 2 else _draw_mutation(format, seed, rng)
    try:
        _batch_of(attack, _tokens(attack, rng))
        attack.parser(tokenizer=_tokens(attack, rng).vocabulary)
    except unspool.ArgumentError:  # no marker is a token, or strict markers beside calls without them
        options = {name: value for name, value in attack.options.items() if name != "strict_markers"}
        return replace(attack, options=options)
    return attack


def _draw_mutation(format: str, seed: int, rng: random.Random) -> Attack:
    world = World(format, rng)
    output, names = rng.choice(shipped_cases(format)).input.encode(), []
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
        names.append(rng.choice(list(MUTATIONS)))
        output = MUTATIONS[names[-1]](world, output)[:20_000]
    tools = rng.choice(["known", "known", "none", "empty"])
    options = _draw_options(rng, output.decode("utf-8", "ignore"), "get_weather")
    if options.get("tool_choice") in ("required", "get_weather"):
        tools = "known"
    return Attack(
        format,
        output.decode("latin-1"),
        tools,
        rng.choice(["stop", "stop", "length", "error", "cancelled"]),
        options,
        seed,
        tuple(names),
    )


def _draw_chain(format: str, seed: int, rng: random.Random) -> Attack:
    tools = draw_tools(rng)
    output = chain(format, tools, rng)
    options = _draw_options(rng, chain(format, tools, rng), tools[0]["name"])
    is_forced = options.get("tool_choice") not in (None, "none")
    return Attack(
        format,
        output.encode().decode("latin-1"),
        tools if is_forced else rng.choice([tools, tools, tools, "none", "empty"]),
        rng.choice(["stop", "stop", "length"]),
        options,
        seed,
        (),
        draw_vocabulary(format, rng),
    )


def _draw_options(rng: random.Random, prompt: str, tool: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        name = rng.choice(list(OPTIONS))
        options[name] = rng.choice(OPTIONS[name])
    if options.get("tool_choice") == "named":
        options["tool_choice"] = tool
    if kind := options.get("prompt"):
        half = prompt[: rng.randint(0, len(prompt))]
        options["prompt"] = {"none": "", "half": half}.get(kind, prompt + half)
    if "start_in" in options:  # it says what a prompt would
        options.pop("prompt", None)
    return options


def problems(attack: Attack) -> list[str]:
    """What does not hold; the name of a check and what it says, one for each."""
    found = []
    for name, check in CHECKS.items():
        try:
            check(attack, random.Random(attack.seed))
        except Exception as error:
            found.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
    return found


def minimised(attack: Attack, most_tries: int = 2000) -> Attack:
    """A smaller attack that the same checks find."""
    wanted = {problem.partition(":")[0] for problem in problems(attack)}
    tries = 0

    def still(candidate: Attack) -> bool:
        nonlocal tries
        tries += 1
        return bool(wanted & {problem.partition(":")[0] for problem in problems(candidate)})

    for name in list(attack.options):
        fewer = replace(attack, options={key: value for key, value in attack.options.items() if key != name})
        attack = fewer if still(fewer) else attack
    size = max(1, len(attack.output) // 2)
    while size and tries < most_tries:
        at, has_shrunk = 0, False
        while at < len(attack.output) and tries < most_tries:
            shorter = replace(attack, output=attack.output[:at] + attack.output[at + size :])
            if still(shorter):
                attack, has_shrunk = shorter, True
            else:
                at += size
        size = size if has_shrunk and size > 1 else size // 2
    return attack


# What must hold.


def _key(message: Message) -> tuple[Any, ...]:
    return message.content, message.reasoning, message.tool_calls, message.malformed, message.finish_reason


def _fed(parser: Parser, pieces: list[Any], reason: str) -> tuple[list[Any], Message]:
    deltas = [delta for piece in pieces for delta in parser.parse_chunk(piece)]
    message = parser.finish(reason)
    return [*deltas, *message.deltas], message


def _cuts(rng: random.Random, size: int, most: int = 6) -> list[int]:
    return sorted(rng.randint(0, size) for _ in range(rng.randint(0, most)))


def _splits(attack: Attack, rng: random.Random) -> None:
    whole = attack.parser().parse(attack.raw, attack.reason)
    for call in whole.tool_calls:
        if call.is_complete:
            assert isinstance(json.loads(call.arguments), dict), call
            assert call.name, call
    for cuts in (_cuts(rng, len(attack.raw)), range(1, len(attack.raw))):
        _, message = _fed(attack.parser(), pieces_of(attack.raw, cuts), attack.reason)
        assert _key(message) == _key(whole), (list(cuts)[:8], _key(message), _key(whole))


def _audit(attack: Attack, rng: random.Random) -> None:
    whole = attack.parser(audit=True).parse(attack.raw, attack.reason)
    if "stop" not in attack.options:
        text = attack.raw.decode("utf-8", "replace")
        assert "".join(part for _, part in whole.audit) == _replaced(text, whole), (
            "the audit is not the output"
        )
    elif "\ufffd" not in (text := attack.raw.decode("utf-8", "replace")):
        assert text.startswith("".join(part for _, part in whole.audit)), "the audit is not in order"
    _, message = _fed(
        attack.parser(audit=True), pieces_of(attack.raw, _cuts(rng, len(attack.raw))), attack.reason
    )
    assert _joined(message) == _joined(whole), "the audit depends on the split"


def _joined(message: Message) -> list[tuple[str, str]]:
    """The audit, with one entry for what follows one another with one fate."""
    groups = itertools.groupby(message.audit, key=lambda entry: entry[0])
    return [(fate, "".join(text for _, text in group)) for fate, group in groups]


def _replaced(text: str, message: Message) -> str:
    """Our decoder and Python's may write another number of U+FFFD for one run of bad bytes."""
    joined = "".join(part for _, part in message.audit)
    same = [piece for piece in text.split("\ufffd") if piece] == [
        piece for piece in joined.split("\ufffd") if piece
    ]
    return joined if same else text


def _wires(attack: Attack, rng: random.Random) -> None:
    parser = attack.parser()
    batches = [parser.parse_chunk(piece) for piece in pieces_of(attack.raw, _cuts(rng, len(attack.raw)))]
    _check_wires(attack, batches, parser.finish(attack.reason))


def _wires_by_ids(attack: Attack, rng: random.Random) -> None:
    tokens = _tokens(attack, rng)
    parser = attack.parser(tokenizer=tokens.vocabulary)
    pieces = pieces_of(tokens.ids, _cuts(rng, len(tokens.ids)))
    batches = [parser.parse_chunk(tokens=piece) for piece in pieces]
    _check_wires(attack, batches, parser.finish(attack.reason))


def _check_wires(attack: Attack, batches: list[list[Any]], message: Message) -> None:
    batches = [*batches, list(message.deltas)]
    # The message has what was left out of the deltas.
    is_shorter = "incomplete_calls" in attack.options and (
        any(item.in_content for item in message.malformed)
        or not all(call.is_complete for call in message.tool_calls)
    )
    for protocol in PROTOCOLS:
        writer = WireWriter(protocol, model="m")
        wire = writer.begin() + b"".join(writer.write(batch) for batch in batches) + writer.end()
        whole = WireWriter(protocol, model="m", stream=False)
        for batch in batches:
            whole.write(batch)
        json.loads(whole.body())
        if protocol == "responses" and attack.reason == "error":
            continue
        (answer,) = assemble(protocol, wire)
        found = differences(protocol, answer, message)
        assert not found or is_shorter, (protocol, found)


def _forks(attack: Attack, rng: random.Random) -> None:
    _fork_law(attack).check(_cuts(rng, len(attack.raw), 3))


def _snapshots(attack: Attack, rng: random.Random) -> None:
    _fork_law(attack).check_snapshots(_cuts(rng, len(attack.raw), 3))


def _fork_law(attack: Attack) -> ForkLaw:
    return ForkLaw(
        lambda: attack.parser(audit=True), lambda stream, chunk: stream.parse_chunk(chunk),
        attack.raw, attack.raw[len(attack.raw) // 2 :], attack.reason,
    )  # fmt: skip


def _tokens(attack: Attack, rng: random.Random) -> Tokens:
    text = attack.raw.decode("utf-8", "replace")
    return cut(attack.format, text, lambda: rng.choice([1, 1, 2, 3, 5, 9]), attack.vocabulary)


def _streamer(attack: Attack, tokens: Tokens, **more: Any) -> TokenStreamer:
    options = {name: value for name, value in attack.options.items() if name not in OF_PARSERS}
    return TokenStreamer(tokens.vocabulary, attack.format, attack.tool_list, id_seed=SEED, **options, **more)


def _fork_law_by_ids(attack: Attack, rng: random.Random) -> ForkLaw:
    tokens = _tokens(attack, rng)
    return ForkLaw(
        lambda: attack.parser(tokenizer=tokens.vocabulary, audit=True, labels="stop" not in attack.options),
        lambda stream, chunk: stream.parse_chunk(tokens=chunk),
        tokens.ids, tokens.ids[len(tokens.ids) // 2 :], attack.reason,
    )  # fmt: skip


def _forks_by_ids(attack: Attack, rng: random.Random) -> None:
    law = _fork_law_by_ids(attack, rng)
    law.check(_cuts(rng, len(law.output), 3))


def _snapshots_by_ids(attack: Attack, rng: random.Random) -> None:
    law = _fork_law_by_ids(attack, rng)
    law.check_snapshots(_cuts(rng, len(law.output), 3))


def _audit_by_ids(attack: Attack, rng: random.Random) -> None:
    """Neither an audit nor labels change the message; the audit is the output."""
    tokens = _tokens(attack, rng)
    plain = attack.parser(tokenizer=tokens.vocabulary).parse(tokens.ids, attack.reason)
    for records in ({"audit": True}, {"labels": True}, {"audit": True, "labels": True}):
        message = attack.parser(tokenizer=tokens.vocabulary, **records).parse(tokens.ids, attack.reason)
        assert _key(message) == _key(plain), (records, _key(message), _key(plain))
        if "audit" in records and "stop" not in attack.options:
            said = "".join(text for _, text in message.audit).removesuffix(END)
            whole = b"".join(tokens.pieces).decode().removesuffix(END)
            assert said == whole, ("the audit is not the output", said, whole)


def _texts_and_ids(attack: Attack, rng: random.Random) -> None:
    """A host that detokenizes; it looks for stop strings itself, but in content."""
    if attack.options.get("stop_in") == "everywhere":
        return
    tokens = _tokens(attack, rng)

    def fed(cuts: Iterable[int]) -> Message:
        parser = attack.parser(tokenizer=tokens.vocabulary)
        places = [0, *cuts, len(tokens.ids)]
        for begin, end in itertools.pairwise(places):
            parser.parse_chunk(b"".join(tokens.pieces[begin:end]), tokens.ids[begin:end])
        return parser.finish(attack.reason)

    whole = fed(())
    for cuts in (_cuts(rng, len(tokens.ids)), range(1, len(tokens.ids))):
        message = fed(cuts)
        assert _key(message) == _key(whole), (list(cuts)[:8], _key(message), _key(whole))


def _ids(attack: Attack, rng: random.Random) -> None:
    tokens = _tokens(attack, rng)
    streamer = _streamer(attack, tokens)
    streamer.put(tokens.ids)
    whole = streamer.finish(attack.reason)
    for cuts in (_cuts(rng, len(tokens.ids)), range(1, len(tokens.ids))):
        streamer = _streamer(attack, tokens)
        for piece in pieces_of(tokens.ids, cuts):
            streamer.put(piece)
        message = streamer.finish(attack.reason)
        assert _key(message) == _key(whole), (list(cuts)[:8], _key(message), _key(whole))
        assert message.token_counts == whole.token_counts


def _labels(attack: Attack, rng: random.Random) -> None:
    tokens = _tokens(attack, rng)
    streamer = _streamer(attack, tokens, labels=True)
    for piece in pieces_of(tokens.ids, _cuts(rng, len(tokens.ids))):
        streamer.put(piece)
    labels = streamer.finish(attack.reason).labels
    assert labels is not None
    assert len(labels.regions) == len(labels.calls) == len(tokens.ids), "a token without a label"
    whole = _streamer(attack, tokens, labels=True)
    whole.put(tokens.ids)
    again = whole.finish(attack.reason).labels
    assert again is not None
    assert list(labels.regions) == list(again.regions)
    assert list(labels.calls) == list(again.calls)


def _rollbacks(attack: Attack, rng: random.Random) -> None:
    if "stop" in attack.options:
        return
    tokens = _tokens(attack, rng)
    ids = tokens.ids[:200]
    law = RollbackLaw(
        lambda: _streamer(attack, tokens, rollback_window=8), [rng.choice([1, 3, 8])], ids, tokens.ids[-5:], attack.reason
    )  # fmt: skip
    law.check([rng.choice([1, 2, 5, 40])])


def _batch_of(attack: Attack, tokens: Tokens) -> StreamBatch:
    options = {name: value for name, value in attack.options.items() if name not in OF_PARSERS}
    return StreamBatch(tokens.vocabulary, attack.format, end_ids=[], id_seed=SEED, **options)


def _batch(attack: Attack, rng: random.Random) -> None:
    tokens = _tokens(attack, rng)
    batch = _batch_of(attack, tokens)
    slot = batch.add(attack.tool_list)
    streamer = _streamer(attack, tokens)
    for piece in pieces_of(tokens.ids, _cuts(rng, len(tokens.ids))):
        result = batch.step([slot], piece, [0, len(piece)])
        assert result.deltas(slot) == streamer.put(piece)
    last = batch.finish(slot, attack.reason).deltas(slot)
    message = streamer.finish(attack.reason)
    assert last == list(message.deltas)
    assert _key(batch.message(slot)) == _key(message)


CHECKS: dict[str, Callable[[Attack, random.Random], None]] = {
    "splits": _splits,
    "audit": _audit,
    "wires": _wires,
    "forks": _forks,
    "snapshots": _snapshots,
    "ids": _ids,
    "audit by ids": _audit_by_ids,
    "texts and ids": _texts_and_ids,
    "forks by ids": _forks_by_ids,
    "snapshots by ids": _snapshots_by_ids,
    "wires by ids": _wires_by_ids,
    "labels": _labels,
    "rollbacks": _rollbacks,
    "batch": _batch,
}
