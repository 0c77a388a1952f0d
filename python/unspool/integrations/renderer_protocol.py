"""Implements the renderer interface of PrimeIntellect's `renderers` on top of a format and a chat template.

The results have the fields of that package's classes. The package itself is not required.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool._core import Vocabulary
from unspool.core.stream.labels import Labels, LabelSpan
from unspool.core.stream.loss_mask import loss_mask
from unspool.core.stream.message import Message, ToolCall
from unspool.errors import ArgumentError, LearnError
from unspool.formats.format_file import FormatFile, get_format
from unspool.generation.bridging import bridge
from unspool.generation.prompts.history import prepare_messages
from unspool.streams.parse_batch import BatchParser

__all__ = ["FormatRenderer", "ParsedAnswer", "ParsedCall", "RenderedIds"]

Messages = Sequence[Mapping[str, Any]]
Tools = Sequence[Mapping[str, Any]] | None
#: A function that renders messages to token ids, from messages, tools, and whether to add the generation prompt.
Template = Callable[[Messages, Tools, bool], Sequence[int]]

_STATUS = {"complete": "ok", "incomplete": "unclosed_block", "malformed": "malformed_structure"}


@dataclass
class RenderedIds:
    """A conversation's token ids, with one entry for each id in `message_indices` (-1: no message) and `sampled_mask`.

    `is_content` is empty, which means unknown.
    """

    token_ids: list[int]
    message_indices: list[int]
    sampled_mask: list[bool]
    message_roles: list[str] = field(default_factory=list)
    message_tool_names: list[str | None] = field(default_factory=list)
    is_content: list[bool] = field(default_factory=list)
    multi_modal_data: None = None


@dataclass
class ParsedCall:
    """A call of the model. `arguments` is a dict if the call is complete, else the text so far."""

    raw: str
    name: str
    arguments: dict[str, Any] | str
    token_span: tuple[int, int]
    status: str
    id: str | None


@dataclass
class ParsedAnswer:
    """The model's answer; `reasoning_complete` is False if it ends inside its reasoning."""

    content: str
    reasoning_content: str | None
    tool_calls: list[ParsedCall]
    reasoning_complete: bool


