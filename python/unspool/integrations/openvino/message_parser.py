"""A parser for `GenerationConfig.parsers`: whole answers as OpenAI's messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from openvino_genai import Parser

from unspool._core import Format, ToolSchemas
from unspool.core.stream.tool_schemas import compile_tools
from unspool.errors import ArgumentError
from unspool.formats.choose_format import choose_format
from unspool.formats.format_file import FormatFile
from unspool.streams.parser import Parser as TextParser
from unspool.streams.parser import parse

__all__ = ["MessageParser"]

# GenAI keeps only the C++ half of a parser and drops the Python half, so `parsers=[MessageParser(...)]` would
# fail.
_kept: deque[MessageParser] = deque(maxlen=1024)


class MessageParser(Parser):  # type: ignore[misc]
    """Parses the text of an answer into `content`, `reasoning_content` and `tool_calls`.

    Use it in `GenerationConfig.parsers`; the result is in `DecodedResults.parsed`. GenAI runs it after the
    answer, on the text only: special tokens, and with them markers, have been removed, and the finish reason
    is unknown. `pipeline` has neither limit. Keep a reference to the parser if you create more than 1,024 at
    a time.

    Args:
        format, tools, options: As for `unspool.parse`.
    """

    def __init__(
        self,
        format: str | FormatFile | Format,
        tools: Iterable[Any] | ToolSchemas | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        tokenizer = options.pop("tokenizer", None)
        if tokenizer is not None:
            raise ArgumentError("tokenizer cannot be passed: GenAI gives a parser text alone")
        self._format, options["reasoning"] = choose_format(format, None, options.get("reasoning"))
        self._tools = compile_tools(tools)
        self._options = options
        TextParser(self._format, self._tools, **options)  # checks the options
        _kept.append(self)

    def parse(self, message: dict[str, Any]) -> None:
        """Parse a message whose `content` is the answer's text, and modify it. GenAI calls this."""
        parsed = parse(message.get("content") or "", self._format, self._tools, **self._options)
        written = parsed.to_openai()
        del written["role"]
        message.update(written, content=parsed.content)
