"""A vLLM tool parser: calls and content."""

# ruff: noqa: ARG002 - the host calls these methods with all that it has
from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, ClassVar

from unspool._core import Delta, Vocabulary
from unspool.formats.choose_format import choose_format
from unspool.formats.format_file import FormatFile, get_format
from unspool.integrations.vllm.host import (
    FLUSHES,
    TAKES_TAGS,
    TAKES_TOOLS,
    ToolParser,
    ToolParserManager,
    envs,
    protocol,
)
from unspool.integrations.vllm.host_requests import (
    ends_with_eos,
    feed,
    keep_special_tokens,
    request_options,
    vocabulary_of,
)
from unspool.integrations.vllm.messages import to_calls, to_message
from unspool.integrations.vllm.structural_tag import MODEL, make_tag
from unspool.streams.parser import Parser

__all__ = ["UnspoolToolParser"]

logger = logging.getLogger("vllm.unspool")


class _OwnLevel:
    """The strict level of vLLM's own parser for the family; some constrain calls even if no request asks for it."""

    def __get__(self, parser: Any, cls: Any) -> Any:
        try:
            own = ToolParserManager.get_tool_parser(cls.format_name)
        except Exception:  # there is none, or it lacks a package
            own = ToolParser
        return (ToolParser if issubclass(own, UnspoolToolParser) else own).default_tool_strict_level


class UnspoolToolParser(ToolParser):  # type: ignore[misc]
    """Parses calls and content of output without reasoning. Each format has a subclass: see `register`."""

    engine_based_streaming = True  # the host sends only deltas, and calls `finish_streaming`
    structural_tag_model = MODEL if TAKES_TAGS else None
    supports_required_and_named = not TAKES_TAGS  # vLLM reads forced calls itself; if not, this parser does
    default_tool_strict_level = _OwnLevel()
    skip_reasoning_parsing = False  # vLLM's name; set if there is no reasoning parser
    format_name: ClassVar[str]

    def __init__(self, tokenizer: Any, tools: Any = None, **_: Any) -> None:
        super().__init__(*((tokenizer, tools) if TAKES_TOOLS else (tokenizer,)))
        self._tools = tools
        self._parser: Parser | None = None

    def _open(self, request: Any, vocabulary: Vocabulary | None, keep_message: bool = False) -> Parser:
        format, _ = choose_format(self.format_name, self.model_tokenizer)
        return Parser(
            format,
            self._tools or getattr(request, "tools", None) or None,
            reasoning=False,
            tokenizer=vocabulary,
            keep_message=keep_message,
            **request_options(request, format),
        )

    def get_structural_tag(self, request: Any, *, reasoning: bool = False, strict_level: Any = 0) -> Any:
        """Return the grammar of the request's calls; None: there is none, and vLLM forces calls as JSON."""
        if not getattr(envs, "VLLM_ENFORCE_STRICT_TOOL_CALLING", True):
            return None
        try:
            format, _ = choose_format(self.format_name, self.model_tokenizer)
            file = get_format(format) if isinstance(format, str) else format
            if not isinstance(file, FormatFile):  # a response template
                return None
            vocabulary = vocabulary_of(self.model_tokenizer)
            return make_tag(file, request, strict_level, vocabulary, not self.skip_reasoning_parsing)
        except Exception as error:  # an error here would reject the request
            logger.warning("no grammar constrains this request's calls: %s", error)
            return None

    def adjust_request(self, request: Any) -> Any:
        self.supports_required_and_named = (
            True  # without a grammar, JSON forces the call, which this parser also reads
        )
        try:
            request = super().adjust_request(request)
        finally:
            del self.supports_required_and_named
        wants_calls = request.tools and request.tool_choice != "none"
        return keep_special_tokens(request) if wants_calls else request

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Return the calls and the content of a whole output."""
        message = self._open(request, None, keep_message=True).parse(model_output)
        calls = to_calls(message)
        return protocol.ExtractedToolCallInformation(
            tools_called=bool(calls), tool_calls=calls, content=message.content or None
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """Return the delta of a chunk; only the chunk's text and ids are used."""
        if self._parser is None:
            if not delta_text and not delta_token_ids:
                return None
            self._parser = self._open(
                request, vocabulary_of(self.model_tokenizer) if delta_token_ids else None
            )
        if self._parser.is_finished:
            return None
        ends = not FLUSHES and ends_with_eos(self.model_tokenizer, delta_token_ids)
        return self._send(feed(self._parser, delta_text, delta_token_ids, "stop" if ends else None))

    def finish_streaming(self) -> Any:
        """End the stream and return the text and calls that were held back."""
        if self._parser is None or self._parser.is_finished:
            return None
        return self._send(self._parser.parse_chunk(None, None, "stop"))

    def stopped_without_a_call(self) -> bool:
        """Whether the stream has ended inside a call, or without one."""
        return self._parser is not None and self._parser.message.finish_reason == "stop"

    def _send(self, deltas: list[Delta]) -> Any:
        message = to_message(deltas)
        for call in message.tool_calls if message else ():
            # The host reads these to see whether there were calls, and arguments that were not sent. All were
            # sent: both lists hold only the last fragment.
            while len(self.prev_tool_call_arr) <= call.index:
                self.prev_tool_call_arr.append({"name": call.function.name, "arguments": ""})
                self.streamed_args_for_tool.append("")
            self.current_tool_id = call.index
            self.prev_tool_call_arr[call.index]["arguments"] = call.function.arguments
            self.streamed_args_for_tool[call.index] = call.function.arguments
        return message
