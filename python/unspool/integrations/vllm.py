"""vLLM: every format as `unspool_<name>` for `--tool-call-parser` and `--reasoning-parser`, from 0.11 to 0.33.

Registered by the entry point `vllm.general_plugins`, or by `--tool-parser-plugin unspool.integrations.vllm`. Where
vLLM composes one `Parser` of the two names (from 0.24), both of ours become one, `UnspoolParser`: one streamer reads
text and ids and gives reasoning, content and calls. A pair with another parser, and older servers, use the two classes
one after the other.
"""

# ruff: noqa: ARG002 - the host calls these methods with all that it has
from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from unspool._core import Delta, Format, Vocabulary
from unspool.choose_format import TEMPLATE_NAMES, choose_format, kept_reasoning_file
from unspool.errors import VocabularyError
from unspool.format_facts import ReasoningFacts
from unspool.format_files import FormatFile
from unspool.formats import compile_format, formats, get_format
from unspool.message import Message
from unspool.parser import Parser
from unspool.stream_options import StartIn

try:
    from vllm.reasoning import ReasoningParser, ReasoningParserManager
except ImportError as error:
    raise ImportError(f"{error}; pip install 'unspool[vllm]'") from None
try:
    from vllm.tool_parsers import ToolParser, ToolParserManager
except ModuleNotFoundError:  # before 0.13
    from vllm.entrypoints.openai.tool_parsers import ToolParser, ToolParserManager
try:
    from vllm.entrypoints.generate.base import protocol
except ModuleNotFoundError:
    try:
        from vllm.entrypoints.openai.engine import protocol
    except ModuleNotFoundError:  # before 0.15
        from vllm.entrypoints.openai import protocol
try:
    from vllm.parser.abstract_parser import DelegatingParser
    from vllm.parser.parser_manager import ParserManager
except ModuleNotFoundError:  # before 0.16
    DelegatingParser, ParserManager = object, None
try:
    from vllm.entrypoints.openai.chat_completion.stream_processor import ChatStreamProcessor
except ImportError:  # hosts that end their streams elsewhere
    ChatStreamProcessor = None
try:
    from vllm.parser.utils import count_history_tool_calls
except ImportError:  # hosts that number no calls
    count_history_tool_calls = None

__all__ = ["UnspoolParser", "UnspoolReasoningParser", "UnspoolToolParser", "register"]

PREFIX = "unspool_"
_logger = logging.getLogger("vllm.unspool")
_REASONING = "reasoning" if "reasoning" in protocol.DeltaMessage.model_fields else "reasoning_content"
# Hosts that flush a parser at the end, and give each choice of a request parsers of its own.
_FLUSHES = hasattr(ToolParser, "engine_based_streaming")
_TAKES_TOOLS = "tools" in inspect.signature(ToolParser.__init__).parameters
_COMPOSES = "finished" in inspect.signature(getattr(DelegatingParser, "parse_delta", len)).parameters


@functools.lru_cache(maxsize=8)
def _vocabulary(tokenizer: Any) -> Vocabulary | None:
    """The host's tokenizer compiled; None: markers are known by their text alone."""
    try:
        return Vocabulary.from_tokenizer(tokenizer)
    except VocabularyError as error:
        _logger.warning("unspool reads text alone, without token ids: %s", error)
        return None


def _to_message(deltas: Iterable[Delta]) -> Any:
    """A `DeltaMessage` of all that a chunk gave, one entry a call; None if it gave nothing."""
    content, reasoning = "", ""
    calls: dict[int, Any] = {}
    for delta in deltas:
        kind, index = delta.kind, delta.index
        if kind == "reasoning":
            reasoning += delta.text
        elif kind == "content" or (kind == "malformed" and index is None):
            content += delta.text
        elif kind == "tool_call_begin":
            calls[index or 0] = {"id": delta.id, "type": "function", "name": delta.name, "arguments": ""}
        elif kind == "tool_call_arguments":
            call = calls.setdefault(index or 0, {"arguments": ""})
            call["arguments"] += delta.text
    fields: dict[str, Any] = {}
    if reasoning:
        fields[_REASONING] = reasoning
    if content:
        fields["content"] = content
    if calls:
        fields["tool_calls"] = [_call_delta(index, **call) for index, call in calls.items()]
    return protocol.DeltaMessage(**fields) if fields else None


def _call_delta(index: int, arguments: str, name: str | None = None, **head: Any) -> Any:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return protocol.DeltaToolCall(index=index, function=protocol.DeltaFunctionCall(**function), **head)


