"""A conversation's id, by which routers send all its turns to the replica that has its prefix in the cache."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["session_headers", "session_of"]

# The header of Ray Serve and of vLLM's routers (its name is set in their configuration), and that of SGLang's gateway.
_HEADERS = ("x-session-id", "x-smg-routing-key")

_INSTRUCTIONS = ("system", "developer")
_DIGITS = re.compile(r"\d+")


def session_of(prompt: Any) -> str:
    """Return a name for the conversation that is the same at each of its turns and in each process.

    The name is a hash of the texts from the beginning up to and including the first message that is not an
    instruction; later turns add messages after it. Digits in instructions are ignored, since agents write the time
    there. If a summary replaces the beginning of a conversation, the name changes; an engine's cached prefix is
    useless then, too.

    Args:
        prompt: Messages; or a text or token ids, which are a conversation of their own.
    """
    digest = hashlib.blake2b(digest_size=16)
    for role, text in _beginning(prompt):
        counted = _DIGITS.sub("0", text) if role in _INSTRUCTIONS else text
        digest.update(f"{role}\0{counted}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def session_headers(session: str) -> dict[str, str]:
    """Return the headers by which routers recognise the conversation."""
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
