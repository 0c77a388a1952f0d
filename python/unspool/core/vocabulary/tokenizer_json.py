"""Reads a `tokenizer.json`. A damaged file raises VocabularyError and nothing else."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unspool._core import Vocabulary
from unspool.errors import VocabularyError

__all__ = ["SPACE", "compile_chain", "foreign", "from_description", "normalized"]

SPACE = "\u2581"  # stands for a space in SentencePiece and Metaspace
_MAX_DEPTH = 32  # maximum nesting of decoder sequences
_ABSENT: Any = object()


@contextlib.contextmanager
def foreign(what: str) -> Iterator[None]:
    """Convert another library's errors about a damaged file to VocabularyError."""
    try:
        yield
    except (OSError, MemoryError, KeyboardInterrupt, SystemExit, VocabularyError):
        raise
    except ImportError as error:
        raise VocabularyError(f"{what} needs a library: pip install {error.name}") from None
    except BaseException as error:  # a panic of Rust code is not an Exception
        raise VocabularyError(f"{what} cannot be read: {error or type(error).__name__}") from None


def from_description(data: Any) -> Vocabulary:
    """Compile the content of a `tokenizer.json`.

    Raises:
        VocabularyError: A member is missing, has the wrong type, or exceeds a limit.
    """
    vocab = _field(_field(data, "model", dict, "the tokenizer"), "vocab", (dict, list), "the model")
    tokens = vocab if isinstance(vocab, dict) else {_piece(item): id for id, item in enumerate(vocab)}
    listed = _field(data, "added_tokens", list, "the tokenizer", None) or []
    normalizer = None
    if data.get("normalizer") is not None and any(_flag(token, "normalized", _ADDED) for token in listed):
        with foreign("the normalizer"):
            from tokenizers import Tokenizer

            normalizer = Tokenizer.from_str(json.dumps(data)).normalizer
    added = []
    for token in listed:
        content = _field(token, "content", str, _ADDED)
        decoded = normalized(content, _flag(token, "normalized", _ADDED), normalizer)
        added.append((_field(token, "id", int, _ADDED), content, decoded, _flag(token, "special", _ADDED)))
    return compile_chain(tokens, added, _field(data, "decoder", dict, "the tokenizer", None))


def compile_chain(
    tokens: Mapping[str, int], added: list[tuple[int, str, str, bool]], decoder: dict[str, Any] | None
) -> Vocabulary:
    """Compile tokens with a decoder as described in `tokenizer.json`; `decoder` is None if there is none."""
    steps = [] if decoder is None else [step for part in _flatten(decoder) for step in _step(part)]
    return Vocabulary(dict(tokens), added, steps, joins_with_space=decoder is None)


def normalized(content: str, is_normalized: bool, normalizer: Any) -> str:
    """The decoder's input for an added token (tokenizers 0.23 and later)."""
    if not is_normalized or normalizer is None:
        return content
    with foreign("the normalizer"):
        return str(normalizer.normalize_str(content))


_ADDED = "an added token"


def _field(table: Any, key: str, kinds: type | tuple[type, ...], where: str, default: Any = _ABSENT) -> Any:
    """Return a member, which must have this type; `default`, if there is one, if it is null or missing."""
    if not isinstance(table, dict):
        raise VocabularyError(f"{where} is a {type(table).__name__}; it must be an object")
    value = table.get(key)
    if value is None and default is not _ABSENT:
        return default
    if key not in table:
        raise VocabularyError(f"{where} has no '{key}'")
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        names = [kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
        raise VocabularyError(f"'{key}' of {where} is a {type(value).__name__}, not a {' or '.join(names)}")
    return value


def _flag(table: Any, key: str, where: str, default: bool = False) -> bool:
    return bool(_field(table, key, bool, where, default))


def _piece(item: Any) -> str:
    if not isinstance(item, (list, tuple)) or not item or not isinstance(item[0], str):
        raise VocabularyError("the model's vocab holds an item that is not [text, score]")
    return item[0]


def _flatten(decoder: Any, depth: int = 0) -> Iterable[dict[str, Any]]:
    if depth > _MAX_DEPTH:
        raise VocabularyError(f"the decoder's sequences are nested deeper than {_MAX_DEPTH}")
    if _field(decoder, "type", str, "a decoder") != "Sequence":
        yield decoder
        return
    for part in _field(decoder, "decoders", list, "the decoder Sequence"):
        yield from _flatten(part, depth + 1)


#: Decoders without settings.
_WHOLE_STEPS = {"ByteLevel": "byte_level", "ByteFallback": "byte_fallback", "Fuse": "fuse"}


def _step(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Convert one decoder of the `tokenizers` crate to steps of the native table."""
    kind = part["type"]
    where = f"the decoder {kind}"
    if kind in _WHOLE_STEPS:
        return [{"kind": _WHOLE_STEPS[kind]}]
    if kind == "Strip":
        content = _field(part, "content", str, where)
        start, stop = (_field(part, key, int, where) for key in ("start", "stop"))
        return [{"kind": "strip", "content": content, "start": start, "stop": stop}]
    if kind == "Replace" and "String" in _field(part, "pattern", dict, where):
        content = _field(part["pattern"], "String", str, f"the pattern of {where}")
        return [{"kind": "replace", "content": content, "replacement": _field(part, "content", str, where)}]
    if kind == "Metaspace":
        scheme = _field(part, "prepend_scheme", str, where, None)
        prepends = scheme != "never" if scheme else _flag(part, "add_prefix_space", where, True)
        return [
            {"kind": "metaspace", "content": _field(part, "replacement", str, where), "prepends": prepends}
        ]
    if kind == "WordPiece":
        return [
            {
                "kind": "word_piece",
                "content": _field(part, "prefix", str, where),
                "cleans_up": _flag(part, "cleanup", where, True),
            }
        ]
    if kind == "BPEDecoder":
        return [{"kind": "bpe_suffix", "content": _field(part, "suffix", str, where)}]
    what = "Replace with a regular expression" if kind == "Replace" else f"'{kind[:60]}'"
    raise VocabularyError(
        f"the tokenizer's decoder cannot be compiled: {what} looks at more than one token; use "
        "unspool.SlowDetokenizer, which asks the tokenizer itself"
    )
