"""What models really write, through llama.cpp: its own chat server, and ours in front of it, on the same model.

A family is a chat template, of which llama.cpp makes its parser and we find our format; and outputs of such models as
users report them, with the calls that were meant. A scripted model writes each of them, to the letter.

    python -m tests.engines.drift

prints each family's count of right answers.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tokenizers import Tokenizer

from ..gguf_models import GgufVocabulary, write_scripted_model
from .llama_cpp_server import LlamaCppServer, running_llama_cpp

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Case", "Family", "Read", "answers_of", "families"]

_FILE = Path(__file__).with_name("drift.toml")
_CONTEXT = 8192
_PAD = "x"


@dataclass(frozen=True)
class Case:
    """An output, and the calls that were meant: (name, arguments)."""

    name: str
    source: str
    output: str
    calls: Sequence[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Family:
    """A chat template, and what models with it write."""

    format: str
    template: str
    special: Sequence[str]
    markers: Sequence[str]
    end: str
    cases: Sequence[Case]

    @property
    def vocabulary(self) -> GgufVocabulary:
        """Bytes, and its markers as tokens."""
        return GgufVocabulary.of_bytes(self.special, self.markers, self.end)


@dataclass(frozen=True)
class Read:
    """What a server made of an output.

    Attributes:
        is_written: Whether the model wrote the case's output. llama.cpp's own server has a grammar from a call's opener on,
            which may keep it from that; a real model then writes something else, and a scripted one nonsense.
    """

    status: int
    calls: Sequence[tuple[str, Any]] = ()
    content: str = ""
    error: str = ""
    is_written: bool = True

    def is_right(self, case: Case) -> bool:
        """The calls that were meant, and no others; without any, the text is there."""
        if self.status != 200 or list(self.calls) != [(name, dict(args)) for name, args in case.calls]:
            return False
        return bool(case.calls) or bool(self.content)


def tools() -> list[dict[str, Any]]:
    """The request's tools."""
    data = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"The tool {name}.",
                "parameters": {
                    "type": "object",
                    "properties": {key: {"type": kind} for key, kind in types.items()},
                },
            },
        }
        for name, types in data["tools"].items()
    ]


def families() -> list[Family]:
    """All of the file's."""
    data = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    found = []
    for entry in data["family"]:
        cases = [
            Case(
                case["name"],
                case["source"],
                case["output"],
                [(name, json.loads(args)) for name, args in case["calls"]],
            )
            for case in entry.pop("case")
        ]
        found.append(Family(cases=cases, **entry))
    return found


@dataclass
class _Book:
    """Where each case's output stands, for two ways to render its prompt."""

    following: list[int]
    place: int = 0
    pads: dict[str, str] = field(default_factory=dict)


def answers_of(family: Family, folder: Path) -> dict[str, tuple[Read, Read]]:
    """What llama.cpp's own server and ours make of each case, by its name."""
    vocabulary = family.vocabulary
    vocabulary.write_tokenizer(folder, family.template)
    end = vocabulary.tokens.index(family.end)
    write_scripted_model(folder / "blank.gguf", vocabulary, family.template, [end] * 64)
    with running_llama_cpp(folder / "blank.gguf", 1, 64) as server:
        length = len(_prompt(server, ""))
    encode = Tokenizer.from_file(str(folder / "tokenizer.json")).encode
    following, place = [end] * _CONTEXT, length
    pads = {}
    for case in family.cases:
        script = encode(case.output, add_special_tokens=False).ids
        following[place - 1 : place - 1 + len(script)] = script
        pads[case.name] = _PAD * (place - length)
        place += len(script) + 1
    write_scripted_model(folder / "model.gguf", vocabulary, family.template, following)
    with running_llama_cpp(folder / "model.gguf", 1, _CONTEXT) as server, _in_front(server, folder) as ours:
        assert len(_prompt(server, "xx")) == length + 2
        return {
            case.name: (
                _ask(server.url, pads[case.name], case, family.end),
                _ask(ours, pads[case.name], case, family.end),
            )
            for case in family.cases
        }


def _request(pad: str) -> dict[str, Any]:
    message = {"role": "user", "content": f"Hi{pad}"}
    return {
        "model": "m",
        "messages": [message],
        "tools": tools(),
        "max_tokens": 600,
        "temperature": 0,
        "logprobs": True,
    }


def _prompt(server: LlamaCppServer, pad: str) -> list[int]:
    """As llama.cpp renders it."""
    text = server.post("/apply-template", _request(pad))["prompt"]
    ids: list[int] = server.post("/tokenize", {"content": text, "parse_special": True, "add_special": False})[
        "tokens"
    ]
    return ids


def _ask(url: str, pad: str, case: Case, end: str) -> Read:
    answer = httpx.post(f"{url}/v1/chat/completions", json=_request(pad), timeout=60)
    if answer.status_code != 200:
        return Read(answer.status_code, error=answer.text)
    choice = answer.json()["choices"][0]
    message, calls = choice["message"], []
    for call in message.get("tool_calls") or ():
        arguments = call["function"]["arguments"]
        with contextlib.suppress(ValueError):
            arguments = json.loads(arguments)
        calls.append((call["function"]["name"], arguments))
    written = b"".join(bytes(token["bytes"] or b"") for token in choice["logprobs"]["content"])
    return Read(
        200,
        calls,
        message.get("content") or "",
        is_written=written.removesuffix(end.encode()) == case.output.encode(),
    )


@contextlib.contextmanager
def _in_front(server: LlamaCppServer, folder: Path) -> Iterator[str]:
    """Our server; it finds the format of the template by itself."""
    from unspool.serve.engines import connect

    from ..serve.conftest import running

    with running({"m": connect(server.url, tokenizer=str(folder))}) as api:
        yield f"http://127.0.0.1:{api.port}"


def main() -> None:
    """Print the counts, and each wrong answer."""
    kinds = ("llama.cpp", "ours")
    total: Counter[str] = Counter()
    for family in families():
        with tempfile.TemporaryDirectory() as folder:
            found = answers_of(family, Path(folder))
        counts: Counter[str] = Counter(cases=len(family.cases))
        for case in family.cases:
            own, ours = reads = found[case.name]
            for kind, read in zip(kinds, reads, strict=True):
                counts[kind] += read.is_right(case)
                if not read.is_right(case):
                    print(f"  {kind}: {case.name}: {read}")
            if not own.is_written:
                counts["kept from it by llama.cpp's grammar"] += 1
            else:
                counts["written"] += 1
                counts["of them llama.cpp"] += own.is_right(case)
                counts["of them ours"] += ours.is_right(case)
        print(family.format, dict(counts), flush=True)
        total += counts
    print("all", dict(total))


if __name__ == "__main__":
    main()
