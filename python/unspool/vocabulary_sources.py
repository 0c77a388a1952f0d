"""Reads tokenizers with the libraries that own them, and hands plain data to the native table."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unspool._core import Vocabulary
from unspool.errors import VocabularyError

__all__ = ["from_file", "from_tiktoken", "from_tokenizer"]

_SPACE = "\u2581"  # SentencePiece's and Metaspace's visible space


def from_file(path: str | os.PathLike[str]) -> Vocabulary:
    """Read a `tokenizer.json`, a `tekken.json`, a SentencePiece `.model` file, or an exported `.vocabulary`."""
    file = Path(path)
    if file.suffix == ".vocabulary":
        return Vocabulary.from_bytes(file.read_bytes())
    if file.suffix == ".model" or ".model." in file.name:
        return _from_model_file(file)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise VocabularyError(f"{file}: not a tokenizer.json: {error}") from None
    if isinstance(data, dict) and "config" in data and "vocab" in data:
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer

        return from_tokenizer(Tekkenizer.from_file(file))
    if not isinstance(data, dict) or "model" not in data:
        raise VocabularyError(f"{file}: no 'model' in it; pass a tokenizer.json of Hugging Face")
    return _from_tokenizer_json(data)


def _from_model_file(file: Path) -> Vocabulary:
    try:
        import sentencepiece
    except ImportError:
        raise VocabularyError("SentencePiece files need: pip install sentencepiece") from None
    return from_tokenizer(sentencepiece.SentencePieceProcessor(model_file=str(file)))


def from_tiktoken(
    path: str | os.PathLike[str], special_tokens: Mapping[str, int] | None = None
) -> Vocabulary:
    """Read a `.tiktoken` file; its special tokens are not in it."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(Path(path).read_bytes().splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        except ValueError:
            raise VocabularyError(f"{path}:{number}: expected 'base64 rank'") from None
    return _from_bytes(ranks, dict(special_tokens or {}))


def from_tokenizer(tokenizer: Any) -> Vocabulary:
    """Compile a live tokenizer of any library that we know; a Vocabulary is returned as it is."""
    if isinstance(tokenizer, Vocabulary):
        return tokenizer
    for inner in _layers(tokenizer):
        vocabulary = _from_known(inner)
        if vocabulary is not None:
            return vocabulary
    name = f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}"
    raise VocabularyError(
        f"no way to read a tokenizer of type {name}; pass a tokenizers.Tokenizer, a fast tokenizer of "
        "transformers, a tiktoken.Encoding, a SentencePieceProcessor or one of mistral-common"
    )


def _layers(tokenizer: Any) -> Iterable[Any]:
    """The tokenizer, and those that it wraps: libraries keep them under a few names."""
    names = (
        "instruct_tokenizer",
        "backend_tokenizer",
        "tokenizer",
        "_tokenizer",
        "model",
        "_model",
    )
    seen: list[Any] = [tokenizer]
    for layer in seen:
        yield layer
        for name in names:
            inner = getattr(layer, name, None)
            if inner is not None and not callable(inner) and len(seen) < 16:
                seen.append(inner)


def _from_known(tokenizer: Any) -> Vocabulary | None:
    module = type(tokenizer).__module__.split(".")[0]
    kind = type(tokenizer).__name__
    if module == "tokenizers" and hasattr(tokenizer, "to_str"):
        return _from_hugging_face(tokenizer)
    if module == "tiktoken" or (kind == "CoreBPE" and hasattr(tokenizer, "_mergeable_ranks")):
        return _from_bytes(tokenizer._mergeable_ranks, tokenizer._special_tokens)
    if kind == "Tekkenizer":
        return _from_tekken(tokenizer)
    if module == "sentencepiece":
        return _from_sentencepiece(tokenizer)
    if kind == "PurePythonTokenizer" and isinstance(getattr(tokenizer, "tokenizer_data", None), dict):
        return _from_tokenizer_json(tokenizer.tokenizer_data)
    return None


def _from_bytes(ranks: Mapping[bytes, int], specials: Mapping[str, int]) -> Vocabulary:
    added = [(id, text, text, True) for text, id in specials.items()]
    return Vocabulary(dict(ranks), added, is_bytes=True, refuses_unknown=True)


def _from_tekken(tokenizer: Any) -> Vocabulary:
    count = tokenizer.num_special_tokens
    tokens = {tokenizer.id_to_byte_piece(id): id for id in range(count, tokenizer.n_words)}
    added = [(id, text, text, True) for id, text in enumerate(tokenizer.vocab()[:count])]
    return Vocabulary(tokens, added, is_bytes=True, refuses_unknown=True, special_breaks_text=True)


