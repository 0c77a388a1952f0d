"""llama.cpp's own server in this process, with a small random model that is made here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.request import Request, urlopen

import gguf
import numpy as np
import unspool

__all__ = ["LlamaCpp"]

_WIDTH = 32
_CONTEXT = 2048
_SETTINGS = {
    "temperature": 2.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "return_tokens": True,
    "cache_prompt": False,
}
_END = "<the-end>"


class LlamaCpp:
    """A model with a token for each letter of ASCII and for each word of a format.

    Args:
        path: Where the model's file is made.
        markers: Words that stand for themselves, as a model's added tokens do.
        words: Words of a text, which come as often as letters do: few random letters spell a tag.
    """

    def __init__(self, path: Path, markers: Sequence[str], words: Sequence[str]) -> None:
        import xllamacpp

        letters = {char for text in (*markers, *words) for char in text if not char.isascii()}
        longer = {word for word in (*words, *letters) if len(word.encode()) > 1}
        self._markers, self._words = list(markers), sorted(longer.difference(markers))
        self._write_model(path)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = _CONTEXT
        params.n_parallel = 1
        params.cpuparams.n_threads = 1
        params.warmup = False
        params.verbosity = -1
        self._server = xllamacpp.Server(params)
        added = [(128 + i, marker, marker, True) for i, marker in enumerate(self._markers)]
        ranks = {bytes([byte]): byte for byte in range(128)}
        ranks |= {word.encode(): 129 + len(self._markers) + i for i, word in enumerate(self._words)}
        #: Without the token that ends an answer, which llama.cpp keeps to itself.
        self.vocabulary = unspool.Vocabulary(ranks, added, is_bytes=True)

    def complete(self, grammar: str, seed: int, count: int) -> list[int] | None:
        """Ids that end where the grammar does; None if `count` of them do not.

        Raises:
            HTTPError: The grammar cannot be read.
        """
        end = 128 + len(self._markers)
        likely = [*map(ord, '"]}'), *range(128, end + 1 + len(self._words))]
        request = {
            **_SETTINGS, "prompt": [97], "grammar": grammar, "seed": seed, "n_predict": count,
            "logit_bias": [[id, 4.0] for id in likely],
        }  # fmt: skip
        body = json.dumps(request).encode()
        url = f"{self._server.listening_address}/completion"
        with urlopen(Request(url, body, {"content-type": "application/json"}), timeout=60) as response:
            answer = json.load(response)
        ids: list[int] = answer["tokens"]
        return ids[:-1] if ids and ids[-1] == end else ids if answer["stop_type"] == "eos" else None

    def _write_model(self, path: Path) -> None:
        tokens = [*_bytes_as_text()[:128], *self._markers, _END, *map(_as_text, self._words)]
        kinds = [gguf.TokenType.NORMAL] * len(tokens)
        for id in range(128, 128 + len(self._markers)):
            kinds[id] = gguf.TokenType.USER_DEFINED
        kinds[128 + len(self._markers)] = gguf.TokenType.CONTROL
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_context_length(_CONTEXT)
        writer.add_embedding_length(_WIDTH)
        writer.add_block_count(1)
        writer.add_feed_forward_length(_WIDTH)
        writer.add_head_count(2)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_vocab_size(len(tokens))
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("qwen2")
        writer.add_token_list(tokens)
        writer.add_token_types(kinds)
        writer.add_token_merges(["a b"])
        writer.add_eos_token_id(128 + len(self._markers))
        writer.add_add_bos_token(False)
        rng = np.random.default_rng(0)
        shapes = dict.fromkeys(["token_embd", "output"], (len(tokens), _WIDTH))
        for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            shapes[f"blk.0.{part}"] = (_WIDTH, _WIDTH)
        for name, shape in shapes.items():
            writer.add_tensor(f"{name}.weight", 0.3 * rng.standard_normal(shape, np.float32))
        for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
            writer.add_tensor(f"{name}.weight", np.ones(_WIDTH, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def _bytes_as_text() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def _as_text(word: str) -> str:
    letters = _bytes_as_text()
    return "".join(letters[byte] for byte in word.encode())
