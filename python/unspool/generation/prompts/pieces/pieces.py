"""Tokenizes a prompt in pieces, on demand; their ids equal those of the whole text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from unspool.errors import ArgumentError
from unspool.generation.prompts.pieces.cut_points import CutFinder
from unspool.generation.prompts.pieces.encode import (
    encode_batch,
    encode_whole,
    special_affixes,
    tokenizers_backend,
)

__all__ = ["iter_prompt_ids", "iter_prompt_token_pieces"]

_SURROGATE = re.compile("[\ud800-\udfff]")


def iter_prompt_token_pieces(
    tokenizer: Any, text: str, *, batch_size: int = 8, piece_chars: int = 1024, verify: bool = False
) -> Iterator[list[int]]:
    """Yield the ids of `tokenizer(text, add_special_tokens=False)` in pieces.

    With a fast tokenizer of transformers or a `tokenizers.Tokenizer`, the text is cut about every `piece_chars`
    characters, at places where the tokenizer's own parts prove that the ids stay the same (`CutFinder`). Each call
    tokenizes `batch_size` pieces, on demand. Text that cannot be cut is one long piece. So is the whole text with any
    other tokenizer, and with a `tokenizers.Tokenizer` that truncates or pads. If the tokenizer has a method
    `stream_tokenize_prompt(text)`, the method makes the pieces. No piece is empty.

    `verify=True` also tokenizes the whole text, not lazily, and yields its ids if the pieces differ.

    Raises ArgumentError (a lone surrogate in the text, or a size below 1) and TypeError at the call.
    """
    _check(tokenizer, text, batch_size, piece_chars)
    pieces = _pieces(tokenizer, text, batch_size, piece_chars)
    return _verified(tokenizer, text, pieces) if verify else pieces


def iter_prompt_ids(
    tokenizer: Any,
    text: str,
    *,
    add_special_tokens: bool,
    batch_size: int = 8,
    piece_chars: int = 1024,
    verify: bool = False,
) -> Iterator[list[int]]:
    """Yield the ids as `iter_prompt_token_pieces` does, with the special tokens around the text if requested.

    Joined, the pieces are the ids of `tokenizer(text, add_special_tokens=add_special_tokens)`.
    """
    pieces = iter_prompt_token_pieces(
        tokenizer, text, batch_size=batch_size, piece_chars=piece_chars, verify=verify
    )
    if not add_special_tokens:
        return pieces
    if _own_stream(tokenizer) is None and _cuttable_backend(tokenizer) is None:
        return _whole(tokenizer, text, add_special_tokens=True)
    try:
        before, after = special_affixes(tokenizer)
    except ArgumentError:
        if _own_stream(tokenizer) is not None:
            raise
        return _whole(tokenizer, text, add_special_tokens=True)
    return _non_empty(chain([before], pieces, [after]))


def _check(tokenizer: Any, text: str, batch_size: int, piece_chars: int) -> None:
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}")
    for name, value in (("batch_size", batch_size), ("piece_chars", piece_chars)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
        if value < 1:
            raise ArgumentError(f"{name} must be at least 1, not {value}")
    if tokenizers_backend(tokenizer) is not None and (surrogate := _SURROGATE.search(text)) is not None:
        raise ArgumentError(
            f"the text has a lone surrogate at character {surrogate.start()}, which no UTF-8 can hold; "
            "decode the text with errors='replace' before it comes here"
        )


def _own_stream(tokenizer: Any) -> Callable[[str], Iterable[Iterable[int]]] | None:
    own = getattr(tokenizer, "stream_tokenize_prompt", None)
    return own if callable(own) else None


def _cuttable_backend(tokenizer: Any) -> Any | None:
    backend = tokenizers_backend(tokenizer)
    # A bare tokenizer would truncate or pad each piece; transformers resets both settings at each call.
    if backend is tokenizer and (backend.truncation is not None or backend.padding is not None):
        return None
    return backend


def _pieces(tokenizer: Any, text: str, batch_size: int, piece_chars: int) -> Iterator[list[int]]:
    own = _own_stream(tokenizer)
    if own is not None:
        return _non_empty(own(text))
    backend = _cuttable_backend(tokenizer)
    if backend is None:
        return _whole(tokenizer, text, add_special_tokens=False)
    return _non_empty(_encoded(tokenizer, backend, text, batch_size, piece_chars))


def _encoded(
    tokenizer: Any, backend: Any, text: str, batch_size: int, piece_chars: int
) -> Iterator[list[int]]:
    if len(text) <= piece_chars:
        yield from encode_batch(tokenizer, [text])
        return
    # The flag of a transformers tokenizer counts, since each call copies it into the backend.
    owner, flag = (
        (backend, "encode_special_tokens") if backend is tokenizer else (tokenizer, "split_special_tokens")
    )
    finder = CutFinder(backend, skips_special_tokens=bool(getattr(owner, flag, False)))
    texts = finder.split(text, piece_chars)
    while batch := list(islice(texts, batch_size)):
        yield from encode_batch(tokenizer, batch)


def _whole(tokenizer: Any, text: str, *, add_special_tokens: bool) -> Iterator[list[int]]:
    ids = encode_whole(tokenizer, text, add_special_tokens=add_special_tokens)
    if ids:
        yield ids


def _non_empty(pieces: Iterable[Iterable[int]]) -> Iterator[list[int]]:
    for piece in pieces:
        if ids := list(piece):
            yield ids


def _verified(tokenizer: Any, text: str, pieces: Iterator[list[int]]) -> Iterator[list[int]]:
    expected = encode_whole(tokenizer, text, add_special_tokens=False)
    found = list(pieces)
    if list(chain.from_iterable(found)) == expected:
        yield from found
    elif expected:
        yield expected
