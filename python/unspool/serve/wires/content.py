"""Contents of messages: a text, or a list of text parts."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from unspool._core import sign_thought
from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import ignore
from unspool.serve.wires.wire import Ignored, Wire, kinds

__all__ = ["SIGNATURE_LENGTH", "SIGNATURE_PREFIX", "Content", "Text", "ToolOutput", "text_of", "thought_of"]


#: The prefix of unspool's signatures, and their length.
SIGNATURE_PREFIX, SIGNATURE_LENGTH = "unspool1", 24


class Part(Wire, tag_field="type", kw_only=True):
    """A part of a content in any protocol."""

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


_Texts = Text | InputText | OutputText | Refusal
_SAYS = "'{path}' is of type '{kind}'; this server accepts only text"

Content = str | list[Annotated[_Texts, kinds("unsupported_content", _SAYS, "text")]]

# An agent's session can continue without a tool's screenshot, but an answer without a user's image would be wrong.
_Named = kinds("unsupported_content", _SAYS, "text", left_out="[a-z_]{1,40}", stand_in={"type": "text"})

#: A tool's result; a part that is not text is replaced by its kind, such as `[image]`.
ToolOutput = str | list[Annotated[_Texts, _Named]]


def text_of(content: str | list[Any] | None) -> str:
    """Return a content's text; the parts are joined without a separator."""
    return "".join(part.text for part in content) if isinstance(content, list) else content or ""


def thought_of(text: str, signature: str | None, path: str) -> str:
    """Return a thought that a client sends back; "" if it is not the thought that unspool signed, which is reported.

    Another vendor's signature cannot be checked, and chat completions has no signatures; such a thought is kept.
    """
    if signature and signature != sign_thought(text) and signature.startswith(SIGNATURE_PREFIX):
        message = f"'{path}' is a thought that was changed; send it as it came, or leave it out"
        ignore(path, ApiError(400, message, code="changed_thought", param=path))
        return ""
    return text
