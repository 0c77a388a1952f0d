"""Parses renderings with a learnt format and compares the results with the rendered messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from unspool._core import Format, ToolSchemas
from unspool.core.stream.message import Message
from unspool.core.stream.reading import read_chunks
from unspool.errors import FormatError
from unspool.formats.format_file import FormatFile
from unspool.formats.templates.probe import Answer

__all__ = ["Failure", "Reading", "meant_calls", "prove", "read_calls"]

#: Number of characters at the prompt's end that each parser reads if there are many parsers.
_PROMPT_END = 400


@dataclass(frozen=True)
class Reading:
    """A rendering and its expected result.

    Attributes:
        name: The readable name of the probe.
        prompt: The prompt.
        text: The model's output.
        answer: The message that was rendered.
        rest: The part of the generation prompt after `prompt` that the rendering does not contain.
        lead: The end of `prompt` that belongs to the answer's turn.
    """

    name: str
    prompt: str
    text: str
    answer: Answer
    rest: str = ""
    lead: str = ""

    def as_written(
        self, opener: str, closer: str, *, is_hidden: bool, ends: tuple[str, ...]
    ) -> list[tuple[str, str]]:
        """Return prompts and outputs of a model that writes this markup around its reasoning, and stops at `ends`.

        If a template's prompt ends with the opener, its conversation may omit it. If it removes reasoning
        (`is_hidden`), it also omits the closer, which the model writes.
        """
        whole = self.prompt + self.rest
        if is_hidden and not self.answer.reasoning and opener and whole.rstrip().endswith(opener):
            splits = [(whole, closer + self.text)]
            splits += [(self.prompt, self.text)] if opener in self.rest else []
        elif self.answer.reasoning and opener and opener in self.rest:
            written = self.prompt[-_PROMPT_END:] + self.text.split(self.answer.reasoning[:8], 1)[0]
            splits = [(self.prompt if opener in written else whole, self.text)]
        else:
            splits = [(self.prompt, self.text)]
        cut = [(prompt, self._until(end, text)) for prompt, text in splits for end in ends]
        return [*splits, *((prompt, text) for prompt, text in cut if text)]

    def _until(self, end: str, text: str) -> str:
        """Return the output up to the end where the model stops; "" if the model continues there."""
        before, _, after = text.partition(end)
        parts = [self.answer.content.split("\n")[0], *(call.name for call in self.answer.calls)]
        return "" if before == text or any(part and part in after for part in parts) else before


@dataclass(frozen=True)
class Failure:
    """A reading that differs.

    Attributes:
        name: The probe's name.
        reason: How the reading differs.
        passed: The number of right readings before it.
        parts: What was found of the format, and what was not.
    """

    name: str
    reason: str
    passed: int = 0
    parts: str = ""


def prove(
    file: FormatFile,
    readings: Iterable[Reading],
    tools: ToolSchemas | None,
    *,
    thorough: bool = False,
    is_hidden: bool = False,
) -> Failure | None:
    """Return the first reading that differs, or None.

    Args:
        thorough: Parse each text at every split, not only as a whole.
        is_hidden: Whether the template removes reasoning from a conversation.
    """
    try:
        format = Format(file)  # not cached: most proposals are tried only once
    except FormatError as error:
        return Failure("compiling", str(error))
    opener, closer = "", ""
    for reasoning in file.shape.reasoning[:1]:
        opener, closer = reasoning.open.text, reasoning.close.literal
    ends = file.patterns.get("end", ())
    for passed, reading in enumerate(readings):
        for written_prompt, text in reading.as_written(opener, closer, is_hidden=is_hidden, ends=ends):
            for prompt, pieces in _ways(written_prompt, text) if thorough else [(written_prompt, [text])]:
                reason = difference(read_chunks(format, pieces, tools, prompt=prompt), reading.answer)
                if reason:
                    return Failure(reading.name, f"{reason}, in {_short(text)}", passed)
    return None


def _ways(prompt: str, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the prompt and the pieces for each way to feed a text."""
    yield prompt, [text]
    yield prompt, list(text)
    for place in range(1, len(text)):
        yield prompt[-_PROMPT_END:], [text[:place], text[place:]]


def difference(message: Message, answer: Answer) -> str:
    """Return how a message differs from the answer; "" if it does not. White space at the ends of a text is ignored."""
    calls, meant = read_calls(message), meant_calls(answer)
    if calls != meant:
        return f"the calls are {_short(calls)}, not {_short(meant)}"
    if not all(call.is_complete for call in message.tool_calls):
        return "a call is not complete"
    if message.reasoning.strip() != answer.reasoning.strip():
        return f"the reasoning is {_short(message.reasoning)}, not {_short(answer.reasoning)}"
    if message.content.strip() != answer.content.strip():
        return f"the content is {_short(message.content)}, not {_short(answer.content)}"
    if message.malformed:
        return f"{_short(message.malformed[0].text)} is malformed"
    return ""


def read_calls(message: Message) -> list[str]:
    """Return the calls of a message as texts that can be compared with `meant_calls`."""
    return [_call(call.name, call.arguments) for call in message.tool_calls]


def meant_calls(answer: Answer) -> list[str]:
    """Return the calls of a rendered answer as texts."""
    return [_call(call.name, json.dumps(call.arguments)) for call in answer.calls]


def _call(name: str, arguments: str) -> str:
    try:
        value = json.loads(arguments)
    except ValueError:
        return f"{name}({arguments})"
    return f"{name}({json.dumps(value, sort_keys=True, ensure_ascii=False)})"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else ", ".join(value)
    return repr(text if len(text) <= 160 else f"{text[:100]} … {text[-50:]}")
