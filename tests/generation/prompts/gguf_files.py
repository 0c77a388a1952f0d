"""GGUF files with a tokenizer and no tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


def write_gguf(path: Path, kind: str, tokens: dict[str, int], **facts: Any) -> Path:
    """A file with these tokens and their types, by the package of llama.cpp's authors."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(kind)
    writer.add_token_list(list(tokens))
    writer.add_token_types(list(tokens.values()))
    for name, value in facts.items():
        if name == "chat_template":
            writer.add_chat_template(value)
        elif isinstance(value, bool):
            writer.add_bool(f"tokenizer.ggml.{name}", value)
        else:
            writer.add_uint32(f"tokenizer.ggml.{name}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def byte_level_tokens() -> dict[str, int]:
    """The bytes, a word, and the markers of Qwen; what a tokenizer.json would have."""
    from tokenizers import pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    markers = {
        "<|im_start|>": CONTROL,
        "<|im_end|>": CONTROL,
        "<think>": USER_DEFINED,
        "</think>": USER_DEFINED,
    }
    return {**dict.fromkeys(letters, NORMAL), "\u0120word": NORMAL, **markers, "été  ": USER_DEFINED}


def sentencepiece_tokens() -> dict[str, int]:
    """Pieces with a visible space, the bytes, and markers."""
    pieces = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL}
    pieces |= {f"<0x{byte:02X}>": BYTE for byte in range(256)}
    pieces |= dict.fromkeys(["\u2581", "\u2581Hello", "\u2581w", "orld", "!"], NORMAL)
    return {**pieces, "[TOOL_CALLS]": CONTROL, "<tool>": USER_DEFINED}
