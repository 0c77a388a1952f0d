"""Models that can be served: objects that stream as `StreamGenerator` does."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from unspool.errors import ArgumentError
from unspool.serve.http.api_errors import ApiError

if TYPE_CHECKING:
    from unspool.generation.delta_stream import DeltaStream
    from unspool.generation.sampling_params import SamplingParams
    from unspool.writing.grammar.response import Response

__all__ = [
    "ServedModel",
    "answer_options",
    "check_template",
    "check_template_kwargs",
    "count_tokens",
    "effort_kwargs",
    "format_name",
    "has_template",
    "tokenize",
]


class ServedModel(Protocol):
    """A model with its tokenizer; `StreamGenerator` is one.

    Its methods run in worker threads. These are optional, and as in `StreamGenerator`: `count_tokens` and `tokenize`
    (with prompt, tools and chat_template_kwargs), and `format_name(tools)` for the metrics. If `context_length` is a
    number, `stream` also gets `within_context=True`, and must keep to that length. If `stream` has the parameters
    `response_format` or `prefill`, it gets the request's; otherwise such requests are rejected. `lifespan()`, an
    asynchronous context manager, is entered while the server runs. /readiness reports `is_ready`.
    """

    def stream(
        self,
        prompt: Any,
        *,
        sampling: SamplingParams,
        tools: Sequence[Mapping[str, Any]] | None,
        tool_choice: str | Mapping[str, Any],
        raw: bool,
        timeout: float | None,
        chat_template_kwargs: Mapping[str, Any],
        parallel_tool_calls: bool,
        reasoning_field: str,
    ) -> DeltaStream:
        """Begin an answer, as in `StreamGenerator.stream`.

        Raises:
            ArgumentError: The model cannot fulfil the request; the client gets 400.
        """


# Variables that the server sets, and options of the rendering; a client's own template is never run.
_SET_FOR_TEMPLATES = frozenset({
    "messages", "conversation", "tools", "add_generation_prompt", "continue_final_message", "chat_template", "tokenize",
    "return_tensors", "return_dict", "return_assistant_tokens_mask", "padding", "truncation", "max_length",
    "tokenizer_kwargs", "processor_kwargs",
})  # fmt: skip

# Names of the switches for thinking in chat templates.
_THINKING_SWITCHES = ("enable_thinking", "thinking")


# Names of the efforts in the APIs.
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def effort_kwargs(model: Any, effort: str) -> dict[str, Any] | None:
    """Return a reasoning effort as the chat template's own variables; None: the template has none for it.

    Raises:
        ArgumentError: The effort is unknown.
    """
    names = _template_names(model)
    if names is None or "reasoning_effort" in names:
        return {"reasoning_effort": effort}
    if effort not in _EFFORTS:
        raise ArgumentError(f"reasoning effort '{effort}' is not one of {', '.join(_EFFORTS)}")
    switch = next((name for name in _THINKING_SWITCHES if name in names), None)
    return None if switch is None else {switch: effort != "none"}


def check_template_kwargs(model: Any, given: Mapping[str, Any]) -> None:
    """Raise ArgumentError for variables that the model's chat template never reads, or that the server sets."""
    taken = sorted(set(given) & _SET_FOR_TEMPLATES)
    if taken:
        raise ArgumentError(
            f"chat_template_kwargs: {', '.join(taken)} is set by the request itself; leave it out"
        )
    names = _template_names(model)
    unknown = [] if names is None else sorted(set(given) - names)
    if unknown:
        raise ArgumentError(
            f"chat_template_kwargs: the model's chat template does not read {', '.join(unknown)}; leave it out"
        )


def check_template(model: Any, prompt: Any, tools: Sequence[Mapping[str, Any]] | None) -> None:
    """Raise ApiError 400 for messages or tools if the model has no chat template that can render them.

    Only models with a tokenizer are checked; others convert messages in their own way.
    """
    if isinstance(prompt, str) or not prompt or not isinstance(prompt[0], Mapping):
        return
    if not has_template(model):
        raise ApiError(
            400,
            "this model has no chat template, so it cannot read messages; send a text to /v1/completions, or "
            "start the server with --chat-template FILE",
            code="no_chat_template",
        )
    if tools and getattr(model, "tokenizer", None) is not None:
        names = _template_names(model)
        if names and not names & {"tools", "functions"}:
            raise ApiError(
                400,
                "the model's chat template does not read tools, so the model would not see them; leave 'tools' out",
                code="unsupported_parameter",
                param="tools",
            )


def has_template(model: Any) -> bool:
    """Whether messages can be rendered to a prompt, by a template or by the tokenizer's own method."""
    owners = [
        owner for name in ("tokenizer", "processor") if (owner := getattr(model, name, None)) is not None
    ]
    return not owners or any(map(_has_template, owners))


def _has_template(owner: Any) -> bool:
    if getattr(owner, "chat_template", None):
        return True
    render = getattr(type(owner), "apply_chat_template", None)
    return render is not None and not render.__module__.startswith(("transformers.", "unspool."))


def count_tokens(
    model: Any,
    prompt: Any,
    tools: Sequence[Mapping[str, Any]] | None = None,
    template_kwargs: Mapping[str, Any] | None = None,
    prefill: bool = False,
) -> int:
    """Return the number of the prompt's token ids, as in its answer's usage."""
    count = _ability(model, "count_tokens")
    options = {"prefill": True} if prefill else {}
    return int(count(prompt, tools=tools, chat_template_kwargs=template_kwargs, **options))


def tokenize(
    model: Any,
    prompt: Any,
    tools: Sequence[Mapping[str, Any]] | None = None,
    template_kwargs: Mapping[str, Any] | None = None,
) -> list[int]:
    """Return the prompt's token ids; messages are rendered with the chat template."""
    ids: list[int] = _ability(model, "tokenize")(prompt, tools=tools, chat_template_kwargs=template_kwargs)
    return ids


def format_name(model: Any, tools: Sequence[Mapping[str, Any]] | None, raw: bool) -> str:
    """Return the name of the format in which an answer is parsed; "" if the model does not report it."""
    if raw:
        return "none"
    name = getattr(model, "format_name", None)
    return "" if name is None else str(name(tools))


def answer_options(model: Any, response: Response | None, prefill: bool) -> dict[str, Any]:
    """Return the options of `stream` for an answer that is constrained, or that continues a message.

    Raises:
        ArgumentError: The model's `stream` does not accept the option.
    """
    options: dict[str, Any] = {"prefill": True} if prefill else {}
    if response is not None:
        options["response_format"] = response.as_format()
    parameters = inspect.signature(model.stream).parameters if options else {}
    takes_any = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters.values())
    for name in options:
        if name not in parameters and not takes_any:
            raise ArgumentError(f"this model does not support a {name.replace('_', ' ')}; leave it out")
    return options


def _ability(model: Any, name: str) -> Any:
    method = getattr(model, name, None)
    if method is None:
        raise ArgumentError(f"this model cannot {name.replace('_', ' ')}")
    return method


def _template_names(model: Any) -> frozenset[str] | None:
    """Return the words in a model's chat template; None if they are unknown."""
    names = getattr(model, "template_names", None)
    if names is not None:
        return frozenset(names)
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is None:
        return None
    template = getattr(tokenizer, "chat_template", None) or ""
    texts = template.values() if isinstance(template, Mapping) else [template]
    return frozenset(word for text in texts for word in re.findall(r"[A-Za-z_]\w*", str(text)))