def _whole_calls(message: Message) -> list[Any]:
    """The complete calls. A whole answer has no place for a call's state, and a client may run half of one."""
    for call in message.tool_calls:
        if not call.is_complete:
            _logger.warning("a call is %s and not sent: %s(%.200s", call.status, call.name, call.arguments)
    return [call for call in message.tool_calls if call.is_complete]


def _to_calls(message: Message) -> list[Any]:
    return [
        protocol.ToolCall(
            id=call.id, function=protocol.FunctionCall(name=call.name, arguments=call.arguments)
        )
        for call in _whole_calls(message)
    ]


def _request_options(request: Any) -> dict[str, Any]:
    """The request's options for calls, as `Parser` takes them."""
    choice = getattr(request, "tool_choice", None)
    if not isinstance(choice, (str, type(None))):
        choice = choice.model_dump()
    tools = getattr(request, "tools", None)
    return {
        "tool_choice": choice if tools or choice == "none" else "auto",
        "parallel_tool_calls": getattr(request, "parallel_tool_calls", None) is not False,
    }


def _keep_special_tokens(request: Any) -> Any:
    """Markers may be special tokens, which the host would leave out of the text."""
    request.skip_special_tokens = False
    return request


def _feed(parser: Parser, text: str, ids: Sequence[int], end: str | None = None) -> list[Delta]:
    if not text and not ids and end is None:
        return []
    return parser.parse_chunk(text, list(ids) or None, end)


class UnspoolToolParser(ToolParser):  # type: ignore[misc]
    """Calls and content of output without reasoning. One format each: see `register`."""

    engine_based_streaming = True  # the host sends deltas alone, and calls `finish_streaming`
    format_name: ClassVar[str]

    def __init__(self, tokenizer: Any, tools: Any = None, **_: Any) -> None:
        super().__init__(*((tokenizer, tools) if _TAKES_TOOLS else (tokenizer,)))
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
            **_request_options(request),
        )

    def adjust_request(self, request: Any) -> Any:
        request = super().adjust_request(request)
        wants_calls = request.tools and request.tool_choice != "none"
        return _keep_special_tokens(request) if wants_calls else request

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """The calls and the content of a whole output."""
        message = self._open(request, None, keep_message=True).parse(model_output)
        calls = _to_calls(message)
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
        """Return what a chunk adds; only its text and its ids are read."""
        if self._parser is None:
            if not delta_text and not delta_token_ids:
                return None
            self._parser = self._open(request, _vocabulary(self.model_tokenizer) if delta_token_ids else None)
        if self._parser.is_finished:
            return None
        ends = not _FLUSHES and _ends_with_eos(self.model_tokenizer, delta_token_ids)
        return self._send(_feed(self._parser, delta_text, delta_token_ids, "stop" if ends else None))

    def finish_streaming(self) -> Any:
        """Return what was held back, at the stream's end."""
        if self._parser is None or self._parser.is_finished:
            return None
        return self._send(self._parser.parse_chunk(None, None, "stop"))

    def stopped_without_a_call(self) -> bool:
        """Whether the stream has ended inside a call, or without one."""
        return self._parser is not None and self._parser.message.finish_reason == "stop"

    def _send(self, deltas: list[Delta]) -> Any:
        message = _to_message(deltas)
        for call in message.tool_calls if message else ():
            # The host looks here whether calls were made, and for arguments that were not sent. There are none:
            # both lists hold the last fragment alone.
            while len(self.prev_tool_call_arr) <= call.index:
                self.prev_tool_call_arr.append({"name": call.function.name, "arguments": ""})
                self.streamed_args_for_tool.append("")
            self.current_tool_id = call.index
            self.prev_tool_call_arr[call.index]["arguments"] = call.function.arguments
            self.streamed_args_for_tool[call.index] = call.function.arguments
        return message


def _ends_with_eos(tokenizer: Any, ids: Sequence[int]) -> bool:
    return bool(ids) and ids[-1] == getattr(tokenizer, "eos_token_id", None)