class FormatRenderer:
    """A renderer for any format and chat template.

    Args:
        format: A format or its name.
        tokenizer: A transformers tokenizer, or any other that works with `Vocabulary` and has
            `decode(ids, skip_special_tokens=False)`.
        template: Converts messages to token ids. None: the tokenizer's `apply_chat_template`.
        chat_template: The Jinja template for `bridge_to_next_turn`. None: the tokenizer's own.

    Raises:
        UnknownFormatError: No format has this name.
        VocabularyError: The tokenizer cannot be compiled.
    """

    #: A chat template may write earlier messages differently.
    is_prefix_stable = False

    def __init__(
        self,
        format: str | FormatFile,
        tokenizer: Any,
        template: Template | None = None,
        chat_template: str | None = None,
    ) -> None:
        self._file = get_format(format) if isinstance(format, str) else format
        self._tokenizer = tokenizer
        self._template = template or self._chat_template
        self._jinja = chat_template
        self._vocabulary = Vocabulary.from_tokenizer(tokenizer)
        texts = {self._vocabulary.content(id): id for id in range(len(self._vocabulary))}
        self._stops = [texts[end] for end in self._file.facts.ends if end in texts]

    def render(
        self, messages: Messages, *, tools: Tools = None, add_generation_prompt: bool = False
    ) -> RenderedIds:
        """Return a conversation's ids, and which of them the model samples.

        The ids of an answer are known if the template writes it after its own generation prompt, with an end token.
        """
        ids = self.render_ids(messages, tools=tools, add_generation_prompt=add_generation_prompt)
        rendered = _unmarked(ids, messages)
        for number, message in enumerate(messages):
            if message["role"] == "assistant":
                prompt = self.render_ids(messages[:number], tools=tools, add_generation_prompt=True)
                self._mark(rendered, number, prompt, tools)
        return rendered

    def render_ids(
        self, messages: Messages, *, tools: Tools = None, add_generation_prompt: bool = False
    ) -> list[int]:
        """Return a conversation's ids, as rendered by the chat template."""
        return [int(id) for id in self._template(messages, tools, add_generation_prompt)]

    def parse_response(
        self, token_ids: Sequence[int], *, tools: Tools = None, prompt_ids: Sequence[int] | None = None
    ) -> ParsedAnswer:
        """Parse sampled ids. Pass the prompt's ids too, because they may have opened the reasoning."""
        ids = list(token_ids)
        message, labels = self._parse(ids, tools, prompt_ids)
        calls = [
            self._call(ids, [span for span in labels.spans if span.call == number], call, tools)
            for number, call in enumerate(message.tool_calls)
        ]
        is_open = bool(labels.spans) and labels.spans[-1].region == "reasoning"
        return ParsedAnswer(message.content, message.reasoning or None, calls, not is_open)

    def get_stop_token_ids(self) -> list[int]:
        """The tokens that end an answer, according to the format."""
        return list(self._stops)

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: Sequence[int],
        previous_completion_ids: Sequence[int],
        new_messages: Messages,
        *,
        tools: Tools = None,
    ) -> RenderedIds | None:
        """Return the next prompt, which begins with the unchanged ids; see `unspool.bridge`.

        Returns None if there is no such prompt or no chat template. The caller then renders the whole conversation.
        """
        prompt, answer = list(previous_prompt_ids), list(previous_completion_ids)
        try:
            ids = bridge(
                [*prompt, *answer],
                new_messages,
                format=self._file,
                tokenizer=self._tokenizer,
                prompt_length=len(prompt),
                template=self._jinja,
                tools=tools,
                check=False,
            ).ids
        except (ArgumentError, LearnError, ImportError):
            return None
        return None if ids is None else _unmarked(ids, new_messages)

    def _chat_template(self, messages: Messages, tools: Tools, opens: bool) -> Sequence[int]:
        made = self._tokenizer.apply_chat_template(
            prepare_messages(messages, self._tokenizer),
            tools=tools,
            add_generation_prompt=opens,
            tokenize=True,
            return_dict=False,
        )
        ids: Sequence[int] = made
        return ids

    def _parse(
        self, ids: Sequence[int], tools: Tools, prompt: Sequence[int] | None
    ) -> tuple[Message, Labels]:
        options: dict[str, Any] = {"prompt": list(prompt)} if prompt else {}
        parser = BatchParser(self._file, tools, tokenizer=self._vocabulary, labels=True, **options)
        (message,) = parser.parse([list(ids)])
        assert message.labels is not None  # labels=True
        return message, message.labels

    def _mark(self, made: RenderedIds, number: int, prompt: list[int], tools: Tools) -> None:
        """Mark an answer's tokens, from the end of its prompt to the first token that ends it."""
        begin = len(prompt)
        stops = (place for place in range(begin, len(made.token_ids)) if made.token_ids[place] in self._stops)
        end = next(stops, -1) + 1
        if made.token_ids[:begin] != prompt or not end:
            return
        _, labels = self._parse(made.token_ids[begin:end], tools, prompt)
        made.sampled_mask[begin:end] = [bool(one) for one in loss_mask(labels)]
        made.message_indices[begin:end] = [number] * (end - begin)

    def _call(self, ids: list[int], spans: list[LabelSpan], call: ToolCall, tools: Tools) -> ParsedCall:
        begin, end = (spans[0].start, spans[-1].end) if spans else (0, 0)
        names = [tool.get("function", tool).get("name") for tool in tools or ()]
        is_unknown = call.is_complete and bool(names) and call.name not in names
        return ParsedCall(
            raw=self._tokenizer.decode(ids[begin:end], skip_special_tokens=False),
            name=call.name,
            arguments=json.loads(call.arguments) if call.is_complete else call.arguments,
            token_span=(begin, end),
            status="unknown_tool" if is_unknown else _STATUS[call.status],
            id=call.id,
        )


def _unmarked(ids: list[int], messages: Messages) -> RenderedIds:
    """Return the ids of messages, with no id marked as a message's or as sampled."""
    roles = [message["role"] for message in messages]
    names = [message.get("name") if message["role"] == "tool" else None for message in messages]
    return RenderedIds(ids, [-1] * len(ids), [False] * len(ids), roles, names)