def _from_sentencepiece(model: Any) -> Vocabulary:
    tokens: dict[str, int] = {}
    added: list[tuple[int, str, str, bool]] = []
    for id in range(model.get_piece_size()):
        piece = model.id_to_piece(id)
        if model.is_control(id):
            added.append((id, piece, piece, True))
        elif model.is_unknown(id):
            tokens[model.decode([id])] = id
        else:
            tokens[piece] = id
    steps: list[dict[str, Any]] = [
        {"kind": "replace", "content": _SPACE, "replacement": " "},
        {"kind": "byte_fallback"},
        {"kind": "fuse"},
    ]
    # A dummy prefix shows in how the model writes a word at the start of a text.
    pieces = model.encode("a", out_type=str)
    if pieces and pieces[0].startswith(_SPACE):
        steps.append({"kind": "strip", "content": " ", "start": 1})
    return Vocabulary(
        tokens,
        added,
        steps,
        refuses_unknown=True,
        special_breaks_text=True,
        is_sentencepiece=True,
    )


def _from_hugging_face(tokenizer: Any) -> Vocabulary:
    decoder = getattr(tokenizer, "decoder", None)
    if decoder is None:
        description = None
    else:
        try:
            description = json.loads(decoder.__getstate__())
        except Exception:
            raise VocabularyError(
                "the tokenizer's decoder is Python code and cannot be compiled; use "
                "unspool.SlowDetokenizer, which asks the tokenizer itself"
            ) from None
    specials = tokenizer.get_added_tokens_decoder()
    normalizer = tokenizer.normalizer
    added = [
        (id, token.content, _normalized(token.content, token.normalized, normalizer), token.special)
        for id, token in specials.items()
    ]
    return _compile(tokenizer.get_vocab(with_added_tokens=False), added, description)


def _from_tokenizer_json(data: dict[str, Any]) -> Vocabulary:
    model = data["model"]["vocab"]
    tokens = model if isinstance(model, dict) else {piece[0]: id for id, piece in enumerate(model)}
    normalizer = None
    added_tokens = data.get("added_tokens", [])
    if data.get("normalizer") is not None and any(token.get("normalized") for token in added_tokens):
        from tokenizers import Tokenizer

        normalizer = Tokenizer.from_str(json.dumps(data)).normalizer
    added = [
        (
            token["id"],
            token["content"],
            _normalized(token["content"], token.get("normalized", False), normalizer),
            token.get("special", False),
        )
        for token in added_tokens
    ]
    return _compile(tokens, added, data.get("decoder"))


def _normalized(content: str, is_normalized: bool, normalizer: Any) -> str:
    """What the decoder is given for an added token (tokenizers 0.23 and later)."""
    if not is_normalized or normalizer is None:
        return content
    return str(normalizer.normalize_str(content))


def _compile(
    tokens: Mapping[str, int],
    added: list[tuple[int, str, str, bool]],
    decoder: dict[str, Any] | None,
) -> Vocabulary:
    steps = [] if decoder is None else [step for part in _flatten(decoder) for step in _step(part)]
    return Vocabulary(dict(tokens), added, steps, joins_with_space=decoder is None)


def _flatten(decoder: dict[str, Any]) -> Iterable[dict[str, Any]]:
    if decoder.get("type") == "Sequence":
        for part in decoder["decoders"]:
            yield from _flatten(part)
    else:
        yield decoder


def _step(part: dict[str, Any]) -> list[dict[str, Any]]:
    """One decoder of the crate `tokenizers` as a step of the native table."""
    kind = part.get("type")
    if kind == "ByteLevel":
        return [{"kind": "byte_level"}]
    if kind == "ByteFallback":
        return [{"kind": "byte_fallback"}]
    if kind == "Fuse":
        return [{"kind": "fuse"}]
    if kind == "Strip":
        return [
            {
                "kind": "strip",
                "content": part["content"],
                "start": part["start"],
                "stop": part["stop"],
            }
        ]
    if kind == "Replace" and "String" in part["pattern"]:
        return [
            {
                "kind": "replace",
                "content": part["pattern"]["String"],
                "replacement": part["content"],
            }
        ]
    if kind == "Metaspace":
        scheme = part.get("prepend_scheme")
        prepends = scheme != "never" if scheme else part.get("add_prefix_space", True)
        return [{"kind": "metaspace", "content": part["replacement"], "prepends": prepends}]
    if kind == "WordPiece":
        return [
            {
                "kind": "word_piece",
                "content": part["prefix"],
                "cleans_up": part.get("cleanup", True),
            }
        ]
    if kind == "BPEDecoder":
        return [{"kind": "bpe_suffix", "content": part["suffix"]}]
    what = "Replace with a regular expression" if kind == "Replace" else kind
    raise VocabularyError(
        f"the tokenizer's decoder cannot be compiled: {what} looks at more than one token; use "
        "unspool.SlowDetokenizer, which asks the tokenizer itself"
    )
