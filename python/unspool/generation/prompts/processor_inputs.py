"""Computes the ids and features of chats with images and audio."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unspool.errors import ArgumentError
from unspool.generation.prompts.chat_template import render_messages
from unspool.generation.prompts.history import TEXT_PARTS
from unspool.generation.prompts.split_inputs import as_inputs, as_row, split_inputs

__all__ = ["build_multimodal_inputs"]

_MEDIA_TYPES = ("image", "audio", "video")


def build_multimodal_inputs(
    model: Any,
    processor: Any,
    tokenizer: Any,
    messages: Sequence[Mapping[str, Any]],
    *,
    device: Any = None,
    tools: Any = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    prefill: bool | str = False,
) -> dict[str, Any]:
    """Compute the ids and features of a chat with its processor.

    If the processor, or else the model, has `prepare_chunked_prefill_static_inputs(messages, device)`, that method
    makes the static inputs. If it returns `input_ids` too, nothing else is called. Otherwise the ids and the inputs
    with one value per token come from the processor, or from the tokenizer if there is no processor.

    Args:
        messages: Images and audio are content parts {"type": "image", "image": ...},
            {"type": "audio", "audio": ..., "sampling_rate": ...} or {"type": "video", "video": ...}; the
            value is passed to the processor.
        device: The device of the tensors; None: the model's.

    Returns:
        A mapping with `input_ids` of shape (1, length), tensors on the device.

    Raises:
        PrefillError: The inputs are not a mapping, or have no ids.
        ArgumentError: A content part has another type or no data, or the processor does not accept its media.
    """
    device = getattr(model, "device", None) if device is None else device
    static_inputs: dict[str, Any] = {}
    for owner in (processor, model):
        prepare = getattr(owner, "prepare_chunked_prefill_static_inputs", None)
        if callable(prepare):
            static_inputs = as_inputs(
                prepare(messages, device), device, "prepare_chunked_prefill_static_inputs"
            )
            break
    if "input_ids" in static_inputs:
        return static_inputs
    prompt = render_messages(
        processor if processor is not None else tokenizer,
        messages,
        fallback=tokenizer,
        tools=tools,
        chat_template_kwargs=chat_template_kwargs,
        prefill=prefill,
    )
    options = {"return_tensors": "pt", "add_special_tokens": not prompt.is_template}
    if callable(processor):
        inputs = as_inputs(
            _call_processor(processor, prompt.text, options, messages), device, "the processor"
        )
    else:
        inputs = as_inputs(tokenizer(prompt.text, **options), device, "the tokenizer")
    inputs["input_ids"] = as_row(inputs.get("input_ids"), device)
    if static_inputs:
        # These features replace the processor's.
        kept = {"input_ids", "attention_mask", *split_inputs(inputs).token_inputs}
        inputs = {name: value for name, value in inputs.items() if name in kept}
    return {**inputs, **static_inputs}


def _call_processor(
    processor: Any, text: str, options: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
) -> Any:
    names = _argument_names(processor)

    def takes(name: str) -> bool:
        return names is None or name in names or "**" in names

    arguments: dict[str, Any] = {name: value for name, value in options.items() if takes(name)}
    media, sampling_rate = _collect_media(messages)
    for kind, values in media.items():
        arguments[_media_argument(kind, names)] = values
    if sampling_rate is not None and takes("sampling_rate"):
        arguments["sampling_rate"] = sampling_rate
    return processor(text=[text], **arguments) if takes("text") else processor([text], **arguments)


def _argument_names(function: Any) -> frozenset[str] | None:
    """Return the names of a function's arguments, with "**" if it accepts any; None if it cannot be inspected."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except Exception:  # a user's __signature__ may raise anything
        return None
    any_name = inspect.Parameter.VAR_KEYWORD
    return frozenset("**" if parameter.kind is any_name else parameter.name for parameter in parameters)


def _media_argument(kind: str, names: frozenset[str] | None) -> str:
    """Return the processor's argument for its images or its audio, which is "audios" in older processors."""
    plural = f"{kind}s"
    usual, other = (kind, plural) if kind == "audio" else (plural, kind)
    if names is None or usual in names:
        return usual
    if other in names:
        return other
    if "**" in names:
        return usual
    raise ArgumentError(f"the messages have {plural}, which the processor does not accept; leave them out")


def _collect_media(messages: Iterable[Mapping[str, Any]]) -> tuple[dict[str, list[Any]], int | None]:
    media: dict[str, list[Any]] = {}
    sampling_rate = None
    contents = [message.get("content") for message in messages]
    parts = [part for content in contents if content and not isinstance(content, str) for part in content]
    for part in parts:
        kind = part.get("type")
        if kind in TEXT_PARTS:
            continue
        if kind not in _MEDIA_TYPES:
            raise ArgumentError(
                f"a content part of type {kind!r} is not known; use text, {', '.join(_MEDIA_TYPES)}"
            )
        values = [part[key] for key in (kind, "url", "path") if part.get(key) is not None]
        if not values:
            raise ArgumentError(f"a content part of type {kind!r} has no data; pass it under {kind!r}")
        media.setdefault(kind, []).append(values[0])
        sampling_rate = part.get("sampling_rate", sampling_rate)
    return media, sampling_rate
