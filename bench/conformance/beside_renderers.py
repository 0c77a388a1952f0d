"""Compares our labels and messages with those of PrimeIntellect's `renderers`, from the same token ids.

    python bench/conformance/beside_renderers.py [--names qwen3,glm-5] [--show] [--tokens 5000]

Needs `renderers==0.1.12` with `openai<3`, `httpx`, `numpy` and `tokenizers`. Its classes are in
beside_renderers.toml, with our format for each. renderers.md is a run, and says what is compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import renderers
import stand_in
import tomllib
import unspool
from renderers.base import RENDERER_REGISTRY, _populate_registry, build_training_sample
from renderers.configs import config_from_name
from unspool.errors import ArgumentError

CLASSES = Path(__file__).with_suffix(".toml")
USER = {"role": "user", "content": "Go on."}
TEXT = "The sky over Kraków is blue.\n\nIt will rain: 3 < 4."
TOKENS_OF_TEXT = 18
THOUGHT = "They ask for the weather.\nSo I look it up."
WEATHER = ("get_weather", {"city": "Zürich", "days": 3, "metric": True, "note": "5"})
SEARCH = ("search", {"query": "if (a < b && c) { return \"d\"; }\n  [e] 'f'", "tags": ["x", {"y": None}]})
TYPES = {"city": "string", "days": "integer", "metric": "boolean", "note": "string", "query": "string",
         "tags": "array"}  # fmt: skip
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "It.", "parameters": {
        "type": "object", "properties": {key: {"type": TYPES[key]} for key in arguments}}}}
    for name, arguments in (WEATHER, SEARCH)
]  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """A message that both must parse."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()

    def as_openai(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": f"functions.{name}:{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                }
                for n, (name, arguments) in enumerate(self.calls)
            ]
        return message

    def differences(self, other: Answer, exact: bool = False) -> list[str]:
        """The parts that the other has otherwise. White space around texts does not count; if `exact`, that behind
        the content does."""
        content, others = (
            (self.content, other.content) if exact else (self.content.rstrip(), other.content.rstrip())
        )
        pairs = {
            "content": (content.lstrip(), others.lstrip()),
            "reasoning": (self.reasoning.strip(), other.reasoning.strip()),
            "calls": (_json(self.calls), _json(other.calls)),
        }
        return [part for part, (one, two) in pairs.items() if one != two]


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


PLAIN = {
    "content": Answer(TEXT),
    "reasoning, content": Answer(TEXT, THOUGHT),
    "a call": Answer(calls=(WEATHER,)),
    "content, a call": Answer(TEXT, calls=(WEATHER,)),
    "reasoning, a call": Answer("", THOUGHT, (SEARCH,)),
    "two calls": Answer(calls=(SEARCH, WEATHER)),
    "no arguments": Answer(calls=(("get_weather", {}),)),
    "all": Answer("I look.", THOUGHT, (WEATHER, SEARCH)),
}


def hard(file: unspool.FormatFile) -> dict[str, Answer]:
    """Messages that mention the format's own markers, or have white space at their ends."""
    thought = THOUGHT if file.has_reasoning else ""
    found = {
        "white space behind content": Answer("Hi  \n\n", thought),
        "white space around a value": Answer("", thought, (("get_weather", {"city": " x\n"}),)),
    }
    for marker in file.facts.marker_tokens:
        city = ("get_weather", {"city": f"a {marker} b"})
        found[f"{marker} in content"] = Answer(f"The tag {marker} is a tag.", thought)
        found[f"{marker} in a value"] = Answer("", thought, (city,))
        if thought:
            found[f"{marker} in reasoning"] = Answer("Yes.", f"The tag {marker} is a tag.")
    return found


class StandIn:
    """A tokenizer in the form that `renderers` expects: about a word per token, and one token per marker."""

    unk_token_id = None
    unk_token = bos_token = None
    is_fast = True

    def __init__(self, name: str, markers: tuple[str, ...]) -> None:
        self.name_or_path = name
        self.core = stand_in.with_markers(stand_in.train([TEXT, THOUGHT, _json(WEATHER), _json(SEARCH)]), [])
        self._base = stand_in.with_markers(self.core.to_str(), [])
        for marker in markers:
            self.convert_tokens_to_ids(marker)

    def convert_tokens_to_ids(self, token: Any) -> Any:
        if isinstance(token, list):
            return [self.convert_tokens_to_ids(one) for one in token]
        if self.core.token_to_id(token) is None:
            from tokenizers import AddedToken

            self.core.add_tokens([AddedToken(token, normalized=False, special=False)])
        return self.core.token_to_id(token)

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        return list(self.core.encode(text, add_special_tokens=False).ids)

    def encode_plain(self, text: str) -> list[int]:
        """The same without markers."""
        return list(self._base.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Any, *_: Any, **__: Any) -> str:
        return str(self.core.decode(list(ids), skip_special_tokens=False))

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        made = self.core.encode(text, add_special_tokens=False)
        return {"input_ids": made.ids, "offset_mapping": made.offsets}


