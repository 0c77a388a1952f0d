"""One answer as plain data, which a parser can read again without the model's tokenizer."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unspool._core import Detokenizer, ToolSchemas, Vocabulary
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.message import Message
from unspool.core.stream.stream_options import PARSER_OPTIONS
from unspool.core.stream.tool import read_tools
from unspool.core.stream.tool_schemas import read_tool
from unspool.errors import FormatError
from unspool.formats.format_file import get_format
from unspool.streams.recording.redact import redact

__all__ = ["ParserSetup", "message_data", "record_answer"]

# Options that a record keeps in places of their own, or that only the original stream needs.
_LEFT_OUT = {"prompt", "tokenizer", "reasoning_field", "keep_message", "audit", "labels", "rollback_window"}
# How much of a prompt's end may be searched for the answer's beginning.
_TAIL_TOKENS = 4096


@dataclass(frozen=True)
class ParserSetup:
    """How an answer's parser was made.

    Attributes:
        format, tools: As of `Parser`.
        options: Further options of `Parser`; others are left out of a record.
        vocabulary: None: the parser reads text.
    """

    format: Any
    tools: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None


def record_answer(
    setup: ParserSetup, prompt: str | Sequence[int], output: Iterable[str] | Sequence[int], message: Message
) -> dict[str, Any]:
    """The record of one answer.

    Of the prompt it has only the end that belongs to the answer: the turn's marker and what follows it.

    Args:
        prompt: As text, or as ids of the vocabulary.
        output: The texts that were parsed, or the ids.
        message: What came of them; without a finish reason if the answer was broken off.
    """
    vocabulary = setup.vocabulary
    if isinstance(setup.format, str):
        with contextlib.suppress(FormatError):  # "hf", the tokenizer's own
            setup = replace(setup, format=get_format(setup.format))
    if vocabulary is None:
        tokens = [f"- {text}" for text in output if isinstance(text, str)]
        markers: dict[str, bool] = {}
    else:
        ids = [id for id in output if isinstance(id, int)]
        tokens = [f"{id} {_piece(vocabulary, id)}" for id in ids]
        markers = _markers(setup.format, vocabulary, ids)
    return {
        "format": _name(setup.format),
        **_beginning(setup, _text(vocabulary, prompt)),
        "tools": _tools(setup.tools),
        "markers": markers,
        "tokens": tokens,  # a line of the file each
        "message": message_data(message),
    }


def message_data(message: Message) -> dict[str, Any]:
    """What a client gets of a message; without ids, which are made up."""
    return {
        "content": message.content,
        "reasoning": message.reasoning,
        "calls": [
            {"name": call.name, "arguments": call.arguments, "status": call.status}
            for call in message.tool_calls
        ],
        "malformed": [item.text for item in message.malformed],
        "dropped": [item.text for item in message.dropped],
        "finish_reason": message.finish_reason,
    }


def _name(format: Any) -> str:
    return str(getattr(format, "name", format))


def _tools(tools: Any) -> list[dict[str, Any]] | None:
    """The names, and the schemas without their prose."""
    if tools is None or isinstance(tools, ToolSchemas):
        return None
    read = (read_tool(index, tool) for index, tool in enumerate(read_tools(tools)))
    return [{"name": name, "parameters": redact(json.loads(schema), "parameters")} for name, schema in read]


def _piece(vocabulary: Vocabulary, id: int) -> str:
    """A token's text; bytes of a character that another token completes as halves of surrogate pairs."""
    return vocabulary.content(id) or vocabulary.token_bytes(id).decode("utf-8", "surrogateescape")


def _markers(format: Any, vocabulary: Vocabulary, ids: Iterable[int]) -> dict[str, bool]:
    """The added tokens that count here, and whether each is special: the output's, and the format's markers."""
    own = map(vocabulary.find_added, _own_markers(format))
    found = {*ids, *(id for id in own if id is not None)}
    added = sorted(id for id in found if vocabulary.is_added(id))
    return {text: vocabulary.is_special(id) for id in added if (text := vocabulary.content(id))}


def _text(vocabulary: Vocabulary | None, prompt: str | Sequence[int]) -> str:
    if isinstance(prompt, str) or vocabulary is None:
        return prompt if isinstance(prompt, str) else ""
    detokenizer = Detokenizer(vocabulary, False)
    return detokenizer.put(list(prompt)[-_TAIL_TOKENS:]) + detokenizer.end()


def _beginning(setup: ParserSetup, prompt: str) -> dict[str, Any]:
    """The parser's options and the end of the prompt that belongs to the answer.

    Without a marker of the turn or tags at the very end, an option says where the answer starts.
    """
    options = {
        name: _plain(value)
        for name, value in setup.options.items()
        if name in PARSER_OPTIONS and name not in _LEFT_OUT
    }
    if not prompt:
        return {"options": options, "prompt": None}
    format = compile_format(setup.format, reasoning=options.get("reasoning"))
    if end := format.end_of_prompt(prompt):
        return {"options": options, "prompt": end}
    start = "reasoning" if format.starts_in_reasoning(prompt) else "content"
    return {"options": {**options, "start_in": start}, "prompt": None}


def _own_markers(format: Any) -> tuple[str, ...]:
    return getattr(getattr(format, "facts", None), "markers", ())


def _plain(value: Any) -> Any:
    """A value as JSON has it; formats by their names."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, dict, type(None))) else _name(value)
