"""tokenizers' DecodeStream."""

from __future__ import annotations

from typing import Any

import workloads

label = "tokenizers DecodeStream"


def version() -> str:
    import tokenizers

    return str(tokenizers.__version__)


def _detokenize(load: workloads.Workload) -> Any:
    from tokenizers.decoders import DecodeStream

    stream, tokenizer = DecodeStream(skip_special_tokens=True), workloads.tokenizer()
    ids, put, out = load.ids, stream.step, []

    def step(i: int) -> None:
        out.append(put(tokenizer, ids[i]))

    return step, lambda: "".join(piece or "" for piece in out)


def runners() -> dict[str, Any]:
    return {"detokenize": _detokenize}
