"""The answer of a case, and whether another answer is equivalent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

Answer = dict[str, Any]  # content, reasoning, calls: [[name, arguments]]


@dataclass(frozen=True)
class Job:
    """A case as every parser gets it.

    Attributes:
        plain: Whether content and reasoning are compared, too.
        thinks: What the prompt says of reasoning, where the case has one.
        names: The stack's tool parser and reasoning parser.
        prompts: The ends of prompts that open reasoning, and that close it.
        reasons: Whether the answer has reasoning; a stack is also asked without a reasoning parser if not.
        options: What unspool is given.
    """

    format: str
    name: str
    plain: bool
    tokens: list[tuple[int, str]]
    tools: list[dict[str, Any]]
    prompt: str | None
    thinks: bool | None
    finish_reason: str
    names: tuple[str, str] = ("", "")
    prompts: tuple[str, str] = ("", "")
    reasons: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def without_reasoning(self) -> Job:
        """The expected answer of a stack without a reasoning parser."""
        return replace(self, names=(self.names[0], ""))

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.tokens)

    def chunks(self, size: int) -> list[tuple[str, list[int], bool]]:
        """Text, ids, and whether it is the last; one empty chunk for an empty output."""
        step = size or len(self.tokens) or 1
        cuts = range(0, max(len(self.tokens), 1), step)
        parts = [self.tokens[i : i + step] for i in cuts]
        return [
            ("".join(text for _, text in part), [id for id, _ in part], i + 1 == len(parts))
            for i, part in enumerate(parts)
        ]


def differences(expected: Answer, found: Answer, plain: bool) -> list[str]:
    """The differences, a few words each."""
    if "error" in found:
        return [found["error"]]
    wrong: list[str] = []
    names = [name for name, *_ in expected["calls"]], [name for name, _ in found["calls"]]
    if names[0] != names[1]:
        wrong.append(f"calls {names[1]}, not {names[0]}")
    else:
        for (name, arguments, status), (_, other) in zip(expected["calls"], found["calls"]):  # noqa: B905
            if not _same_arguments(arguments, other, status):
                wrong.append(f"{name}: {_short(other)}, not {_short(arguments)}")
    if plain:
        for key in ("content", "reasoning"):
            if _words(found[key]) != _words(expected[key]):
                wrong.append(f"{key} {_short(found[key])}, not {_short(expected[key])}")
    return wrong


def _words(text: str | None) -> str:
    """Without white space, because stacks treat white space around markup differently."""
    return "".join((text or "").split())


def _same_arguments(expected: str, found: str, status: str) -> bool:
    if status == "complete":
        try:
            return bool(_typed(json.loads(expected)) == _typed(json.loads(found or "{}")))
        except ValueError:
            return False
    one, other = "".join(expected.split()), "".join((found or "").split())
    return one.startswith(other) or other.startswith(one)


def _typed(value: Any) -> Any:
    """Equality of JSON values: 1 is not true, and 1 is 1.0."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return (isinstance(value, bool), value)


def _short(text: Any) -> str:
    shown = repr(text)
    return shown if len(shown) < 90 else f"{shown[:60]}…{shown[-25:]}"
