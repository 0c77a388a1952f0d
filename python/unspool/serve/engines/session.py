"""Which conversation a request belongs to, for routers that keep its turns at the replica with its prefix in the cache."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["session_headers", "session_of"]

# Ray Serve's and that of vLLM's routers, which are told its name; that of SGLang's gateway.
_HEADERS = ("x-session-id", "x-smg-routing-key")

_INSTRUCTIONS = ("system", "developer")
_DIGITS = re.compile(r"\d+")


def session_of(prompt: Any) -> str:
    """A name for the conversation, the same at each of its turns and in each process.

    It is a hash of the texts from the beginning to the first message that is no instruction: a turn adds messages behind it.
    Digits of instructions do not count, since agents write the time there. A conversation whose beginning was replaced by
    a summary has another name; what an engine has of its prefix is then of no use either.

    Args:
        prompt: Messages. A text or token ids show no turns: each is a conversation.
    """
    digest = hashlib.blake2b(digest_size=16)
    for role, text in _beginning(prompt):
        counted = _DIGITS.sub("0", text) if role in _INSTRUCTIONS else text
        digest.update(f"{role}\0{counted}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def session_headers(session: str) -> dict[str, str]:
    """The headers by which routers know it."""
    return dict.fromkeys(_HEADERS, session) if session else {}


def _beginning(prompt: Any) -> Iterator[tuple[str, str]]:
    if not (isinstance(prompt, list) and prompt and isinstance(prompt[0], Mapping)):
        yield "", str(prompt)
        return
    for message in prompt:
        role, content = str(message.get("role")), message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        yield role, "\0".join(str(part.get("text")) for part in parts if isinstance(part, Mapping))
        if role not in _INSTRUCTIONS:
            return
