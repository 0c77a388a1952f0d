"""Contents: a text, or a list of parts of text."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from unspool.serve.wire import Ignored, Wire, kinds

__all__ = ["Content", "Text", "text_of"]


class Part(Wire, tag_field="type", kw_only=True):
    """A part of a content, of any protocol."""

    annotations: Ignored = None
    logprobs: Ignored = None
    cache_control: Ignored = None
    citations: Ignored = None
    prompt_cache_breakpoint: Ignored = None


class Text(Part, tag="text", kw_only=True):
    text: str


class InputText(Text, tag="input_text", kw_only=True):
    """A user's text in Responses."""


class OutputText(Text, tag="output_text", kw_only=True):
    """A model's text in Responses."""


class Refusal(Part, tag="refusal", kw_only=True):
    text: str = field(name="refusal")


_OnlyText = kinds(
    "unsupported_content", "'{path}' is of type '{kind}'; this server accepts only text", "text"
)

Content = str | list[Annotated[Text | InputText | OutputText | Refusal, _OnlyText]]


def text_of(content: str | list[Any] | None) -> str:
    """A content's text: its parts are joined with nothing between."""
    return "".join(part.text for part in content) if isinstance(content, list) else content or ""
