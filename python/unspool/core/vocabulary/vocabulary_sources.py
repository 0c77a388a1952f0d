"""Reads tokenizers with their own libraries, and passes plain data to the native table."""

from __future__ import annotations

import base64
import json
import os
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from unspool._core import Vocabulary
from unspool.core.fork_safety import in_child
from unspool.core.vocabulary.gguf_file import read_gguf
from unspool.core.vocabulary.gguf_vocabulary import from_gguf
from unspool.core.vocabulary.tokenizer_json import SPACE, compile_chain, foreign, from_description, normalized
from unspool.core.wrong_call import shown
from unspool.errors import VocabularyError

__all__ = ["from_file", "from_tiktoken", "from_tokenizer"]


def from_file(path: str | os.PathLike[str]) -> Vocabulary:
    """Read a `tokenizer.json`, a `tekken.json`, a SentencePiece `.model`, a `.gguf`, or an exported `.vocabulary`.

    Raises:
        VocabularyError: The file is damaged, of another kind, or exceeds a limit of `Vocabulary`.
    """
    file = Path(path)
    try:
        return _from_file(file)
    except VocabularyError as error:
        raise VocabularyError(f"{file}: {error}") from None


def _from_file(file: Path) -> Vocabulary:
    if file.suffix == ".vocabulary":
        return Vocabulary.from_bytes(file.read_bytes())
    if file.suffix == ".gguf":
        return from_gguf(read_gguf(file))
    if file.suffix == ".model" or ".model." in file.name:
        with foreign("the SentencePiece model"):
            import sentencepiece

            return _from_sentencepiece(sentencepiece.SentencePieceProcessor(model_file=str(file)))
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"not a tokenizer.json: {error}") from None
    if isinstance(data, dict) and "config" in data and "vocab" in data:
        _check_tekken(data)
        with foreign("the tekken.json"):
            from mistral_common.tokens.tokenizers.tekken import Tekkenizer

            return _from_tekken(Tekkenizer.from_file(file))
    if not isinstance(data, dict) or "model" not in data:
        raise VocabularyError("no 'model' in it; pass a tokenizer.json of Hugging Face")
    return from_description(data)


def _check_tekken(data: dict[str, Any]) -> None:
    """Reject counts that would make the library create an unlimited number of tokens."""
    vocab, config = data["vocab"], data["config"]
    if not isinstance(vocab, list) or not isinstance(config, dict):
        raise VocabularyError("'vocab' of a tekken.json must be a list, and 'config' an object")
    bound = max(2**20, 4 * len(vocab))
    for key in ("num_vocab_tokens", "default_vocab_size", "default_num_special_tokens"):
        count = config.get(key, 0)
        if not isinstance(count, int) or not 0 <= count <= bound:
            raise VocabularyError(f"'{key}' of a tekken.json must be an integer from 0 to {bound}")


