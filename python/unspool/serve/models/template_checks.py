"""What a model's chat template reads: its variables, its messages and its tools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from unspool.errors import ArgumentError
from unspool.generation.served_model import ServedModel
from unspool.serve.http.api_errors import ApiError

__all__ = ["can_render", "check_template", "check_template_kwargs", "effort_kwargs", "has_template"]

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


def effort_kwargs(model: ServedModel, effort: str) -> dict[str, Any] | None:
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


def check_template_kwargs(model: ServedModel, template_kwargs: Mapping[str, Any]) -> None:
    """Raise ArgumentError for variables that the model's chat template never reads, or that the server sets."""
    taken = sorted(set(template_kwargs) & _SET_FOR_TEMPLATES)
    if taken:
        raise ArgumentError(
            f"chat_template_kwargs: {', '.join(taken)} is set by the request itself; leave it out"
        )
    names = _template_names(model)
    unknown = [] if names is None else sorted(set(template_kwargs) - names)
    if unknown:
        raise ArgumentError(
            f"chat_template_kwargs: the model's chat template does not read {', '.join(unknown)}; leave it out"
        )


def check_template(model: ServedModel, prompt: Any, tools: Sequence[Mapping[str, Any]] | None) -> None:
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
    if tools and model.tokenizer is not None:
        names = _template_names(model)
        if names and not names & {"tools", "functions"}:
            raise ApiError(
                400,
                "the model's chat template does not read tools, so the model would not see them; leave 'tools' out",
                code="unsupported_parameter",
                param="tools",
            )


def has_template(model: ServedModel) -> bool:
    """Whether messages can be rendered to a prompt, by a template or by the tokenizer's own method."""
    owners = [owner for owner in (model.tokenizer, model.processor) if owner is not None]
    return not owners or any(map(can_render, owners))


def can_render(owner: Any) -> bool:
    """Whether a tokenizer or processor renders messages."""
    if getattr(owner, "chat_template", None):
        return True
    render = getattr(type(owner), "apply_chat_template", None)
    return render is not None and not render.__module__.startswith(("transformers.", "unspool."))


def _template_names(model: ServedModel) -> frozenset[str] | None:
    """Return the words in a model's chat template; None if they are unknown."""
    if model.template_names is not None:
        return frozenset(model.template_names)
    if model.tokenizer is None:
        return None
    template = getattr(model.tokenizer, "chat_template", None) or ""
    texts = template.values() if isinstance(template, Mapping) else [template]
    return frozenset(word for text in texts for word in re.findall(r"[A-Za-z_]\w*", str(text)))
