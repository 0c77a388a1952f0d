"""Compiles the vocabulary that a GGUF file contains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool._core import Vocabulary
from unspool.core.vocabulary.tokenizer_json import SPACE
from unspool.errors import VocabularyError

__all__ = ["LETTERS", "fact", "from_gguf"]

_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4  # types of tokens that do not follow the model's spelling rules

_SPACES: list[dict[str, Any]] = [
    {"kind": "replace", "content": SPACE, "replacement": " "},
    {"kind": "byte_fallback"},
    {"kind": "fuse"},
]
#: The decoder chain, by llama.cpp's name of the tokenizer.
_STEPS = {"gpt2": [{"kind": "byte_level"}], "llama": _SPACES, "t5": _SPACES, "gemma4": _SPACES}


def from_gguf(facts: Mapping[str, Any]) -> Vocabulary:
    """Compile the tokens of a GGUF file.

    Control tokens become special tokens, and user-defined tokens become added tokens.

    Args:
        facts: The result of `read_gguf`.

    Raises:
        VocabularyError: A fact is missing or has the wrong type, the kind of tokenizer is not supported, or a limit
            of `Vocabulary` is exceeded.
    """
    kind = fact(facts, "tokenizer.ggml.model", str)
    if kind not in _STEPS:
        raise VocabularyError(
            f"the GGUF file's tokenizer '{kind[:60]}' is none of {', '.join(_STEPS)}; pass the tokenizer.json"
        )
    texts: list[str] = fact(facts, "tokenizer.ggml.tokens", list)
    types: list[int] = fact(facts, "tokenizer.ggml.token_type", list, [1] * len(texts))
    if len(types) != len(texts) or not all(isinstance(text, str) for text in texts):
        raise VocabularyError("the GGUF file's tokens and their types do not fit each other")
    steps = list(_STEPS[kind])
    if fact(facts, "tokenizer.ggml.add_space_prefix", bool, kind == "llama") and kind != "gpt2":
        steps.append({"kind": "strip", "content": " ", "start": 1})
    tokens: dict[str, int] = {}
    added: list[tuple[int, str, str, bool]] = []
    for id, (text, of_type) in enumerate(zip(texts, types, strict=True)):
        if of_type in (_UNKNOWN, _CONTROL, _USER_DEFINED):
            added.append((id, text, _byte_level(text) if kind == "gpt2" else text, of_type != _USER_DEFINED))
        elif tokens.setdefault(text, id) != id:
            raise VocabularyError(f"the token {text[:60]!r} is twice in the GGUF file")
    return Vocabulary(tokens, added, steps)


def fact(facts: Mapping[str, Any], key: str, kind: type, default: Any = None) -> Any:
    """Return a fact, which must have this type; `default`, if there is one, if the fact is missing."""
    value = facts.get(key, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        what = "no" if value is None else f"a {type(value).__name__} as"
        raise VocabularyError(f"the GGUF file has {what} '{key}'")
    return value


def _byte_level(text: str) -> str:
    """The spelling that a byte-level decoder turns into this text."""
    return "".join(map(LETTERS.__getitem__, text.encode()))


def _letters() -> list[str]:
    """The letter of each byte: the byte's own character if it is visible, else the next character from U+0100 on."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in visible else next(others)) for byte in range(256)]


#: The letter that byte-level tokenizers write for each byte.
LETTERS = _letters()
