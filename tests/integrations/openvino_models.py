"""Small models for OpenVINO GenAI, built in code: each writes the text that it was given, one token after another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>")
TEMPLATE = (
    "{% if tools %}<|im_start|>system\nFor each function call, return a json object within <tool_call></tool_call> "
    "XML tags:\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_WIDTH = 64
# On a processor with AMX, OpenVINO's CPU plugin crashes in a narrower feed-forward layer.
_FEED_FORWARD = 512


def _byte_chars() -> list[str]:
    """The characters that stand for the bytes 0 to 255 in a byte-level tokenizer."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    chars = {byte: chr(byte) for byte in shown}
    hidden = [byte for byte in range(256) if byte not in chars]
    chars |= {byte: chr(256 + index) for index, byte in enumerate(hidden)}
    assert set(chars.values()) == set(ByteLevel.alphabet())
    return [chars[byte] for byte in range(256)]


BYTE_CHARS = _byte_chars()


def spell(data: bytes) -> str:
    return "".join(BYTE_CHARS[byte] for byte in data)


def split(text: str, special: tuple[str, ...]) -> list[str | bytes]:
    """The text as tokens, each of which occurs once: of two bytes or more, across characters, or special."""
    taken = {bytes([byte]) for byte in range(256)}  # of the prompt
    pieces: list[str | bytes] = []
    for part in re.split(f"({'|'.join(map(re.escape, special))})", text):
        if part in special:
            assert part not in pieces, f"{part} occurs twice, and a token has one successor"
            pieces.append(part)
            continue
        data = part.encode()
        while data:
            size = 2
            while size < len(data) and data[:size] in taken:
                size += 1
            piece, data = data[:size], data[size:]
            while piece in taken:  # the end: it goes with the piece before it
                last = pieces.pop()
                assert isinstance(last, bytes)
                piece = last + piece
            taken.add(piece)
            pieces.append(piece)
    return pieces


def write_model(
    path: Path, text: str, special: tuple[str, ...] = SPECIAL, template: str = TEMPLATE
) -> tuple[Path, list[int]]:
    """Write a GGUF file of a model that answers a prompt whose last byte is a line break with this text.

    One layer of attention that adds nothing; the output's row of a token is the embedding of the token before it.
    Returns the path and the answer's ids, with the end of the turn.
    """
    tokens = [*BYTE_CHARS, spell(b" t"), *special]
    kinds = [gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.CONTROL] * len(special)
    ids = []
    for piece in split(text, special):
        token = piece if isinstance(piece, str) else spell(piece)
        if token not in tokens:
            tokens.append(token)
            kinds.append(gguf.TokenType.NORMAL)
        ids.append(tokens.index(token))
    while len(tokens) % 32:
        tokens.append(f"<|unused{len(tokens)}|>")
        kinds.append(gguf.TokenType.CONTROL)
    ids.append(tokens.index("<|im_end|>"))
    embedding = np.random.default_rng(1).standard_normal((len(tokens), _WIDTH))
    embedding /= np.linalg.norm(embedding, axis=1, keepdims=True)
    output = np.zeros_like(embedding)
    for before, after in zip([BYTE_CHARS.index(spell(b"\n")), *ids], ids, strict=False):
        output[after] = embedding[before]
    _write(path, tokens, kinds, template, {"token_embd": embedding, "output": output})
    return path, ids


def _write(path: Path, tokens: list[str], kinds: list[Any], template: str, tensors: dict[str, Any]) -> None:
    end = tokens.index("<|im_end|>")
    file = gguf.GGUFWriter(path, "llama")
    file.add_block_count(1)
    file.add_context_length(32768)
    file.add_embedding_length(_WIDTH)
    file.add_feed_forward_length(_FEED_FORWARD)
    file.add_head_count(2)
    file.add_head_count_kv(2)
    file.add_layer_norm_rms_eps(1e-6)
    file.add_rope_dimension_count(_WIDTH // 2)
    file.add_rope_freq_base(10000.0)
    file.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    file.add_vocab_size(len(tokens))
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("qwen2")
    file.add_token_list(tokens)
    file.add_token_types(kinds)
    file.add_token_merges([f"{spell(b' ')} t"])
    file.add_bos_token_id(end)
    file.add_eos_token_id(end)
    file.add_pad_token_id(end)
    file.add_add_bos_token(False)
    file.add_chat_template(template)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensors[f"blk.0.{name}"] = np.zeros((_WIDTH, _WIDTH))
    for name in ("ffn_gate", "ffn_up"):
        tensors[f"blk.0.{name}"] = np.zeros((_FEED_FORWARD, _WIDTH))
    tensors["blk.0.ffn_down"] = np.zeros((_WIDTH, _FEED_FORWARD))
    for name, values in tensors.items():
        file.add_tensor(f"{name}.weight", values.astype(np.float16))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        file.add_tensor(f"{name}.weight", np.ones(_WIDTH, np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
