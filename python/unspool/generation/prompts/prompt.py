"""Checks a prompt at the call; the worker encodes it later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool._core import Vocabulary
from unspool.errors import ArgumentError
from unspool.generation.prompts.history import TEXT_PARTS

__all__ = ["Prompt", "check_ids", "prompt_end", "read_prompt", "text_of_ids"]

_TEXT_KEYS = ("prompt", "text")
_INPUT_KEYS = ("input_ids", "inputs_embeds")


@dataclass(frozen=True)
class Prompt:
    """A prompt of one row: text, messages, or `input_ids` and the like among the inputs.

    Attributes:
        text: The text to tokenize. `adds_special_tokens` is False if a chat template has already written them.
        messages: Chat messages with images or audio, for the processor, with `template_options`.
        inputs: Model inputs: `input_ids` of shape (1, n), `inputs_embeds` of shape (1, n, d), ….
    """

    text: str | None = None
    messages: Sequence[Mapping[str, Any]] | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    adds_special_tokens: bool = True
    template_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_media(self) -> bool:
        """Whether a message has parts that are not text."""
        contents = [message.get("content") for message in self.messages or ()]
        parts = [part for content in contents if isinstance(content, list) for part in content]
        return any(part.get("type") not in TEXT_PARTS for part in parts)


def read_prompt(value: Any, inputs: Mapping[str, Any] | None = None) -> Prompt:
    """Check a prompt: text, chat messages, token ids, a mapping of model inputs, or an object with `to_dict()`.

    Messages are kept in `Prompt.messages`. The caller renders those without media.

    Raises:
        ArgumentError: The prompt is empty, has more than one row, or is none of these.
    """
    model_inputs = dict(inputs or {})
    if value is None:
        return _read_inputs(model_inputs)
    twice = [name for name in _INPUT_KEYS if name in model_inputs]
    if twice:
        raise ArgumentError(f"the prompt is given twice: pass it alone, or {twice[0]}= alone")
    if isinstance(value, str):
        if not value:
            raise _empty()
        return Prompt(text=value, inputs=model_inputs)
    if isinstance(value, Mapping):
        return _read_mapping(value, model_inputs)
    if hasattr(value, "shape"):
        return _read_inputs({**model_inputs, "input_ids": value})
    if hasattr(value, "to_dict"):
        return read_prompt(value.to_dict(), model_inputs)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        if not value:
            raise _empty()
        if all(isinstance(item, Mapping) for item in value):
            return Prompt(messages=list(value), inputs=model_inputs)
        if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
            return _read_inputs({**model_inputs, "input_ids": value})
        if all(isinstance(item, Sequence) and not isinstance(item, str) for item in value):
            if len(value) > 1:
                raise ArgumentError(f"the prompt has {len(value)} rows; a stream has exactly one")
            return read_prompt(value[0], model_inputs)
    raise ArgumentError(
        f"the prompt is of type {type(value).__name__}; pass text, chat messages, token ids, a mapping of model "
        "inputs, or an object with to_dict()"
    )


def _read_mapping(value: Mapping[str, Any], given: dict[str, Any]) -> Prompt:
    if "role" in value:
        return read_prompt([value], given)
    rest = dict(value)
    if "messages" in rest:
        return read_prompt(list(rest.pop("messages")), {**rest, **given})
    for key in _TEXT_KEYS:
        if key in rest:
            return read_prompt(rest.pop(key), {**rest, **given})
    return _read_inputs({**rest, **given})


def _read_inputs(inputs: dict[str, Any]) -> Prompt:
    import torch

    ids, embeds = inputs.get("input_ids"), inputs.get("inputs_embeds")
    if ids is None and embeds is None:
        raise ArgumentError(
            "there is no prompt; pass text, messages, input_ids= of shape (1, n) or inputs_embeds= of shape (1, n, d)"
        )
    if ids is not None:
        try:
            ids = torch.as_tensor(ids)
        except (ValueError, OverflowError) as error:  # ragged, or an id beyond 64 bits
            raise ArgumentError(f"input_ids are no tensor: {error}; pass token ids of one row") from None
        ids = ids[None] if ids.dim() == 1 else ids
        if ids.is_floating_point() or ids.dtype == torch.bool:
            raise TypeError(f"input_ids is of type {ids.dtype}; pass integers")
        _check_shape("input_ids", ids, 2)
        inputs["input_ids"] = ids.long()
    if embeds is not None:
        _check_shape("inputs_embeds", embeds, 3)
    return Prompt(inputs={name: item for name, item in inputs.items() if item is not None})


def check_ids(model: Any, prompt: Prompt) -> None:
    """Raise ArgumentError for token ids without an embedding, which would corrupt a GPU's context.

    Nothing is checked if there are further inputs, such as images, because an id may be a placeholder.
    """
    ids = prompt.inputs.get("input_ids")
    embeddings = getattr(model, "get_input_embeddings", lambda: None)()
    count = getattr(embeddings, "num_embeddings", None)
    if ids is None or not isinstance(count, int) or set(prompt.inputs) - {"input_ids", "attention_mask"}:
        return
    for id in (int(ids.min()), int(ids.max())):
        if not 0 <= id < count:
            raise ArgumentError(
                f"token id {id} is not in the model's vocabulary; its ids are 0 to {count - 1}"
            )


#: Number of ids at the end of a prompt that are decoded; the turn that opens the answer is among them.
_LAST_IDS = 8192


def prompt_end(prompt: Prompt, vocabulary: Vocabulary) -> str | None:
    """Return the end of a prompt as text; None if the prompt is neither text nor ids."""
    ids = prompt.inputs.get("input_ids")
    if prompt.text is not None or ids is None:
        return prompt.text
    return text_of_ids(ids.reshape(-1)[-_LAST_IDS:].tolist(), vocabulary)


def text_of_ids(ids: Iterable[int], vocabulary: Vocabulary) -> str:
    """Decode a prompt's ids, including special tokens."""
    added = vocabulary.added_tokens
    pieces = (added[id].encode() if id in added else vocabulary.token_bytes(id) for id in ids)
    return b"".join(pieces).decode(errors="replace")


def _check_shape(name: str, tensor: Any, dimensions: int) -> None:
    shape = tuple(tensor.shape)
    if len(shape) != dimensions or shape[0] != 1:
        wanted = "(1, n)" if dimensions == 2 else "(1, n, d)"
        raise ArgumentError(f"{name} has shape {shape}; a stream has exactly one row: pass {wanted}")
    if shape[1] == 0:
        raise _empty()


def _empty() -> ArgumentError:
    return ArgumentError("the prompt is empty; pass at least one token, message or character")
