"""Records one answer as plain data that can be parsed again without the model's tokenizer."""

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

# Options that a record stores elsewhere, or that only the original stream needs.
_LEFT_OUT = {"prompt", "tokenizer", "reasoning_field", "keep_message", "audit", "labels", "rollback_window"}
# The answer's beginning is searched for only in this many tokens at the prompt's end.
_TAIL_TOKENS = 4096


@dataclass(frozen=True)
class ParserSetup:
    """The arguments with which an answer's parser was made.

    Attributes:
        format, tools: See `Parser`.
        options: Further options of `Parser`; other names are left out of a record.
        vocabulary: The vocabulary of the token ids. None: the parser reads text.
    """

    format: Any
    tools: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None


def record_answer(
    setup: ParserSetup, prompt: str | Sequence[int], output: Iterable[str] | Sequence[int], message: Message
) -> dict[str, Any]:
    """Build the record of one answer.

    It contains only the end of the prompt that belongs to the answer: the turn's marker and the text after it.

    Args:
        prompt: The prompt as text, or as ids of the vocabulary.
        output: The texts or ids that were parsed.
        message: The resulting message; without a finish reason if the answer was cut off.
    """
    vocabulary = setup.vocabulary
    if isinstance(setup.format, str):
        with contextlib.suppress(FormatError):  # such as "hf", the tokenizer's response template
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
        "tokens": tokens,  # one line of the file for each
        "message": message_data(message),
    }


def message_data(message: Message) -> dict[str, Any]:
    """Return the parts of a message that a client receives, without call ids, which are random."""
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
    """Return the tools' names, and their schemas without descriptions and examples."""
    if tools is None or isinstance(tools, ToolSchemas):
        return None
    read = (read_tool(index, tool) for index, tool in enumerate(read_tools(tools)))
    return [{"name": name, "parameters": redact(json.loads(schema), "parameters")} for name, schema in read]


def _piece(vocabulary: Vocabulary, id: int) -> str:
    """Return a token's text; bytes of an unfinished character become lone surrogates."""
    return vocabulary.content(id) or vocabulary.token_bytes(id).decode("utf-8", "surrogateescape")


def _markers(format: Any, vocabulary: Vocabulary, ids: Iterable[int]) -> dict[str, bool]:
    """Return whether each added token is special, for those in the output and those that are the format's markers."""
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
    """Return the parser's options, and the end of the prompt that belongs to the answer.

    If the prompt has neither a turn marker nor tags at its very end, the option `start_in` replaces it.
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
    """Convert a value for JSON; a format becomes its name."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, dict, type(None))) else _name(value)