@dataclass
class Row:
    """The counts of one class."""

    name: str
    format: str
    masks: list[int] = field(default_factory=lambda: [0, 0])
    theirs: list[int] = field(default_factory=lambda: [0, 0])
    ours: list[int] = field(default_factory=lambda: [0, 0])
    hard: list[int] = field(default_factory=lambda: [0, 0, 0])
    times: tuple[float, float] = (0.0, 0.0)
    notes: list[str] = field(default_factory=list)

    def as_markdown(self) -> str:
        cells = [
            self.name,
            self.format,
            *(f"{a} of {b}" for a, b in (self.masks, self.theirs, self.ours)),
            f"{self.hard[0]} / {self.hard[1]} of {self.hard[2]}",
            f"{self.times[0]:.2f} / {self.times[1]:.3f}",
            f"{self.times[0] / self.times[1]:.0f}" if self.times[1] else "",
        ]
        return "| " + " | ".join(cells) + " |"


HEAD = """| class | our format | equal masks | read as meant: theirs | ours | hard ids read: theirs / ours | \
µs a token: theirs / ours | ratio |
|---|---|---|---|---|---|---|---|"""


class Pair:
    """One of its classes and our format, with the same tokenizer."""

    def __init__(self, name: str, format: str, tokens: Sequence[str] = ()) -> None:
        self.file = unspool.get_format(format)
        self.tokenizer = StandIn(name, (*self.file.facts.marker_tokens, *tokens))
        self.renderer = RENDERER_REGISTRY[name](self.tokenizer, config_from_name(name))
        self.vocabulary = unspool.Vocabulary.from_tokenizer(self.tokenizer.core)
        self.prompt = list(self.renderer.render_ids([USER], tools=TOOLS, add_generation_prompt=True))

    @property
    def allows_two_calls(self) -> bool:
        """Whether its template supports a message with two calls."""
        try:
            self.turn(PLAIN["two calls"])
        except ValueError:
            return False
        return True

    def turn(self, answer: Answer) -> tuple[list[int], list[bool], int, int]:
        """All ids, their mask, and where the answer begins and ends."""
        made = build_training_sample(
            self.renderer, [USER, answer.as_openai()], tools=TOOLS, ensure_final_stop=True
        )
        mask, count = [bool(one) for one in made.loss_mask], len(self.prompt)
        begin = count if made.token_ids[:count] == self.prompt else mask.index(True)
        return made.token_ids, mask, begin, len(mask) - mask[::-1].index(True)

    def ours(self, prompt: list[int], ids: list[int]) -> tuple[Answer, list[int]]:
        """Our message, and the mask of the answer."""
        parser = unspool.BatchParser(self.file, TOOLS, tokenizer=self.vocabulary, labels=True, prompt=prompt)
        (message,) = parser.parse([ids])
        calls = tuple((call.name, _value(call.arguments)) for call in message.tool_calls)
        return Answer(message.content, message.reasoning, calls), unspool.loss_mask(message.labels).tolist()

    def theirs(self, prompt: list[int], ids: list[int]) -> Answer:
        """Their message."""
        read = self.renderer.parse_response(ids, tools=TOOLS, prompt_ids=prompt)
        calls = tuple((call.name, _value(call.arguments)) for call in read.tool_calls if call.status == "ok")
        return Answer(read.content or "", read.reasoning_content or "", calls)


def _value(arguments: Any) -> Any:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def compare(name: str, format: str, extra: Sequence[str], tokens: int) -> Row:
    """All counts of one class."""
    pair, row = Pair(name, format, extra), Row(name, format)
    for what, answer in PLAIN.items():
        if len(answer.calls) < 2 or pair.allows_two_calls:
            _compare_plain(pair, row, what, answer)
    for what, answer in hard(pair.file).items():
        _compare_hard(pair, row, what, answer)
    row.times = measure(pair, tokens)
    return row


