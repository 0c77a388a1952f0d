"""The measured cases; each is a cell of the table, for all peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import real_tokenizers, workloads, worst_cases
from harness.workloads import Load

FORMATS = ("hermes", "llama3_json", "qwen3_coder", "deepseek_v4", "openai")
SSE_FORMATS = ("hermes", "deepseek_v4")
SET_UP_FORMATS = ("hermes", "deepseek_v4", "openai")
VARIANTS = 16  # number of different answers among the streams of a case
GROWN = 16_000  # tokens of all answers of one length together; there is at least one answer
COUNTED = 64  # number of streams in a case that counts memory


@dataclass(frozen=True)
class Sizes:
    """The sizes of all cases."""

    tokens: int = 256  # of an answer in cases with many streams
    streams: tuple[int, ...] = (1, 64, 256, 1024)
    growth: tuple[int, ...] = (1_000, 4_000, 16_000, 64_000)
    worst_kb: tuple[int, ...] = (16, 256)
    outputs: int = 256  # in a batch
    tools: tuple[int, ...] = (0, 2, 200)
    tokenizers: tuple[str, ...] = real_tokenizers.SIX


QUICK = Sizes(64, (1, 4), (200, 400), (1, 2), 8, (0, 2), ("deepseek",))


@dataclass(frozen=True)
class Case:
    section: str
    row: str
    column: str
    work: str
    loads: str  # a file; "" if a package for it is not installed
    streams: int
    more: dict[str, Any] = field(default_factory=dict)  # further fields of the job


class Loads:
    """Makes inputs once, as files for all peers. `missing` has the tokenizers that are not installed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.missing: dict[str, str] = {}

    def put(self, name: str, loads: list[Load]) -> str:
        path = self._folder / f"{name.replace(' ', '_')}.json"
        if not path.exists():
            workloads.save(loads, path)
        return str(path)

    def answers(self, format: str, tokens: int, count: int, tokenizer: str = "deepseek") -> str:
        """Make `count` different answers of `tokens` tokens each, and return their file."""
        tokenizer = "gpt-oss" if format == "openai" else tokenizer
        name = f"{format}-{tokens}-{count}-{tokenizer}"
        path = self._folder / f"{name}.json"
        if path.exists():
            return str(path)
        if tokenizer in self.missing:
            return ""
        try:
            return self.put(name, [workloads.make(format, tokens, i, tokenizer) for i in range(count)])
        except (ImportError, LookupError) as error:
            self.missing[tokenizer] = f"{type(error).__name__}: {error}"
            return ""


def all_cases(loads: Loads, sizes: Sizes, sections: tuple[str, ...]) -> Iterator[Case]:
    """Yield the cases of these sections whose inputs can be made here."""
    for name in sections:
        yield from (case for case in _MAKERS[name](loads, sizes) if case.loads)


def _rows(sizes: Sizes) -> Iterator[tuple[str, str, str, str]]:
    """Yield (name, work, format, tokenizer) for each row with many streams."""
    for tokenizer in sizes.tokenizers:
        yield f"detokenize, {tokenizer}", "detokenize", "text", tokenizer
    yield "text to deltas, hermes", "parse", "hermes", "deepseek"
    for format in FORMATS:
        yield f"ids to deltas, {format}", "deltas", format, "deepseek"
    for format in SSE_FORMATS:
        yield f"ids to SSE, {format}", "sse", format, "deepseek"


def _streams(loads: Loads, sizes: Sizes) -> Iterator[Case]:
    for row, work, format, tokenizer in _rows(sizes):
        path = loads.answers(format, sizes.tokens, VARIANTS, tokenizer)
        for count in sizes.streams:
            yield Case("streams", row, f"{count:,}", work, path, count)


def _growth(loads: Loads, sizes: Sizes) -> Iterator[Case]:
    for format in FORMATS:
        for tokens in sizes.growth:
            path = loads.answers(format, tokens, max(1, GROWN // tokens))
            yield Case("growth", f"ids to deltas, {format}", f"{tokens:,}", "deltas", path, 1)


def _worst(loads: Loads, sizes: Sizes) -> Iterator[Case]:
    for name in worst_cases.CASES:
        for size in sizes.worst_kb:
            path = loads.put(f"worst-{name}-{size}", [worst_cases.make(name, size)])
            yield Case("worst", name, f"{size} KB", "parse", path, 1)


def _threads(loads: Loads, sizes: Sizes) -> Iterator[Case]:
    path = loads.answers("hermes", sizes.tokens, VARIANTS)
    works = {
        "whole outputs, texts": ("whole texts", sizes.outputs),
        "whole outputs, lists of ids": ("whole lists", sizes.outputs),
        "whole outputs, arrays of ids": ("whole arrays", sizes.outputs),
    }
    for row, (work, count) in works.items():
        for threads in (1, 2):
            name = work if threads == 1 else f"{work}, 2 threads"
            column = "1 thread" if threads == 1 else "2 threads"
            yield Case("threads", row, column, name, path, count, {"clock": "wall"})


def _tools(count: int) -> list[Any]:
    parameters = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer"},
            "sort": {"enum": ["new", "old"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["query"],
    }
    functions = [
        {"name": f"search_{i}", "description": "Searches.", "parameters": parameters} for i in range(count)
    ]
    return [{"type": "function", "function": function} for function in functions]


def _set_up(loads: Loads, sizes: Sizes) -> Iterator[Case]:
    for format in SET_UP_FORMATS:
        for count in sizes.tools:
            for renews in (False, True) if count else (False,):
                column = f"{count} tools, {'new' if renews else 'known'}" if count else "no tools"
                made = [Load(format, [0], [""], tools=_tools(count), renews=renews) for _ in range(2)]
                path = loads.put(f"set-up-{column}-{format}", made)
                yield Case("set-up", f"a stream, {format}", column, "set-up", path, 20 if count > 2 else 200)


def _memory(loads: Loads, sizes: Sizes) -> Iterator[Case]:
    for row, work, format, tokenizer in _rows(sizes):
        if tokenizer == "deepseek":
            path = loads.answers(format, sizes.tokens, VARIANTS)
            yield Case("memory", row, "", work, path, COUNTED, {"counts": True})


_MAKERS: dict[str, Callable[[Loads, Sizes], Iterator[Case]]] = {
    "streams": _streams,
    "growth": _growth,
    "worst": _worst,
    "threads": _threads,
    "set-up": _set_up,
    "memory": _memory,
}
SECTIONS = tuple(_MAKERS)
