"""`unspool.bridge`: the next turn's prompt from the ids that the model wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from unspool.bridging.result import Bridge

if TYPE_CHECKING:
    from unspool.format_files import FormatFile
    from unspool.message import Message

__all__ = ["Bridge", "bridge"]


def bridge(
    ids: Sequence[int],
    next_messages: Iterable[Mapping[str, Any]],
    *,
    format: str | FormatFile,
    tokenizer: Any,
    prompt_length: int,
    template: Any = None,
    encode: Callable[[str], Sequence[int]] | None = None,
    message: Message | None = None,
    messages: Iterable[Mapping[str, Any]] | None = None,
    tools: Iterable[Mapping[str, Any]] | None = None,
    variables: Mapping[str, Any] | None = None,
    history: Literal["keep", "template"] = "keep",
    on_cut: Literal["close", "refuse"] = "close",
    check: bool = True,
    timeout: float = 10.0,
) -> Bridge:
    """The next turn's prompt: the ids so far as they are, and what the chat template writes behind them.

    The template renders a short conversation with and without the next messages. What it adds behind the answer
    is encoded from there on. A child process renders it, with limits on time, memory and output, whether the
    template comes as a text or with the tokenizer. Needs jinja2 (`pip install 'unspool[learn]'`).

    Args:
        ids: The prompt and the answer, with the token that ended it.
        next_messages: What follows the answer: the results of all its calls, or a user's message.
        format: The name of a format, or a `FormatFile`.
        tokenizer: A tokenizer or `Vocabulary`.
        prompt_length: How many of `ids` are the prompt.
        template: The chat template, or what `unspool.learn` takes. None: the tokenizer's own.
        encode: Text to ids, with added tokens recognised, and nothing added at the ends. None: the tokenizer's own.
        message: The answer as it was parsed and sent. The next messages then name its calls by its ids. None: the
            answer is parsed again, which gives new ids where the model writes none.
        messages: The conversation that the prompt was rendered from, for the proof. None: a short user's message
            takes its place, and the proof covers the answer and what follows.
        tools: The request's tools, as the API holds them.
        variables: The template's further variables, as in the request; also special tokens, such as
            `{"eos_token": "</s>"}`, if a template's text is passed.
        history: "keep": the ids go on, whatever the template would make of the answer. "template": there are no
            ids if the template would write another text.
        on_cut: What becomes of an answer without its end token. "close": the reasoning's and the turn's end are
            added, never a call's. "refuse": there are no ids.
        check: Whether the result is compared with the template's rendering of the parsed conversation.
        timeout: Seconds for all renderings.

    Raises:
        ArgumentError: An argument is none of its choices, the tokenizer has no template or no `encode`, a result
            names a call that the answer does not have, or a value is no JSON.
        LearnError: The template renders no answer, or reaches a limit.
        UnknownFormatError, VocabularyError: As of `Parser`.
        ImportError: jinja2 is missing.
    """
    from unspool.bridging.build import build_bridge
    from unspool.bridging.request import read_request

    request = read_request(
        ids, next_messages, format=format, tokenizer=tokenizer, prompt_length=prompt_length, template=template,
        encode=encode, message=message, messages=messages, tools=tools, variables=variables, history=history,
        on_cut=on_cut, check=check, timeout=timeout,
    )  # fmt: skip
    return build_bridge(request)