def _compare_plain(pair: Pair, row: Row, what: str, answer: Answer) -> None:
    """Their renderings: both masks, and both messages."""
    ids, mask, begin, end = pair.turn(answer)
    prompt, output = ids[:begin], ids[begin:end]
    if answer.reasoning not in pair.tokenizer.decode(output):  # the template omits it
        answer = replace(answer, reasoning="")
    mine, own_mask = pair.ours(prompt, output)
    row.masks[1] += 1
    is_equal = [0] * begin + own_mask == [int(one) for one in mask[:end]]
    row.masks[0] += is_equal
    if not is_equal:
        row.notes.append(f"{what}: mask {_mask_difference(pair, ids, mask[:end], [0] * begin + own_mask)}")
    for side, counts, read in (("theirs", row.theirs, pair.theirs(prompt, output)), ("ours", row.ours, mine)):
        counts[1] += 1
        wrong = answer.differences(read)
        counts[0] += not wrong
        if wrong:
            text = pair.tokenizer.decode(output)
            row.notes.append(f"{what}: {side} differ in {wrong}: {read!r} of {text!r}")


def _mask_difference(pair: Pair, ids: list[int], theirs: list[bool], ours: list[int]) -> str:
    places = [n for n, (a, b) in enumerate(zip(theirs, ours, strict=True)) if a != b]
    shown = [(pair.tokenizer.decode([ids[n]]), int(theirs[n]), ours[n]) for n in places[:6]]
    return f"(token, theirs, ours): {shown}"


def _compare_hard(pair: Pair, row: Row, what: str, answer: Answer) -> None:
    """Our renderings, with markers in texts as plain tokens; parsed by both without a prompt."""
    try:
        ids = pair.file.render_ids(
            answer.as_openai(), pair.vocabulary, pair.tokenizer.encode_plain, tools=TOOLS, exact=True
        )
    except ArgumentError:
        return
    row.hard[2] += 1
    for place, read in enumerate((pair.theirs([], ids), pair.ours([], ids)[0])):
        wrong = answer.differences(read, exact=True)
        row.hard[place] += not wrong
        if wrong:
            side = ("theirs", "ours")[place]
            row.notes.append(f"{what}: {side} differ in {wrong}: {read!r} of {pair.tokenizer.decode(ids)!r}")


def measure(pair: Pair, tokens: int) -> tuple[float, float]:
    """µs of CPU per token for a mask over one long call: theirs renders it, ours parses the sampled ids."""
    answer = Answer(calls=(("search", {"query": " ".join([TEXT] * (tokens // TOKENS_OF_TEXT))}),))
    ids, _, begin, end = pair.turn(answer)
    prompt, output = ids[:begin], ids[begin:end]
    parser = unspool.BatchParser(pair.file, TOOLS, tokenizer=pair.vocabulary, labels=True, prompt=prompt)
    message = answer.as_openai()

    def ours() -> None:
        unspool.loss_mask(parser.parse([output])[0].labels, prompt=begin)

    def theirs() -> None:
        build_training_sample(pair.renderer, [USER, message], tools=TOOLS)

    return least(theirs) / len(ids) * 1e6, least(ours) / len(output) * 1e6


def least(step: Callable[[], None], runs: int = 5) -> float:
    """The minimum CPU seconds of several runs."""
    found = []
    for _ in range(runs):
        begin = time.process_time()
        step()
        found.append(time.process_time() - begin)
    return min(found)


def rows(names: list[str], tokens: int) -> Iterator[Row]:
    for name, entry in tomllib.loads(CLASSES.read_text(encoding="utf-8")).items():
        if not names or name in names:
            yield compare(name, entry["format"], entry.get("tokens", ()), tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", default="")
    parser.add_argument("--tokens", type=int, default=5000)
    parser.add_argument("--show", action="store_true", help="show what differs, on stderr")
    options = parser.parse_args()
    _populate_registry()
    print(f"renderers {renderers.__version__}\n\n{HEAD}")
    for row in rows(options.names.split(",") if options.names else [], options.tokens):
        print(row.as_markdown(), flush=True)
        for note in row.notes if options.show else ():
            print(f"  {note}", file=sys.stderr)


if __name__ == "__main__":
    main()
