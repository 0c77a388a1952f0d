"""GGUF files made in code: small models of random weights, and models that write a script. No download."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np

__all__ = [
    "SCRIPTED_WIDTH", "GgufVocabulary", "bytes_as_text", "codes_of", "write_random_model", "write_scripted_model",
]  # fmt: skip

#: The width of a scripted model.
SCRIPTED_WIDTH = 64
_WIDTH = 32
Array = np.ndarray[Any, np.dtype[np.float32]]


def bytes_as_text() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


@dataclass(frozen=True)
class GgufVocabulary:
    """Bytes, merges, and then added tokens.

    Attributes:
        plain: Tokens as byte-level letters.
        special: Added tokens that are control tokens.
        markers: Added tokens that are text as well.
        end: The added token that ends an answer.
    """

    plain: Sequence[str]
    special: Sequence[str]
    markers: Sequence[str]
    end: str
    merges: Sequence[str] = field(default=("a b",))

    @classmethod
    def of_bytes(cls, special: Sequence[str], markers: Sequence[str], end: str) -> GgufVocabulary:
        """All bytes and a few merges."""
        merges = ["t h", "th e", "i n", "a r", '{ "', '" :']
        return cls(
            [*bytes_as_text(), *(pair.replace(" ", "") for pair in merges)], special, markers, end, merges
        )

    @property
    def tokens(self) -> list[str]:
        """By id."""
        return [*self.plain, *self.special, *self.markers]

    @property
    def token_bytes(self) -> list[bytes]:
        """By id."""
        of_letter = {letter: byte for byte, letter in enumerate(bytes_as_text())}
        plain = [bytes(of_letter[letter] for letter in text) for text in self.plain]
        return [*plain, *(text.encode() for text in (*self.special, *self.markers))]

    def write_tokenizer(self, folder: Path, template: str) -> None:
        """The same as Hugging Face's files: tokenizer.json, tokenizer_config.json, chat_template.jinja."""
        added = [
            {
                "id": len(self.plain) + number, "content": text, "special": number < len(self.special),
                "normalized": False, "single_word": False, "lstrip": False, "rstrip": False,
            }
            for number, text in enumerate([*self.special, *self.markers])
        ]  # fmt: skip
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        model = {
            "type": "BPE",
            "vocab": {text: id for id, text in enumerate(self.plain)},
            "merges": [*self.merges],
        }
        tokenizer = {
            "version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": byte_level,
            "post_processor": None, "decoder": byte_level, "model": model,
        }  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": self.end}
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")


def _begun(
    path: Path, architecture: str, vocabulary: GgufVocabulary, template: str | None, context: int, width: int
) -> gguf.GGUFWriter:
    """A file with all but its tensors."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(width)
    writer.add_head_count(2)
    writer.add_vocab_size(len(vocabulary.tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(vocabulary.tokens)
    kinds = [gguf.TokenType.NORMAL] * len(vocabulary.plain)
    kinds += [gguf.TokenType.CONTROL] * len(vocabulary.special)
    writer.add_token_types([*kinds, *[gguf.TokenType.USER_DEFINED] * len(vocabulary.markers)])
    writer.add_token_merges(vocabulary.merges)
    writer.add_eos_token_id(vocabulary.tokens.index(vocabulary.end))
    writer.add_add_bos_token(False)
    if template is not None:
        writer.add_chat_template(template)
    return writer


def _finish(writer: gguf.GGUFWriter, tensors: dict[str, Array]) -> None:
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_random_model(
    path: Path, vocabulary: GgufVocabulary, template: str | None = None, context: int = 2048
) -> None:
    """A Llama of one layer with random weights."""
    writer = _begun(path, "llama", vocabulary, template, context, _WIDTH)
    writer.add_layer_norm_rms_eps(1e-5)
    rng = np.random.default_rng(0)
    shapes = dict.fromkeys(["token_embd", "output"], (len(vocabulary.tokens), _WIDTH))
    for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        shapes[f"blk.0.{part}"] = (_WIDTH, _WIDTH)
    tensors = {
        f"{name}.weight": 0.3 * rng.standard_normal(shape, np.float32) for name, shape in shapes.items()
    }
    ones = np.ones(_WIDTH, np.float32)
    norms = dict.fromkeys(("blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"), ones)
    _finish(writer, {**tensors, **norms})


def codes_of(count: int, width: int) -> Array:
    """A vector for each token, far from all others, that a layer norm leaves as it is."""
    codes = np.random.default_rng(0).standard_normal((count, width)).astype(np.float32)
    codes -= codes.mean(axis=1, keepdims=True)
    codes /= codes.std(axis=1, keepdims=True)
    return codes


def write_scripted_model(
    path: Path, vocabulary: GgufVocabulary, template: str, following: Sequence[int]
) -> None:
    """A GPT-2 that writes a script whatever it reads: what comes next depends on the place alone.

    All its weights are zero but two: a place's embedding is the code of the token that comes after it, and the
    output finds the token of a code.

    Args:
        following: The token that comes after each place, as many as the context has.
    """
    width = SCRIPTED_WIDTH
    codes = codes_of(len(vocabulary.tokens), width)
    writer = _begun(path, "gpt2", vocabulary, template, len(following), width)
    writer.add_layer_norm_eps(1e-5)
    zeros, ones = (lambda *shape: np.zeros(shape, np.float32)), np.ones(width, np.float32)
    tensors = {
        "token_embd.weight": zeros(*codes.shape), "position_embd.weight": codes[following],
        "output.weight": codes, "output_norm.weight": ones, "output_norm.bias": zeros(width),
        "blk.0.attn_qkv.weight": zeros(3 * width, width), "blk.0.attn_qkv.bias": zeros(3 * width),
        "blk.0.attn_output.weight": zeros(width, width), "blk.0.attn_output.bias": zeros(width),
        "blk.0.ffn_up.weight": zeros(width, width), "blk.0.ffn_up.bias": zeros(width),
        "blk.0.ffn_down.weight": zeros(width, width), "blk.0.ffn_down.bias": zeros(width),
    }  # fmt: skip
    for norm in ("attn_norm", "ffn_norm"):
        tensors |= {f"blk.0.{norm}.weight": ones, f"blk.0.{norm}.bias": zeros(width)}
    _finish(writer, tensors)
