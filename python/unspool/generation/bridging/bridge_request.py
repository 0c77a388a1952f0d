"""The validated arguments of `bridge`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unspool._core import Vocabulary
from unspool.core.stream.message import Message
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile, get_format
from unspool.formats.templates.source import TemplateSource, read_source

__all__ = ["Request", "read_request"]

Messages = list[dict[str, Any]]
_NO_TOKENS = {"bos_token": "", "eos_token": "", "unk_token": "", "pad_token": ""}


@dataclass(frozen=True)
class Request:
    """The arguments of `bridge`.

    Attributes:
        ids: Prompt and answer.
        variables: The variables of every rendering, including tools and special tokens.
    """

    ids: list[int]
    next_messages: Messages
    file: FormatFile
    vocabulary: Vocabulary
    encode: Callable[[str], Sequence[int]]
    prompt_length: int
    template: str
    variables: dict[str, Any]
    message: Message | None
    messages: Messages | None
    keeps_history: bool
    closes: bool
    checks: bool
    timeout: float

    @property
    def prompt(self) -> list[int]:
        """The prompt's ids."""
        return self.ids[: self.prompt_length]

    @property
    def answer(self) -> list[int]:
        """The answer's ids."""
        return self.ids[self.prompt_length :]

    @property
    def ends(self) -> tuple[str, ...]:
        """The texts that may end an answer, according to the format and the template's variables."""
        eos = self.variables.get("eos_token")
        given = [*self.file.facts.ends, eos if isinstance(eos, str) else ""]
        return tuple(end.strip() for end in given if end.strip())


def read_request(ids: Sequence[int], next_messages: Iterable[Mapping[str, Any]], **arguments: Any) -> Request:
    """Validate arguments; see `unspool.bridge` for them and the errors."""
    _check_choices(arguments)
    own = [int(id) for id in ids]
    length = arguments["prompt_length"]
    if not 0 <= length <= len(own):
        raise ArgumentError(f"prompt_length is {length}; pass how many of the {len(own)} ids are the prompt")
    following = _messages(next_messages, "next_messages")
    if not following:
        raise ArgumentError("next_messages is empty; pass the calls' results, or the user's next message")
    if any(message.get("role") == "assistant" for message in following):
        raise ArgumentError("next_messages has an assistant's message; pass only what follows the answer")
    tokenizer, format = arguments["tokenizer"], arguments["format"]
    source = _source(arguments["template"], tokenizer)
    tools = None if arguments["tools"] is None else [dict(tool) for tool in arguments["tools"]]
    variables = {**_NO_TOKENS, **source.tokens, "tools": tools, **(arguments["variables"] or {})}
    _check_json(variables, "tools and variables")
    return Request(
        ids=own,
        next_messages=following,
        file=get_format(format) if isinstance(format, str) else format,
        vocabulary=from_tokenizer(tokenizer),
        encode=arguments["encode"] or _encode_of(tokenizer),
        prompt_length=length,
        template=source.template,
        variables=variables,
        message=arguments["message"],
        messages=None if arguments["messages"] is None else _messages(arguments["messages"], "messages"),
        keeps_history=arguments["history"] == "keep",
        closes=arguments["on_cut"] == "close",
        checks=arguments["check"],
        timeout=arguments["timeout"],
    )


def _check_choices(given: Mapping[str, Any]) -> None:
    for name, choices in (("history", ("keep", "template")), ("on_cut", ("close", "refuse"))):
        if given[name] not in choices:
            raise ArgumentError(f"{name} is {given[name]!r}; use '{choices[0]}' or '{choices[1]}'")
    if given["history"] == "template" and not given["check"]:
        raise ArgumentError("history='template' compares texts; leave check=True")
    if not given["timeout"] > 0:
        raise ArgumentError(f"timeout is {given['timeout']}; pass a number of seconds above 0")


def _messages(given: Iterable[Mapping[str, Any]], name: str) -> Messages:
    made = [dict(message) for message in given]
    _check_json(made, name)
    return made


def _check_json(value: Any, name: str) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{name} cannot be written as JSON: {error}") from None


def _source(template: Any, tokenizer: Any) -> TemplateSource:
    """Return the template, with the tokenizer's special tokens if it has none."""
    source = read_source(tokenizer if template is None else template)
    named = {key: getattr(tokenizer, key, None) for key in _NO_TOKENS}
    texts = {key: str(text) for key, text in named.items() if text}
    return TemplateSource(source.template, {**texts, **source.tokens})


def _encode_of(tokenizer: Any) -> Callable[[str], Sequence[int]]:
    if isinstance(tokenizer, Vocabulary) or not hasattr(tokenizer, "encode"):
        raise ArgumentError(f"a {type(tokenizer).__name__} does not encode text; pass encode=")

    def encode(text: str) -> Sequence[int]:
        made = tokenizer.encode(text, add_special_tokens=False)
        ids: Sequence[int] = getattr(made, "ids", made)
        return ids

    return encode
