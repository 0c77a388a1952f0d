"""llama.cpp's own server in this process, with a small random model that is made here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.request import Request, urlopen

import unspool

from ...gguf_models import GgufVocabulary, bytes_as_text, write_random_model

__all__ = ["LlamaCpp"]

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
        plain = sorted(longer.difference(markers))
        tokens = GgufVocabulary([*bytes_as_text()[:128], *map(_as_text, plain)], [_END], markers, _END)
        self._count, self._end = len(tokens.tokens), len(tokens.plain)
        write_random_model(path, tokens, context=_CONTEXT)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = _CONTEXT
        params.n_parallel = 1
        params.cpuparams.n_threads = 1
        params.warmup = False
        params.verbosity = -1
        self._server = xllamacpp.Server(params)
        added = [(self._end + 1 + i, marker, marker, True) for i, marker in enumerate(markers)]
        ranks = {bytes([byte]): byte for byte in range(128)}
        ranks |= {word.encode(): 128 + i for i, word in enumerate(plain)}
        #: Without the token that ends an answer, which llama.cpp keeps to itself.
        self.vocabulary = unspool.Vocabulary(ranks, added, is_bytes=True)

    def complete(self, grammar: str, seed: int, count: int) -> list[int] | None:
        """Ids that end where the grammar does; None if `count` of them do not.

        Raises:
            HTTPError: The grammar cannot be read.
        """
        likely = [*map(ord, '"]}'), *range(128, self._count)]
        request = {
            **_SETTINGS, "prompt": [97], "grammar": grammar, "seed": seed, "n_predict": count,
            "logit_bias": [[id, 4.0] for id in likely],
        }  # fmt: skip
        body = json.dumps(request).encode()
        url = f"{self._server.listening_address}/completion"
        with urlopen(Request(url, body, {"content-type": "application/json"}), timeout=60) as response:
            answer = json.load(response)
        ids: list[int] = answer["tokens"]
        return ids[:-1] if ids and ids[-1] == self._end else ids if answer["stop_type"] == "eos" else None


def _as_text(word: str) -> str:
    letters = bytes_as_text()
    return "".join(letters[byte] for byte in word.encode())
