"""What is known about a model for `detect`, in one form for every kind of source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.core.wrong_call import shown
from unspool.errors import ArgumentError, VocabularyError
from unspool.formats.learning.rendered_calls import RenderedCalls

__all__ = ["DetectedModel", "look_at", "template_text"]

_SOURCES = (
    "chat_template", "response_template", "added_tokens_decoder", "get_added_vocab", "get_added_tokens_decoder",
    "added_tokens", "model_type", "name_or_path", "init_kwargs", "config",
)  # fmt: skip


@dataclass(frozen=True)
class DetectedModel:
    """What is known about a model.

    Attributes:
        template: The text of its chat templates, without comments.
        tokens: Its added tokens.
        answers: Answers with calls, as the chat template writes them; none if it writes none, or was not rendered.
    """

    template: str = ""
    tokens: frozenset[str] = frozenset()
    model_type: str | None = None
    name: str | None = None
    response_template: Mapping[str, Any] | None = field(default=None, compare=False)
    answers: tuple[RenderedCalls, ...] = ()


def look_at(source: Any) -> DetectedModel:
    if source is None:
        return DetectedModel()
    if isinstance(source, str):
        if "{%" in source or "{{" in source:
            return DetectedModel(template_text(source))
        return DetectedModel(model_type=source, name=source)
    if isinstance(source, Mapping) and any(key in source for key in _SOURCES):
        source = SimpleNamespace(**{str(key): value for key, value in source.items()})
    elif isinstance(source, (list, Mapping)):
        return DetectedModel(template_text(source))
    parts = [
        part for part in (source, getattr(source, "tokenizer", None)) if part is not None
    ]  # for a processor
    if not any(hasattr(part, key) for part in parts for key in _SOURCES):
        tokens = _tokens_of_vocabulary(source)
        if tokens is not None:
            return DetectedModel(tokens=tokens)
        raise ArgumentError(
            f"{shown(source)} ({type(source).__name__}) shows nothing of its format; "
            "pass a tokenizer, a chat template or a model's name"
        )

    def read(*keys: str) -> Any:
        places = [(part, getattr(part, "init_kwargs", None) or {}) for part in parts]
        values = (getattr(part, key, None) or own.get(key) for key in keys for part, own in places)
        return next(filter(None, values), None)

    return DetectedModel(
        template_text(read("chat_template")),
        frozenset(token for part in parts for token in _added_tokens(part)),
        read("model_type") or getattr(read("config"), "model_type", None),
        read("name_or_path", "_name_or_path"),
        read("response_template"),
    )


def template_text(template: Any) -> str:
    """Return all templates as one text, without comments and with escapes replaced."""
    if isinstance(template, Mapping):
        template = list(template.values())
    if isinstance(template, (list, tuple)):
        texts = [item.get("template", "") if isinstance(item, Mapping) else str(item) for item in template]
        template = "\n".join(texts)
    text = re.sub(r"\{#.*?#\}", "", template or "", flags=re.DOTALL)
    return text.replace('\\"', '"').replace("\\n", "\n")


def _tokens_of_vocabulary(source: Any) -> frozenset[str] | None:
    """Return the added tokens of a `Vocabulary`, or of a tokenizer of another library; None if it is neither."""
    try:
        return frozenset(from_tokenizer(source).added_tokens.values())
    except VocabularyError:
        return None


def _added_tokens(source: Any) -> Iterator[str]:
    for key in ("added_tokens_decoder", "get_added_tokens_decoder"):
        decoder = getattr(source, key, None)
        for token in (decoder() if callable(decoder) else decoder or {}).values():
            yield str(token["content"] if isinstance(token, Mapping) else token)
    for key in ("get_added_vocab", "added_tokens"):
        vocabulary = getattr(source, key, None)
        added = vocabulary() if callable(vocabulary) else vocabulary or ()
        if isinstance(added, Mapping) and all(isinstance(key, int) for key in added):  # a Vocabulary's, by id
            added = added.values()
        yield from map(str, added)