class UnspoolReasoningParser(ReasoningParser):  # type: ignore[misc]
    """Splits reasoning from what follows, which goes to whatever parses calls. One format each: see `register`."""

    engine_based_streaming = True
    format_name: ClassVar[str]

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self._template_options: dict[str, Any] = dict(kwargs.get("chat_template_kwargs") or {})
        self.start_in: StartIn = "auto"
        self.prompt: list[int] | None = None
        # The last chunk's: the parser, its content, its ids, and all ids so far.
        self._last: tuple[Parser, str, list[int], list[int]] | None = None
        self._content_ids: list[int] = []
        self._request: Any = None
        self._reasoning_so_far: list[str] = []  # if it may have to be content
        self._parsers: dict[int, tuple[Any, Parser]] = {}

    @functools.cached_property
    def _format(self) -> FormatFile | Format:
        """The format that has the tags."""
        if self._kept is not None:
            return self._kept
        format, reasoning = choose_format(self.format_name, self.model_tokenizer)
        name = reasoning if isinstance(reasoning, str) else format
        return get_format(name) if isinstance(name, str) else name

    @property
    def _kept(self) -> FormatFile | None:
        """Not None: reasoning stays in the content, with the tag that the prompt wrote."""
        return kept_reasoning_file(self.format_name)

    @functools.cached_property
    def forces_content(self) -> bool:
        """Whether the request wants reasoning as content if the answer has no other."""
        options = self._template_options
        return options.get("force_nonempty_content") is True or options.get("enable_thinking") is False

    @property
    def reasoning(self) -> str | None:
        """The reasoning of a `Parser` whose calls are of another format; None: a template's own."""
        if self._kept is not None:
            return self.format_name
        return self._format.name if isinstance(self._format, FormatFile) else None

    @property
    def _tags(self) -> ReasoningFacts | None:
        return self._format.facts.reasoning if isinstance(self._format, FormatFile) else None

    @property
    def reasoning_start_str(self) -> str | None:
        return next(iter(self._tags.openers), None) if self._tags else None

    @property
    def reasoning_end_str(self) -> str | None:
        return next(iter(self._tags.closers), None) if self._tags else None

    def adjust_request(self, request: Any) -> Any:
        self._request = request
        return _keep_special_tokens(request)

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """The prompt shows whether the output starts inside reasoning."""
        self.prompt = list(prompt_token_ids)

    adjust_initial_state_from_prompt = set_prompt_token_ids  # 0.24 calls this alone

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether reasoning is over at the end of a prompt, or of the output so far."""
        if self._last is not None:
            parser, _, delta, current = self._last
            if len(input_ids) in (len(delta), len(current)) and list(input_ids) in (delta, current):
                return parser.is_finished
        return compile_format(self._format).ends_reasoning(self._decode(input_ids[-8192:]))

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """Whether the last tokens close reasoning; takes time for them alone."""
        count = len(list(delta_ids))
        before = len(self._decode(input_ids[-16 - count : len(input_ids) - count]))
        text = self._decode(input_ids[-16 - count :])
        return compile_format(self._format).ends_reasoning(text[before:], text[:before])

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self.model_tokenizer.decode(list(ids), skip_special_tokens=False)) if len(ids) else ""

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """The ids of the answer's text, as far as whole tokens spell it."""
        vocabulary = _vocabulary(self.model_tokenizer)
        if vocabulary is None:
            return []
        if self._last is None or list(input_ids) != self._last[2]:
            closers = {vocabulary.find_added(text) for text in (self._tags.closers if self._tags else ())}
            found = [place for place, id in enumerate(input_ids) if id in closers]
            return list(input_ids[found[-1] + 1 :]) if found else []
        # Those of the answer's text, of earlier chunks too if it was held; they must spell it.
        text = self._last[1].encode()
        size, start = len(text), len(self._content_ids)
        while size > 0 and start > 0:
            start -= 1
            size -= len(vocabulary.token_bytes(self._content_ids[start]))
        ids = self._content_ids[start:]
        return ids if b"".join(map(vocabulary.token_bytes, ids)) == text else []

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """How many of the output's tokens belong to reasoning, markers included."""
        vocabulary = _vocabulary(self.model_tokenizer)
        if vocabulary is None:
            return 0
        parser = self._open(vocabulary, only_reasoning=False)
        return parser.parse(list(token_ids)).token_counts.reasoning  # none where it is content

    def start(self, vocabulary: Vocabulary | None) -> dict[str, Any]:
        """Where the output starts, as `Parser` takes it.

        The host's prompt shows it; without one, as on old hosts, what the chat template writes before an answer.
        """
        prompt: str | list[int] | None = self.prompt
        if self.prompt is None:
            prompt = _generation_prompt(self.model_tokenizer, self._template_options)
        elif vocabulary is None:
            prompt = self._decode(self.prompt[-8192:])
        return {"prompt": prompt, "start_in": self.start_in}

    def _open(self, vocabulary: Vocabulary | None, only_reasoning: bool = True, **options: Any) -> Parser:
        options.update(self.start(vocabulary))
        format = self._format if self._kept is None else self.format_name
        return Parser(format, tokenizer=vocabulary, only_reasoning=only_reasoning, **options)

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """(reasoning, what follows) of a whole output."""
        is_open = self._kept is None and self._opens_unseen(model_output)
        if is_open and self.start(None)["prompt"] is None:
            self.start_in = "reasoning"
        message = self._open(None).parse(model_output)
        if self.forces_content and not message.content.strip():
            return None, message.reasoning or None
        return message.reasoning or None, message.content or None

    def get_streaming_fallback_content(self, text: str, request: Any) -> str | None:
        """The content of a stream that ended inside its reasoning; the host asks for it."""
        return "".join(self._reasoning_so_far) or None

    extract_reasoning_content = extract_reasoning  # 0.11.0's name

    def _opens_unseen(self, text: str) -> bool:
        """Whether reasoning is closed that the text does not open: the prompt did."""
        if self._tags is None:
            return False
        closes = [text.find(closer) for closer in self._tags.closers if closer in text]
        opens = [text.find(opener) for opener in self._tags.openers if opener in text]
        return bool(closes) and min(closes) < min(opens, default=len(text))

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        """Return what a chunk adds. Old hosts send all choices of a request here; lists of ids distinguish them."""
        parser = None
        if _FLUSHES:
            parser = self._last[0] if self._last else None
        elif previous_text or previous_token_ids:
            _, parser = self._parsers.pop(id(previous_token_ids), (None, self._last and self._last[0]))
        if parser is None:
            vocabulary = _vocabulary(self.model_tokenizer) if delta_token_ids else None
            parser = self._open(vocabulary, keep_message=False)
        if not _FLUSHES:
            self._parsers[id(current_token_ids)] = (current_token_ids, parser)
        if parser.is_finished:
            message = protocol.DeltaMessage(content=delta_text) if delta_text else None
        else:
            ends = not _FLUSHES and _ends_with_eos(self.model_tokenizer, delta_token_ids)
            deltas = _feed(parser, delta_text, delta_token_ids, "stop" if ends else None)
            if not parser.is_finished and any(delta.kind == "content" for delta in deltas):
                deltas += parser.parse_chunk(None, None, "stop")  # the next parser reads on
            self._content_ids = [id for delta in deltas if delta.kind == "content" for id in delta.token_ids]
            if self.forces_content:
                self._reasoning_so_far += [delta.text for delta in deltas if delta.kind == "reasoning"]
            message = _to_message(deltas)
        content = (message and message.content) or ""
        self._last = (parser, content, list(delta_token_ids), list(current_token_ids))
        return message

    extract_reasoning_content_streaming = extract_reasoning_streaming

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the answer has begun."""
        return self._last is not None and self._last[0].is_finished

    def finish_streaming(self) -> Any:
        """What was held back, at the stream's end: reasoning, or a call that nothing but the end shows to be one."""
        if self._last is None or self._last[0].is_finished:
            return None
        deltas = self._last[0].parse_chunk(None, None, "stop")
        text = "".join(delta.text for delta in deltas if delta.kind == "content")
        if self._kept is not None or not text:
            return _to_message(deltas)
        # The host asks its tool parser no more.
        request = self._request
        tools = None if request is None else getattr(request, "tools", None) or []
        reader = Parser(self._format, tools, reasoning=False, **_request_options(request))
        rest = [*reader.parse_chunk(text), *reader.finish("stop").deltas]
        return _to_message([*(delta for delta in deltas if delta.kind != "content"), *rest])