def from_tiktoken(
    path: str | os.PathLike[str], special_tokens: Mapping[str, int] | None = None
) -> Vocabulary:
    """Read a `.tiktoken` file. The file does not contain the special tokens, so pass them.

    Raises:
        VocabularyError: A line is damaged, or an id or a token exceeds a limit of `Vocabulary`.
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(Path(path).read_bytes().splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        except ValueError:
            raise VocabularyError(f"{path}:{number}: expected 'base64 rank'") from None
    return _compile_bytes(ranks, dict(special_tokens or {}))


def from_tokenizer(tokenizer: Any) -> Vocabulary:
    """Compile a live tokenizer of any supported library.

    A Vocabulary is returned unchanged, as is the one of a `ChatTokenizer`.

    A tokenizer is compiled once, and its vocabulary is cached as long as the tokenizer lives. It is compiled again
    if it has changed: if the number of tokens or the decoder differs, or an added token is new or has other flags.
    This check costs about 2 µs per added token. A host that never changes its tokenizer can avoid it: pass a
    `Vocabulary`.

    Raises:
        VocabularyError: The type is not supported, the decoder cannot be compiled, or a limit is exceeded.
    """
    own = tokenizer if isinstance(tokenizer, Vocabulary) else getattr(tokenizer, "vocabulary", None)
    if isinstance(own, Vocabulary):
        return own
    for inner in _layers(tokenizer):
        reader = _reader_of(inner)
        if reader is not None:
            return _cache.get(tokenizer, inner, reader)
    if isinstance(tokenizer, (str, os.PathLike)):
        raise VocabularyError(
            f"the tokenizer is a name, {shown(tokenizer)}; pass Vocabulary.from_file(path), "
            "ChatTokenizer.from_pretrained(name) or a tokenizer"
        )
    name = f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}"
    raise VocabularyError(
        f"no way to read a tokenizer of type {name}; pass a tokenizers.Tokenizer, a fast tokenizer of "
        "transformers, a tiktoken.Encoding, a SentencePieceProcessor, one of mistral-common or of OpenVINO GenAI"
    )


def _layers(tokenizer: Any) -> Iterable[Any]:
    """The tokenizer and the tokenizers that it wraps, under the attribute names that libraries use."""
    names = ("instruct_tokenizer", "backend_tokenizer", "tokenizer", "_tokenizer", "model", "_model")
    seen: list[Any] = [tokenizer]
    for layer in seen:
        yield layer
        for name in names:
            inner = getattr(layer, name, None)
            if inner is not None and not callable(inner) and len(seen) < 16:
                seen.append(inner)


class _Reader(NamedTuple):
    compile: Callable[[Any], Vocabulary]
    fingerprint: Callable[[Any], Hashable]  # cheap; changes if the vocabulary may have changed


class _Entry(NamedTuple):
    owner: weakref.ref[Any]
    fingerprint: Hashable
    vocabulary: Vocabulary


class _Cache:
    """Vocabularies by the `id()` of their tokenizers, which need not be hashable; a weak reference guards each."""

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}
        self.renew_lock()
        in_child(self.renew_lock)  # another thread may hold the lock at a fork

    def renew_lock(self) -> None:
        self._lock = threading.RLock()

    def get(self, tokenizer: Any, inner: Any, reader: _Reader) -> Vocabulary:
        """Return the vocabulary of `inner`, which is `tokenizer` itself or a tokenizer that it wraps."""
        with foreign("the tokenizer"):
            fingerprint = (id(inner), reader.fingerprint(inner))
        vocabulary = self._find(inner, fingerprint) or self._find(tokenizer, fingerprint)
        if vocabulary is not None:
            return vocabulary
        with self._lock:  # streams that start together wait for the first one
            vocabulary = self._find(inner, fingerprint) or self._find(tokenizer, fingerprint)
            if vocabulary is None:
                with foreign("the tokenizer"):
                    vocabulary = reader.compile(inner)
                # An object that cannot be weakly referenced is compiled each time: a strong reference would
                # keep it alive, and without any reference its id may be reused for another object.
                if not self._keep(inner, fingerprint, vocabulary):
                    self._keep(tokenizer, fingerprint, vocabulary)
        return vocabulary

    def _find(self, owner: Any, fingerprint: Hashable) -> Vocabulary | None:
        entry = self._entries.get(id(owner))
        is_same = entry is not None and entry.owner() is owner and entry.fingerprint == fingerprint
        return entry.vocabulary if entry is not None and is_same else None

    def _keep(self, owner: Any, fingerprint: Hashable, vocabulary: Vocabulary) -> bool:
        key = id(owner)

        def forget(reference: weakref.ref[Any]) -> None:
            entry = self._entries.get(key)
            if entry is not None and entry.owner is reference:
                self._entries.pop(key, None)

        try:
            self._entries[key] = _Entry(weakref.ref(owner, forget), fingerprint, vocabulary)
        except TypeError:
            return False
        return True


_cache = _Cache()


def _reader_of(tokenizer: Any) -> _Reader | None:
    module = type(tokenizer).__module__.split(".")[0]
    kind = type(tokenizer).__name__
    if module == "tokenizers" and hasattr(tokenizer, "to_str"):
        return _Reader(_from_hugging_face, _hugging_face_fingerprint)
    if module == "tiktoken" or (kind == "CoreBPE" and hasattr(tokenizer, "_mergeable_ranks")):
        return _Reader(_from_tiktoken, _tiktoken_fingerprint)
    if kind == "Tekkenizer":
        return _Reader(_from_tekken, lambda it: (it.n_words, it.num_special_tokens))
    if module == "sentencepiece":
        return _Reader(_from_sentencepiece, lambda it: it.get_piece_size())
    if module == "openvino_genai" and kind == "Tokenizer":
        return _Reader(_from_openvino, lambda it: it.get_eos_token_id())
    if kind == "PurePythonTokenizer" and isinstance(getattr(tokenizer, "tokenizer_data", None), dict):
        return _Reader(lambda it: from_description(it.tokenizer_data), _description_fingerprint)
    return None


def _compile_bytes(ranks: Mapping[bytes, int], specials: Mapping[str, int]) -> Vocabulary:
    added = [(id, text, text, True) for text, id in specials.items()]
    return Vocabulary(dict(ranks), added, is_bytes=True, refuses_unknown=True)


def _from_tiktoken(tokenizer: Any) -> Vocabulary:
    return _compile_bytes(tokenizer._mergeable_ranks, tokenizer._special_tokens)


def _tiktoken_fingerprint(tokenizer: Any) -> Hashable:
    return len(tokenizer._mergeable_ranks), tuple(tokenizer._special_tokens.items())


def _description_fingerprint(tokenizer: Any) -> Hashable:
    data = tokenizer.tokenizer_data
    parts = [data.get(key) for key in ("added_tokens", "decoder", "normalizer")]
    return id(data), len(data["model"]["vocab"]), json.dumps(parts)


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
        {"kind": "replace", "content": SPACE, "replacement": " "},
        {"kind": "byte_fallback"},
        {"kind": "fuse"},
    ]
    # The pieces of a word at the start of a text show whether the model adds a dummy prefix.
    pieces = model.encode("a", out_type=str)
    if pieces and pieces[0].startswith(SPACE):
        steps.append({"kind": "strip", "content": " ", "start": 1})
    return Vocabulary(
        tokens, added, steps, refuses_unknown=True, special_breaks_text=True, is_sentencepiece=True
    )


def _from_openvino(tokenizer: Any) -> Vocabulary:
    # Imported here because the module reads all formats, for their markers.
    from unspool.core.vocabulary.openvino_vocabulary import from_openvino

    return from_openvino(tokenizer)


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
        (id, token.content, normalized(token.content, token.normalized, normalizer), token.special)
        for id, token in specials.items()
    ]
    return compile_chain(tokenizer.get_vocab(with_added_tokens=False), added, description)


def _hugging_face_fingerprint(tokenizer: Any) -> Hashable:
    added = tuple(
        (id, token.content, token.special, token.normalized)
        for id, token in tokenizer.get_added_tokens_decoder().items()
    )
    is_normalized = any(normalized for _, _, _, normalized in added)
    return (
        tokenizer.get_vocab_size(with_added_tokens=False),
        _state(getattr(tokenizer, "decoder", None)),
        _state(tokenizer.normalizer) if is_normalized else None,
        added,
    )


def _state(part: Any) -> Hashable:
    """The JSON of a decoder or normalizer; None if there is none or it is Python code."""
    try:
        return None if part is None else bytes(part.__getstate__())
    except Exception:
        return None
