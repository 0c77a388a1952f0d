"""SGLang: every format as a tool-call parser and a reasoning parser of its server, named `unspool_<name>`.

If unspool is installed next to SGLang, `sglang serve` finds the parsers by the entry point `sglang.srt.plugins`; see
docs/sglang.md. SGLang passes text to its parsers, so markers are matched by their spelling.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from unspool._core import Delta
from unspool.core.needs import needs
from unspool.core.stream.stream_options import StartIn, UnknownTools
from unspool.formats.choose_format import TEMPLATE_NAMES, kept_reasoning_file
from unspool.formats.format_file import FormatFile, formats
from unspool.integrations.host_options import white_space
from unspool.integrations.sglang_grammar import make_tag
from unspool.streams.parser import Parser

with needs("sglang"):
    from sglang.srt.environ import envs
    from sglang.srt.function_call.base_format_detector import BaseFormatDetector
    from sglang.srt.function_call.core_types import StreamingParseResult, StructureInfo, ToolCallItem
    from sglang.srt.function_call.function_call_parser import FunctionCallParser
    from sglang.srt.function_call.parser_names import TOOL_CALL_PARSER_NAMES
    from sglang.srt.function_call.utils import get_json_schema_constraint
    from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector, ReasoningParser
    from sglang.srt.parser.reasoning_parser import StreamingParseResult as ReasoningResult
    from sglang.srt.parser.reasoning_parser_names import REASONING_PARSER_NAMES
    from sglang.srt.parser.response_template import ResponseTemplateToolDetector

__all__ = ["PREFIX", "ReasoningDetector", "ToolDetector", "main", "register"]

#: The prefix of a format's name among SGLang's parsers.
PREFIX = "unspool_"

_CALL_NOT_SENT = "A call, or the rest of one, is not sent"

# A list of tools that no call matches: calls are parsed, so that their ends are found, but they become text.
_NO_TOOL = [{"name": "\0"}]

_log = logging.getLogger(__name__)


class ToolDetector(BaseFormatDetector):  # type: ignore[misc]
    """Parses one answer's tool calls. Each format has a subclass; SGLang creates an instance for each answer."""

    format: ClassVar[FormatFile]
    #: SGLang's own detector of the family, or None. Its grammar is used if unspool's cannot be.
    own_class: ClassVar[type[BaseFormatDetector] | None] = None
    #: The name of `own_class` in SGLang, on which the call ids of its chat endpoint depend.
    own_name: ClassVar[str] = ""

    def __init__(self, *, forced: Any = None, tokenizer: Any = None) -> None:
        """Create a detector for one answer.

        Args:
            forced: The request's tool choice, if it forces a call; SGLang may do that with a JSON schema.
        """
        super().__init__()
        self.bot_token = next((opener for call in self.format.facts.calls for opener in call.openers), "")
        self.incomplete_tool_call_indices: set[int] = set()
        self._forced = forced
        self._tokenizer = tokenizer
        self._own = None if self.own_class is None else self.own_class()
        self._parser: Parser | None = None
        self._pieces: list[str] = []  # the fragments of the open call's arguments
        _fit_chat_endpoint()

    def has_tool_call(self, text: str) -> bool:
        """Whether the text contains a call, or markup that is not content.

        A call without markers counts only if it names a tool of the request. The tools are not known here, so a
        bracket is enough.
        """
        bare = "".join(call.first_letters or "{[" for call in self.format.facts.calls if call.bare)
        if any(byte in text for byte in bare):
            return True
        message = self._make_parser(None).parse(text)
        return bool(message.tool_calls) or message.content != text

    def detect_and_parse(self, text: str, tools: list[Any]) -> StreamingParseResult:
        """Parse a whole output. `tool_index` is the index of the tool in the request; -1 if it is not in it.

        Only complete calls are returned: a whole answer cannot express a call's state, and a client might run a call
        that is cut off.
        """
        message = self._make_parser(tools).parse(text)
        for item in (*message.dropped, *message.malformed):
            _log.warning("%s: %s: %r", _CALL_NOT_SENT, item.reason, item.text[:200])
        for call in message.tool_calls:
            if not call.is_complete:
                _log.warning("%s: %s: %r %.200r", _CALL_NOT_SENT, call.status, call.name, call.arguments)
        places = self._get_tool_indices(tools)
        calls = [
            ToolCallItem(
                tool_index=places.get(call.name, -1),
                name=call.name,
                parameters=call.arguments,
            )
            for call in message.tool_calls
            if call.is_complete
        ]
        return StreamingParseResult(normal_text=message.content, calls=calls)

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> StreamingParseResult:
        """Parse a chunk. `tool_index` is the index of the call in the answer."""
        if self._parser is None:
            self._parser = self._make_parser(tools, keep_message=False)
        return self._result(self._parser.parse_chunk(new_text))

    def finish(self, tools: list[Any]) -> StreamingParseResult:  # noqa: ARG002
        """End the stream and return the text and calls that were held back."""
        if self._parser is None or self._parser.is_finished:
            return StreamingParseResult()
        return self._result(self._parser.parse_chunk(None, None, "stop"))

    def structure_info(self) -> Callable[[str], StructureInfo]:
        """Return the structure info of SGLang's own detector of the family."""
        if self._own is None:
            raise NotImplementedError(f"SGLang knows no grammar for the calls of {self.format.name}")
        structure_info: Callable[[str], StructureInfo] = self._own.structure_info()
        return structure_info

    def supports_structural_tag(self) -> bool:
        """Whether SGLang has a grammar that forces a call in the model's own format."""
        return self._own is not None and bool(self._own.supports_structural_tag())

    def get_structural_tag_name(self) -> str | None:
        """The family's name in XGrammar, if it has one."""
        return None if self._own is None else self._own.get_structural_tag_name()

    def get_structural_tag(
        self,
        tools: list[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
    ) -> Any:
        """Return the grammar from the format's file; if there is none, that of SGLang's own detector."""
        tag = make_tag(
            self.format,
            tools or (),
            tool_choice,
            thinks=thinking_mode,
            parallel=parallel_tool_calls,
            tokenizer=self._tokenizer,
        )
        if tag is not None or self._own is None:
            return tag
        return self._own.get_structural_tag(tools, tool_choice, thinking_mode, parallel_tool_calls)

    def get_auto_tool_call_structural_tag(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of SGLang's own detector of the family, if there is one."""
        return None if self._own is None else self._own.get_auto_tool_call_structural_tag(*args, **kwargs)

    def get_required_tool_parser(self, tool_choice: Any) -> BaseFormatDetector | None:
        """Return a detector for calls that a JSON schema forces, if SGLang has no grammar for the family.

        The detector also parses the model's own format, which unspool's grammars force.
        """
        is_forced = tool_choice is not None and tool_choice not in ("auto", "none")
        if not is_forced or self.supports_structural_tag():
            return None
        return type(self)(forced=tool_choice, tokenizer=self._tokenizer)

    def get_json_schema_constraint(self, tools: list[Any], tool_choice: Any, parallel: bool = True) -> Any:
        """Return the schema that forces calls as a JSON list, which this detector parses."""
        return get_json_schema_constraint(tools, tool_choice, parallel_tool_calls=parallel)

    def _make_parser(self, tools: Iterable[Any] | None, **options: Any) -> Parser:
        tools = None if tools is None else list(tools)
        unknown: UnknownTools = "forward" if envs.SGLANG_FORWARD_UNKNOWN_TOOLS.get() else "drop-with-report"
        return Parser(
            self.format,
            tools,
            reasoning=False,
            unknown_tools=unknown,
            white_space=white_space(),
            tool_choice="required" if self._reads_json(tools) else "auto",
            **options,
        )

    def _reads_json(self, tools: list[Any] | None) -> bool:
        """Whether a forced call may be JSON. If calls may begin without a marker, either JSON or those are accepted."""
        if self._forced is None:
            return False
        is_bare = any(call.bare for call in self.format.facts.calls)
        return not (is_bare and tools and self.get_structural_tag(tools, self._forced) is not None)

    def _result(self, deltas: list[Delta]) -> StreamingParseResult:
        text = ""
        calls: list[ToolCallItem] = []
        for delta in deltas:
            wire = delta.to_openai()
            text += wire.get("content", "")
            for entry in wire.get("tool_calls", ()):
                function = entry["function"]
                if calls and calls[-1].tool_index == entry["index"]:
                    calls[-1].parameters += function["arguments"]
                    continue
                calls.append(
                    ToolCallItem(
                        tool_index=entry["index"],
                        name=function.get("name"),
                        parameters=function["arguments"],
                    )
                )
            self._note(delta)
        return StreamingParseResult(normal_text=text, calls=calls)

    # The server reads these fields at the end, to send the rest. Nothing is left, so both record the same arguments.
    def _note(self, delta: Delta) -> None:
        if delta.kind == "tool_call_begin":
            self._pieces = []
            self.current_tool_id = delta.index or 0
            self.current_tool_name_sent = True
            self.prev_tool_call_arr.append({"name": delta.name, "arguments": ""})
            self.streamed_args_for_tool.append("")
        elif delta.kind == "tool_call_arguments":
            self._pieces.append(delta.text)
        elif delta.kind == "tool_call_end":
            arguments = "".join(self._pieces)
            self.prev_tool_call_arr[-1]["arguments"] = self.streamed_args_for_tool[-1] = arguments
            if delta.status != "complete":
                self.incomplete_tool_call_indices.add(self.current_tool_id)
            self.current_tool_id += 1
            self.current_tool_name_sent = False
        elif delta.kind in ("dropped", "malformed"):
            _log.warning("%s: %s: %r", _CALL_NOT_SENT, delta.reason, delta.text[:200])


class ReasoningDetector(BaseReasoningFormatDetector):  # type: ignore[misc]
    """Parses one answer's reasoning. Each format has a subclass; SGLang creates an instance for each answer.

    Args:
        force_reasoning: Whether the prompt has opened the reasoning. None: the format decides.
        stream_reasoning: False: the reasoning is emitted in one piece, at its end.
        continue_final_message: Whether the answer continues `previous_content`.
        force_nonempty_content: Whether reasoning becomes content if the answer has no other content.
        tool_call_parser_active: Whether a tool-call parser reads the normal text. The normal text is then everything
            except the reasoning, and includes markup.
    """

    format: ClassVar[FormatFile]
    #: SGLang's own detector of the family, or None. It knows the tokens that SGLang's grammars watch.
    own_class: ClassVar[type[BaseReasoningFormatDetector] | None] = None

    def __init__(
        self,
        stream_reasoning: bool = True,
        force_reasoning: bool | None = None,
        continue_final_message: bool = False,
        previous_content: str = "",
        force_nonempty_content: bool = False,
        tool_call_parser_active: bool = False,
    ) -> None:
        tags = self.format.facts.reasoning
        assert tags, "a detector stands for a format with reasoning"
        super().__init__(
            tags.openers[0],
            next(iter(tags.closers), ""),  # a call may end it
            force_reasoning=bool(force_reasoning),
            stream_reasoning=stream_reasoning,
            continue_final_message=continue_final_message,
            previous_content=previous_content,
            reasoning_default="always" if tags.starts_open else "explicit_enable_thinking",
            force_nonempty_content=force_nonempty_content,
        )
        self._own = None if self.own_class is None else self.own_class()
        if self._own is not None:
            self.reasoning_default = self._own.reasoning_default
            self.thinks_internally = self._own.thinks_internally
            self.think_excluded_tokens = self._own.think_excluded_tokens
            self.tool_start_token = self._own.tool_start_token
        self.think_start_self_label = tags.label
        self._only_reasoning = tool_call_parser_active
        self._start: StartIn = "auto"
        if force_reasoning is not None and not _has_headers(self.format):
            self._start = "reasoning" if force_reasoning else "content"
        if self.previous_content:
            before = self._make_parser()
            before.parse_chunk(self.previous_content)
            self._start = "reasoning" if before.region == "reasoning" else "content"
        self._parser: Parser | None = None
        self._held: list[str] = []  # reasoning that is held back because it is not streamed
        self._all: list[str] | None = [] if force_nonempty_content else None
        _fit_chat_endpoint()

    def detect_and_parse(self, text: str) -> ReasoningResult:
        """Parse a whole output."""
        message = self._make_parser().parse(text)
        result = ReasoningResult(normal_text=message.content, reasoning_text=message.reasoning)
        return self._maybe_apply_force_nonempty_content(result)

    def parse_streaming_increment(self, new_text: str) -> ReasoningResult:
        """Read a chunk."""
        if self._parser is None:
            self._parser = self._make_parser(keep_message=False)
        return self._result(self._parser, self._parser.parse_chunk(new_text))

    def finish(self) -> ReasoningResult:
        """End the stream and return the text that was held back."""
        if self._parser is None or self._parser.is_finished:
            return ReasoningResult()
        result = self._result(self._parser, self._parser.parse_chunk(None, None, "stop"))
        if self._all:
            return ReasoningResult(normal_text="".join(self._all))
        return result

    def get_self_opened_think_start_token_ids(self, tokenizer: Any) -> list[int] | None:
        """Return the result of SGLang's own detector of the family, if there is one."""
        return None if self._own is None else self._own.get_self_opened_think_start_token_ids(tokenizer)

    def get_answer_frame(self) -> Any:
        """Return the result of SGLang's own detector of the family, if there is one."""
        return None if self._own is None else self._own.get_answer_frame()

    def _make_parser(self, keep_message: bool = True) -> Parser:
        # Calls remain text, which the tool-call parser or the client parses.
        return Parser(
            self.format,
            None if self._only_reasoning else _NO_TOOL,
            only_reasoning=self._only_reasoning,
            unknown_tools="content",
            white_space=white_space(),
            start_in=self._start,
            keep_message=keep_message,
        )

    def _result(self, parser: Parser, deltas: list[Delta]) -> ReasoningResult:
        wires = [delta.to_openai() for delta in deltas]
        text = "".join(wire.get("content", "") for wire in wires)
        reasoning = "".join(wire.get("reasoning_content", "") for wire in wires)
        self._in_reasoning = parser.region == "reasoning" and not parser.is_finished
        if self._all is not None:  # until there is content
            self._all = None if text else [*self._all, reasoning]
        if not self.stream_reasoning:
            self._held.append(reasoning)
            reasoning = ""
            if not self._in_reasoning:
                reasoning, self._held = "".join(self._held), []
        return ReasoningResult(normal_text=text, reasoning_text=reasoning)


class KeptReasoningDetector(ReasoningDetector):
    """Keeps the reasoning in the content, with the opening tag if it is in the prompt."""

    _has_begun = False

    def detect_and_parse(self, text: str) -> ReasoningResult:
        """Parse a whole output."""
        return self.parse_streaming_increment(text)

    def parse_streaming_increment(self, new_text: str) -> ReasoningResult:
        """Read a chunk."""
        tags = self.format.facts.reasoning
        assert tags, "a detector stands for a format with reasoning"
        is_open = self._start == "reasoning" or (self._start == "auto" and tags.starts_open)
        begins = not self._has_begun and not self.previous_content
        self._has_begun = True
        tag = tags.openers[0] if begins and is_open else ""
        return ReasoningResult(normal_text=tag + new_text)


def register() -> None:
    """Add every format, shipped or registered, to SGLang's parsers, by name and alias.

    Call it again after registering a format. A checkpoint's own response template is parsed by SGLang's own detectors.

    Raises:
        ArgumentError: `UNSPOOL_WHITE_SPACE` is neither "keep" nor "trim".
    """
    white_space()
    for file in formats():
        for name in (file.name, *file.aliases):
            kept = kept_reasoning_file(name)
            if file.has_tools:
                _add_detector(name, file, ToolDetector, _TOOLS)
            if kept is not None:
                _add_detector(name, kept, KeptReasoningDetector, _REASONING)
            elif file.has_reasoning:
                _add_detector(name, file, ReasoningDetector, _REASONING)
    for name in TEMPLATE_NAMES:
        for registry, names in (_TOOLS, _REASONING):
            if name in registry:
                _add(name, registry[name], registry, names)


_Registry = tuple[dict[str, Any], list[str]]
_TOOLS: _Registry = (FunctionCallParser.ToolCallParserEnum, TOOL_CALL_PARSER_NAMES)
_REASONING: _Registry = (ReasoningParser.DetectorMap, REASONING_PARSER_NAMES)


def _add_detector(name: str, file: FormatFile, detector: type, registry: _Registry) -> None:
    base = BaseFormatDetector if detector is ToolDetector else BaseReasoningFormatDetector
    own = _own_name((name, file.name, *file.aliases), registry[0], base)
    members = {"format": file, "own_name": own, "own_class": registry[0].get(own)}
    _add(name, type(f"{detector.__name__}_{name}", (detector,), members), *registry)


def _add(name: str, detector: type, registry: dict[str, Any], names: list[str]) -> None:
    name = PREFIX + name.lower()
    if name not in registry:
        registry[name] = detector
        names.append(name)


def main(arguments: list[str] | None = None) -> None:
    """Run SGLang's `launch_server` with these parsers, for versions of SGLang that do not load plug-ins."""
    register()
    from sglang.launch_server import run_server
    from sglang.srt.server_args import prepare_server_args

    run_server(prepare_server_args(sys.argv[1:] if arguments is None else arguments))


def _own_name(names: Iterable[str], registry: Mapping[str, Any], base: Any) -> str:
    """Return the first of a family's names under which SGLang has its own detector of type `base`; "": none."""
    for name in names:
        for spelling in (name, name.replace("_", "-"), name.replace("_", "").replace("-", "")):
            registered = registry.get(spelling)
            if registered is None or not issubclass(registered, base):
                continue
            if not issubclass(
                registered, ResponseTemplateToolDetector
            ):  # that one needs the checkpoint's template
                return spelling
    return ""


def _has_headers(file: FormatFile) -> bool:
    """Whether a header names the kind of each message; the prompt's end then does not matter."""
    return any(not header.is_inline for header in file.facts.headers)


def _fit_chat_endpoint() -> None:
    """Patch SGLang's chat endpoint to treat these parsers as its own, which it knows by name: reasoning markers that
    are special tokens stay in the text, and calls have the ids of the family."""
    module = sys.modules.get("sglang.srt.entrypoints.openai.serving_chat")
    chat: Any = getattr(module, "OpenAIServingChat", None)
    if chat is None or hasattr(chat, "_fits_unspool"):
        return
    chat._fits_unspool = True
    keep_tokens, make_id = chat._patch_reasoning_skip_special_tokens, chat._process_tool_call_id

    def keep_special_tokens(self: Any, request: Any) -> None:
        keep_tokens(self, request)
        if (self.reasoning_parser or "").startswith(PREFIX):
            request.skip_special_tokens = False

    def make_tool_call_id(self: Any, call_item: Any, history_count: int) -> str:
        name = self.tool_call_parser
        detector = FunctionCallParser.ToolCallParserEnum.get(name)
        try:
            self.tool_call_parser = getattr(detector, "own_name", "") or name
            return str(make_id(self, call_item, history_count))
        finally:
            self.tool_call_parser = name

    chat._patch_reasoning_skip_special_tokens = keep_special_tokens
    chat._process_tool_call_id = make_tool_call_id


if __name__ in ("__main__", "__mp_main__"):  # "__mp_main__" in the worker processes
    register()
    if __name__ == "__main__":
        main()