def _generation_prompt(tokenizer: Any, options: dict[str, Any]) -> str | None:
    """The text that the chat template writes before an answer to a user; None if there is none."""
    chat = [{"role": "user", "content": "."}]
    try:
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, **options)
    except Exception:  # no template, or one that wants more than this
        return None
    return text if isinstance(text, str) else None


class UnspoolParser(DelegatingParser):  # type: ignore[misc]
    """Reasoning, content and calls by one streamer, for both of ours; `register` puts it in vLLM's place."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._parser: Parser | None = None
        self._only_reasoning: list[str] | None = None  # until there is another answer, if one is wanted
        self._earlier_calls = (
            0  # those of the conversation, where calls are numbered and the model writes no number
        )

    def _open(self, request: Any, ids: Sequence[int], keep_message: bool) -> Parser:
        tool, reasoning = self._tool_parser, self._reasoning_parser
        tokenizer = self.model_tokenizer
        vocabulary = _vocabulary(tokenizer) if ids else None
        options = _request_options(request)
        if tool is None or not getattr(request, "tools", None):
            tools: Any = []
            options["tool_choice"] = "none"
        else:
            tools = request.tools
        format, own = choose_format((tool or reasoning).format_name, tokenizer)
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
        """Whether the model's template wants ids that count on, as those of Kimi do."""
        if count_history_tool_calls is None:
            return False
        file = get_format(format) if isinstance(format, str) else format
        is_numbered = isinstance(file, FormatFile) and file.facts.call_ids == "functions"
        return is_numbered or self._stream_state.tool_call_id_type == "kimi_k2"

    def _id_of(self, call: Any, index: int, name: str) -> str:
        """The call's id. Guided JSON has none: the parser's counts from 0, the template's over the conversation."""
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
        """(reasoning, content, calls) of a whole output: what the stream adds up to, but for half a call."""
        self._parser = self._open(request, model_output_token_ids, keep_message=True)
        _feed(self._parser, model_output, model_output_token_ids, "stop")
        message = self._parser.message
        calls = [
            protocol.FunctionCall(
                id=self._id_of(call, i, call.name), name=call.name, arguments=call.arguments
            )
            for i, call in enumerate(_whole_calls(message))
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
        """Return what a chunk adds."""
        if self._parser is None:
            if prompt_token_ids is not None and self._reasoning_parser is not None:
                self._reasoning_parser.set_prompt_token_ids(prompt_token_ids)
            self._parser = self._open(request, delta_token_ids, keep_message=False)
        deltas = _feed(self._parser, delta_text, delta_token_ids, "stop" if finished else None)
        self._note_reasoning(deltas)
        if not getattr(request, "include_reasoning", True):
            deltas = [delta for delta in deltas if delta.kind != "reasoning"]
        message = _to_message(deltas)
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
        """How many of the output's tokens belong to reasoning, markers included."""
        if self._reasoning_parser is None or self._parser is None:
            return 0
        return self._parser.message.token_counts.reasoning


def register() -> None:
    """Make every format known to vLLM as `unspool_<name>`, aliases and formats of your own included.

    Those with calls are tool parsers, those with reasoning reasoning parsers; `unspool_auto` is what `detect`
    finds for the tokenizer, `unspool_hf` its own response template. Safe to call again, for formats that
    `unspool.register_format` added since.
    """
    for file in formats():
        for name in (file.name, *file.aliases):
            has_reasoning = file.has_reasoning or kept_reasoning_file(name) is not None
            _register(name, has_tools=file.has_tools, has_reasoning=has_reasoning)
    for name in ("auto", *TEMPLATE_NAMES):
        _register(name, has_tools=True, has_reasoning=True)
    if ParserManager is not None and _COMPOSES and not hasattr(ParserManager.get_parser, "_unspool"):
        ParserManager.get_parser = classmethod(_composed(ParserManager.get_parser.__func__))
    if ChatStreamProcessor is not None and not hasattr(ChatStreamProcessor.step, "_unspool"):
        ChatStreamProcessor.step = _ending(ChatStreamProcessor.step)


def _register(name: str, *, has_tools: bool, has_reasoning: bool) -> None:
    values = {"format_name": name, "__module__": __name__}
    if has_tools:
        tool = type("UnspoolToolParser", (UnspoolToolParser,), values)
        ToolParserManager.register_module(PREFIX + name, module=tool)
    if has_reasoning:
        reasoning = type("UnspoolReasoningParser", (UnspoolReasoningParser,), values)
        ReasoningParserManager.register_module(PREFIX + name, module=reasoning)


def _composed(compose: Any) -> Any:
    """vLLM has no registry for whole parsers, so its composition is wrapped: ours, if all names are ours."""

    @functools.wraps(compose)
    def get_parser(cls: Any, *args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(compose).bind(cls, *args, **kwargs)
        names = [bound.arguments.get(key) for key in ("tool_parser_name", "reasoning_parser_name")]
        if not all(name.startswith(PREFIX) for name in names if name):
            return compose(*bound.args, **bound.kwargs)
        if "is_harmony" in bound.arguments:  # gpt-oss has a format of ours too
            bound.arguments["is_harmony"] = False
        found = compose(*bound.args, **bound.kwargs)
        return None if found is None else type("UnspoolParser", (UnspoolParser, found), {})

    get_parser._unspool = True  # type: ignore[attr-defined]
    return get_parser


def _ending(step: Any) -> Any:
    """vLLM ends a stream with "tool_calls" once a call has begun. Here one that is cut off, as by a stop string
    inside its arguments, leaves the reason "stop"."""

    @functools.wraps(step)
    def ended(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = step(self, *args, **kwargs)
        if found.finish_reason != "tool_calls":
            return found
        for ours in (self.parser, getattr(self.parser, "tool_parser", None)):
            if isinstance(ours, (UnspoolParser, UnspoolToolParser)) and ours.stopped_without_a_call():
                return found._replace(finish_reason="stop")
        return found

    ended._unspool = True  # type: ignore[attr-defined]
    return ended


register()
