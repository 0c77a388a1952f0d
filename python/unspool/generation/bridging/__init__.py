"""`unspool.bridge`: builds the next turn's prompt from the ids that the model wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from unspool.generation.bridging.bridge_result import Bridge

if TYPE_CHECKING:
    from unspool.core.stream.message import Message
    from unspool.formats.format_file import FormatFile

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
    """Build the next turn's prompt: the unchanged ids so far, plus what the chat template writes after them.

    The template renders a short conversation with and without the next messages. What it adds after the
    answer is encoded. A child process renders the template, with limits on time, memory and output, whether
    the template is passed as text or comes from the tokenizer. Needs jinja2 (`pip install 'unspool[learn]'`).

    Args:
        ids: The prompt and the answer, including the token that ended it.
        next_messages: The messages after the answer: the results of all its calls, or a user message.
        format: The name of a format, or a `FormatFile`.
        tokenizer: A tokenizer or `Vocabulary`.
        prompt_length: How many of `ids` belong to the prompt.
        template: The chat template, or anything that `unspool.learn` accepts. None: the tokenizer's own.
        encode: Encodes text, recognizes added tokens, and adds nothing at the ends. None: the tokenizer's
            own.
        message: The answer as it was parsed and sent, so that the next messages can refer to its call ids.
            None: the answer is parsed again, and calls get new ids if the model writes none.
        messages: The conversation that the prompt was rendered from, for the check. None: a short user
            message replaces it, and the check covers only the answer and what follows.
        tools: The request's tools, as the API sends them.
        variables: Further variables of the template, as in the request. If the template is a text, include
            special tokens, such as `{"eos_token": "</s>"}`.
        history: "keep": keep the ids even if the template would write the answer differently. "template":
            return no ids in that case.
        on_cut: Handling of an answer without its end token. "close": add the end of the reasoning and of the
            turn, but never of a call. "refuse": return no ids.
        check: Whether to compare the result with the template's rendering of the parsed conversation.
        timeout: Seconds for all renderings.

    Raises:
        ArgumentError: An argument has an invalid value, the tokenizer has no template or no `encode`, a
            result refers to a call that the answer does not have, or a value cannot be written as JSON.
        LearnError: The template renders no answer, or exceeds a limit.
        UnknownFormatError, VocabularyError: As in `Parser`.
        ImportError: jinja2 is missing.
    """
    arguments = dict(locals())
    from unspool.generation.bridging.bridge_request import read_request
    from unspool.generation.bridging.build import build_bridge

    return build_bridge(read_request(**arguments))
