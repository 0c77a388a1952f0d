"""A single vLLM parser that replaces the reasoning parser and the tool parser."""

# ruff: noqa: ARG002 - the host calls these methods with all that it has
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool._core import Delta, Format
from unspool.formats.choose_format import choose_format
from unspool.formats.format_file import FormatFile, get_format
from unspool.integrations.vllm.host import DelegatingParser, count_history_tool_calls, protocol
from unspool.integrations.vllm.host_requests import feed, request_options, vocabulary_of
from unspool.integrations.vllm.messages import to_message, whole_calls
from unspool.streams.parser import Parser

__all__ = ["UnspoolParser"]


class UnspoolParser(DelegatingParser):  # type: ignore[misc]
    """Parses reasoning, content and calls with one streamer, if both parsers are unspool's; `register` installs
    it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self._reasoning_parser is None and self._tool_parser is not None:
            self._tool_parser.skip_reasoning_parsing = True  # as vLLM 0.33 does
        self._parser: Parser | None = None
        self._only_reasoning: list[str] | None = (
            None  # until there is other content, if the request wants that
        )
        self._earlier_calls = (
            0  # earlier calls in the conversation, if ids are numbered and the model does not write them
        )

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Set the prompt of a whole answer. Up to 0.32, vLLM's `DelegatingParser` ignores it."""
        super().set_prompt_token_ids(prompt_token_ids)
        if self._reasoning_parser is not None:
            self._reasoning_parser.set_prompt_token_ids(prompt_token_ids)

    def _open(self, request: Any, ids: Sequence[int], keep_message: bool) -> Parser:
        tool, reasoning = self._tool_parser, self._reasoning_parser
        tokenizer = self.model_tokenizer
        vocabulary = vocabulary_of(tokenizer) if ids else None
        format, own = choose_format((tool or reasoning).format_name, tokenizer)
        options = request_options(request, format)
        if tool is None or not getattr(request, "tools", None):
            tools: Any = []
            options["tool_choice"] = "none"
        else:
            tools = request.tools
        if reasoning is None:
            own = False
        elif tool is not None and reasoning.format_name != tool.format_name:
            own = reasoning.reasoning or own
        if reasoning is not None and reasoning.forces_content:
            self._only_reasoning = []
        if options["tool_choice"] not in (None, "auto", "none") and self._numbers_calls(format):
            self._earlier_calls = count_history_tool_calls(request)
        return Parser(
            format,
            tools,
            reasoning=own,
            tokenizer=vocabulary,
            keep_message=keep_message,
            **(reasoning.start(vocabulary) if reasoning is not None else {}),
            **options,
        )

    def _numbers_calls(self, format: str | FormatFile | Format) -> bool:
        """Whether the model's template requires ids that are numbered through the conversation, as Kimi's does."""
        if count_history_tool_calls is None:
            return False
        file = get_format(format) if isinstance(format, str) else format
        is_numbered = isinstance(file, FormatFile) and file.facts.call_ids == "functions"
        return is_numbered or self._stream_state.tool_call_id_type == "kimi_k2"

    def _id_of(self, call: Any, index: int, name: str) -> str:
        """Return the call's id. Guided JSON has no ids: the parser counts from 0, but the template counts through
        the conversation."""
        if self._earlier_calls and call.id == f"functions.{name}:{index}":
            return f"functions.{name}:{self._earlier_calls + index}"
        return str(call.id)

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[Any] | None]:
        """Return (reasoning, content, calls) of a whole output. They equal the accumulated stream, without incomplete
        calls."""
        self._parser = self._open(request, model_output_token_ids, keep_message=True)
        feed(self._parser, model_output, model_output_token_ids, "stop")
        message = self._parser.message
        calls = [
            protocol.FunctionCall(
                id=self._id_of(call, i, call.name), name=call.name, arguments=call.arguments
            )
            for i, call in enumerate(whole_calls(message))
        ]
        reasoning, content = message.reasoning or None, message.content or None
        if self._only_reasoning is not None and not message.tool_calls and not message.content.strip():
            reasoning, content = None, reasoning
        return reasoning, content, calls

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: list[int],
        request: Any,
        prompt_token_ids: list[int] | None = None,
        *,
        finished: bool,
    ) -> Any:
        """Return the delta of a chunk."""
        if self._parser is None:
            if prompt_token_ids is not None and self._reasoning_parser is not None:
                self._reasoning_parser.set_prompt_token_ids(prompt_token_ids)
            self._parser = self._open(request, delta_token_ids, keep_message=False)
        deltas = feed(self._parser, delta_text, delta_token_ids, "stop" if finished else None)
        self._note_reasoning(deltas)
        if not getattr(request, "include_reasoning", True):
            deltas = [delta for delta in deltas if delta.kind != "reasoning"]
        message = to_message(deltas)
        for call in message.tool_calls if message and self._earlier_calls else ():
            if call.id is not None:
                call.id = self._id_of(call, call.index, call.function.name)
        if finished and self._only_reasoning:
            message = message or protocol.DeltaMessage()
            message.content = (message.content or "") + "".join(self._only_reasoning)
        return message

    def stopped_without_a_call(self) -> bool:
        """Whether the stream has ended inside a call, or without one."""
        return self._parser is not None and self._parser.message.finish_reason == "stop"

    def _note_reasoning(self, deltas: list[Delta]) -> None:
        for delta in deltas:
            if self._only_reasoning is None:
                return
            if delta.kind == "reasoning":
                self._only_reasoning.append(delta.text)
            elif delta.kind == "tool_call_begin" or (delta.kind == "content" and delta.text.strip()):
                self._only_reasoning = None

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Return the number of tokens in the output that belong to reasoning, markers included."""
        if self._reasoning_parser is None or self._parser is None:
            return 0
        return self._parser.message.token_counts.reasoning
