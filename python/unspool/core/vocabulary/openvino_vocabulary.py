"""Reads OpenVINO GenAI tokenizers, which expose their tokens but not their decoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unspool._core import Detokenizer, Vocabulary
from unspool.core.format.registry import sources
from unspool.core.vocabulary.tokenizer_json import SPACE, compile_chain
from unspool.errors import VocabularyError

__all__ = ["from_openvino", "marker_tokens"]

_IDS_PER_DECODE = 8192


def from_openvino(tokenizer: Any) -> Vocabulary:
    """Compile an `openvino_genai.Tokenizer`.

    The tokenizer's `decode` shows which ids are special and whether spaces are spelled as U+2581. It then
    validates the table: each id on its own must decode to the same text. The tokenizer does not mark added
    tokens that are not special, so a token that is spelled like a marker of a known format counts as added.

    Raises:
        VocabularyError: The table decodes a token differently from the tokenizer.
    """
    tokens: dict[int, bytes] = {id: token for token, id in tokenizer.get_vocab().items()}
    kept, skipped = (dict(_texts(tokenizer, list(tokens), skip)) for skip in (False, True))
    special = {id for id in tokens if kept[id] != skipped[id] and kept[id].strip() == _text(tokens[id])}
    markers = marker_tokens(_text(token) for token in tokens.values())
    added = {id for id, token in tokens.items() if id in special or _text(token) in markers}
    listed = [(id, _text(tokens[id]), _text(tokens[id]), id in special) for id in sorted(added)]
    plain = {token: id for id, token in tokens.items() if id not in added}
    vocabulary = _compile(plain, listed, kept)
    _check(vocabulary, tokens, kept)
    return vocabulary


def marker_tokens(tokens: Any) -> set[str]:
    """The tokens that are spelled like a marker of a known format."""
    shaped = {token for token in tokens if len(token) > 2 and token[0] in "<[" and token[-1] in ">]"}
    return shaped & {marker for file in sources() for marker in file.facts.marker_tokens} if shaped else set()


def _texts(tokenizer: Any, ids: list[int], skips_special: bool) -> Iterator[tuple[int, str]]:
    """Map each id to the text that it decodes to on its own."""
    for start in range(0, len(ids), _IDS_PER_DECODE):
        part = ids[start : start + _IDS_PER_DECODE]
        yield from zip(
            part, tokenizer.decode([[id] for id in part], skip_special_tokens=skips_special), strict=True
        )


def _compile(
    plain: Mapping[bytes, int], added: list[tuple[int, str, str, bool]], texts: Mapping[int, str]
) -> Vocabulary:
    words = {id: _text(token) for token, id in plain.items()}
    spaced = [id for id, word in words.items() if len(word) > 1 and word[0] == SPACE != word[1]]
    if not spaced or any(SPACE in texts[id] for id in spaced):
        return Vocabulary(dict(plain), added, is_bytes=True)
    steps: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if not any(texts[id].startswith(" ") for id in spaced):
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return compile_chain(
        {word: id for id, word in words.items()}, added, {"type": "Sequence", "decoders": steps}
    )


def _check(vocabulary: Vocabulary, tokens: Mapping[int, bytes], texts: Mapping[int, str]) -> None:
    for id, token in tokens.items():
        stream = Detokenizer(vocabulary, skip_special_tokens=False)
        text = stream.put(id) + stream.end()
        # Tokenizers from GGUF files drop bytes that are not UTF-8; others write U+FFFD for them.
        if text.replace("\ufffd", "") != texts[id].replace("\ufffd", ""):
            raise VocabularyError(
                f"token {id} ({token!r}) decodes as {texts[id]!r}, and its bytes read {text!r}: this decoder is not "
                "known; pass the model's Hugging Face tokenizer or a Vocabulary"
            )


def _text(token: bytes) -> str:
    return token.decode("utf-8", "replace")
