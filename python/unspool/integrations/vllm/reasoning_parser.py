"""A vLLM reasoning parser: splits an output into reasoning and the rest."""

# ruff: noqa: ARG002 - the host calls these methods with all that it has
from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from unspool._core import Format, ReasoningFacts, Vocabulary
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.stream_options import StartIn
from unspool.formats.choose_format import choose_format, kept_reasoning_file
from unspool.formats.format_file import FormatFile, get_format
from unspool.integrations.host_options import white_space
from unspool.integrations.vllm.host import (
    FLUSHES,
    EngineReasoningParser,
    ReasoningEnd,
    ReasoningParser,
    protocol,
)
from unspool.integrations.vllm.host_requests import (
    ends_with_eos,
    feed,
    keep_special_tokens,
    request_options,
    vocabulary_of,
)
from unspool.integrations.vllm.messages import to_message
from unspool.streams.parser import Parser

__all__ = ["UnspoolReasoningParser"]

#: How many of the last tokens may contain the beginning of a closing tag.
_WINDOW = 32


class UnspoolReasoningParser(EngineReasoningParser):  # type: ignore[misc]
    """Splits reasoning from the rest, which another parser reads for calls. Each format has a subclass: see
    `register`."""

    engine_based_streaming = True
    format_name: ClassVar[str]

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        ReasoningParser.__init__(self, tokenizer, *args, **kwargs)  # skips the engine's own parser
        self._template_options: dict[str, Any] = dict(kwargs.get("chat_template_kwargs") or {})
        self.start_in: StartIn = "auto"
        self.prompt: list[int] | None = None
        # For the last chunk: the parser, the content, the chunk's ids, and all ids so far.
        self._last: tuple[Parser, str, list[int], list[int]] | None = None
        self._content_ids: list[int] = []
        self._request: Any = None
        self._reasoning_so_far: list[str] = []  # if it may become content
        self._parsers: dict[int, tuple[Any, Parser]] = {}

    @functools.cached_property
    def _format(self) -> FormatFile | Format:
        """The format of the tags."""
        if self._kept is not None:
            return self._kept
        format, reasoning = choose_format(self.format_name, self.model_tokenizer)
        name = reasoning if isinstance(reasoning, str) else format
        return get_format(name) if isinstance(name, str) else name

    @property
    def _kept(self) -> FormatFile | None:
        """The format whose reasoning stays in the content, with the tag from the prompt; None: it does not stay."""
        return kept_reasoning_file(self.format_name)

    @functools.cached_property
    def forces_content(self) -> bool:
        """Whether the request asks for reasoning as content if the answer has no other content."""
        options = self._template_options
        return options.get("force_nonempty_content") is True or options.get("enable_thinking") is False

    @property
    def reasoning(self) -> str | None:
        """The `reasoning` for a `Parser` whose calls have another format; None: the template's own."""
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
        return keep_special_tokens(request)

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Derive from the prompt whether the output starts inside reasoning."""
        self.prompt = list(prompt_token_ids)

    adjust_initial_state_from_prompt = set_prompt_token_ids  # 0.24 calls only this one

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether reasoning is over at the end of a prompt, or of the output so far."""
        if self._last is not None:
            parser, _, delta, current = self._last
            if len(input_ids) in (len(delta), len(current)) and list(input_ids) in (delta, current):
                return parser.is_finished
        return compile_format(self._format).ends_reasoning(self._decode(input_ids[-8192:]))

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """Whether the last tokens close reasoning; the time depends only on them."""
        count = len(list(delta_ids))
        before = len(self._decode(input_ids[-_WINDOW - count : len(input_ids) - count]))
        text = self._decode(input_ids[-_WINDOW - count :])
        return compile_format(self._format).ends_reasoning(text[before:], text[:before])

    @functools.cached_property
    def implicit_reasoning_end_token_ids(self) -> frozenset[int]:
        """The tokens that open a call. They end the reasoning, and the grammar includes them."""
        if not isinstance(self._format, FormatFile) or self._tags is None or self._tags.tool_calls == "keep":
            return frozenset()
        facts = self._format.facts
        return self._ids_of(*facts.section_openers, *(word for call in facts.calls for word in call.openers))

    @functools.cached_property
    def reasoning_end_token_ids(self) -> frozenset[int]:
        """The tokens after which the engine applies a grammar; empty: `is_reasoning_end_streaming`
        decides."""
        if not isinstance(self._format, FormatFile) or self._tags is None or self._format.facts.headers:
            return frozenset()
        closers = self._ids_of(*self._tags.closers)
        return closers | self.implicit_reasoning_end_token_ids if closers else frozenset()

    def _ids_of(self, *words: str) -> frozenset[int]:
        vocabulary = vocabulary_of(self.model_tokenizer)
        found = () if vocabulary is None else map(vocabulary.find_added, words)
        return frozenset(id for id in found if id is not None)

    def find_reasoning_end(self, token_ids: Sequence[int]) -> Any:
        """Return where reasoning ends in an output's next tokens, and whether its last token opens a call."""
        if not self.reasoning_end_token_ids:
            return None
        for place, id in enumerate(token_ids):
            if id in self.reasoning_end_token_ids:
                return ReasoningEnd(place, id in self.implicit_reasoning_end_token_ids)
        return ReasoningEnd(len(token_ids), False)

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self.model_tokenizer.decode(list(ids), skip_special_tokens=False)) if len(ids) else ""

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """Return the ids of the answer's text, if whole tokens spell it."""
        vocabulary = vocabulary_of(self.model_tokenizer)
        if vocabulary is None:
            return []
        if self._last is None or list(input_ids) != self._last[2]:
            closers = {vocabulary.find_added(text) for text in (self._tags.closers if self._tags else ())}
            closer_places = [place for place, id in enumerate(input_ids) if id in closers]
            return list(input_ids[closer_places[-1] + 1 :]) if closer_places else []
        # The ids of the answer's text, including those of earlier chunks if it was held; they must spell it.
        text = self._last[1].encode()
        size, start = len(text), len(self._content_ids)
        while size > 0 and start > 0:
            start -= 1
            size -= len(vocabulary.token_bytes(self._content_ids[start]))
        ids = self._content_ids[start:]
        return ids if b"".join(map(vocabulary.token_bytes, ids)) == text else []

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Return the number of tokens in the output that belong to reasoning, markers included."""
        vocabulary = vocabulary_of(self.model_tokenizer)
        if vocabulary is None:
            return 0
        parser = self._open(vocabulary, only_reasoning=False)
        return parser.parse(list(token_ids)).token_counts.reasoning  # none if reasoning is content

    def start(self, vocabulary: Vocabulary | None) -> dict[str, Any]:
        """Return where the output starts, as arguments of `Parser`.

        It is derived from the host's prompt or, on old hosts without one, from the text that the chat template writes
        before an answer.
        """
        prompt: str | list[int] | None = self.prompt
        if self.prompt is None:
            prompt = _generation_prompt(self.model_tokenizer, self._template_options)
        elif vocabulary is None:
            prompt = self._decode(self.prompt[-8192:])
        return {"prompt": prompt, "start_in": self.start_in}

    def _open(self, vocabulary: Vocabulary | None, only_reasoning: bool = True, **options: Any) -> Parser:
        options.update(self.start(vocabulary), white_space=white_space())
        format = self._format if self._kept is None else self.format_name
        return Parser(format, tokenizer=vocabulary, only_reasoning=only_reasoning, **options)

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Return (reasoning, the text after it) of a whole output."""
        is_open = self._kept is None and self._opens_unseen(model_output)
        if is_open and self.start(None)["prompt"] is None:
            self.start_in = "reasoning"
        message = self._open(None).parse(model_output)
        if self.forces_content and not message.content.strip():
            return None, message.reasoning or None
        return message.reasoning or None, message.content or None

    def get_streaming_fallback_content(self, text: str, request: Any) -> str | None:
        """Return the content of a stream that ended inside its reasoning. The host calls this."""
        return "".join(self._reasoning_so_far) or None

    extract_reasoning_content = extract_reasoning  # 0.11.0's name

    def _opens_unseen(self, text: str) -> bool:
        """Whether a closing tag has no opener in the text, because the opener is in the prompt."""
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
        """Return the delta of a chunk. Old hosts pass all choices of a request; lists of ids distinguish
        them."""
        parser = None
        if FLUSHES:
            parser = self._last[0] if self._last else None
        elif previous_text or previous_token_ids:
            _, parser = self._parsers.pop(id(previous_token_ids), (None, self._last and self._last[0]))
        if parser is None:
            vocabulary = vocabulary_of(self.model_tokenizer) if delta_token_ids else None
            parser = self._open(vocabulary, keep_message=False)
        if not FLUSHES:
            self._parsers[id(current_token_ids)] = (current_token_ids, parser)
        if parser.is_finished:
            message = protocol.DeltaMessage(content=delta_text) if delta_text else None
        else:
            ends = not FLUSHES and ends_with_eos(self.model_tokenizer, delta_token_ids)
            deltas = feed(parser, delta_text, delta_token_ids, "stop" if ends else None)
            if not parser.is_finished and any(delta.kind == "content" for delta in deltas):
                deltas += parser.parse_chunk(None, None, "stop")  # the next parser continues
            self._content_ids = [id for delta in deltas if delta.kind == "content" for id in delta.token_ids]
            if self.forces_content:
                self._reasoning_so_far += [delta.text for delta in deltas if delta.kind == "reasoning"]
            message = to_message(deltas)
        content = (message and message.content) or ""
        self._last = (parser, content, list(delta_token_ids), list(current_token_ids))
        return message

    extract_reasoning_content_streaming = extract_reasoning_streaming

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the answer has begun."""
        return self._last is not None and self._last[0].is_finished

    def finish_streaming(self) -> Any:
        """Return what was held back at the stream's end: reasoning, or a call that only the end
        identifies."""
        if self._last is None or self._last[0].is_finished:
            return None
        deltas = self._last[0].parse_chunk(None, None, "stop")
        text = "".join(delta.text for delta in deltas if delta.kind == "content")
        if self._kept is not None or not text:
            return to_message(deltas)
        # The host does not call its tool parser afterwards.
        request = self._request
        tools = None if request is None else getattr(request, "tools", None) or []
        reader = Parser(self._format, tools, reasoning=False, **request_options(request, self._format))
        rest = [*reader.parse_chunk(text), *reader.finish("stop").deltas]
        return to_message([*(delta for delta in deltas if delta.kind != "content"), *rest])


def _generation_prompt(tokenizer: Any, options: dict[str, Any]) -> str | None:
    """Return the text that the chat template writes before an answer; None if there is none."""
    chat = [{"role": "user", "content": "."}]
    try:
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, **options)
    except Exception:  # no template, or one that needs more variables
        return None
    return text if isinstance(text, str) else None
