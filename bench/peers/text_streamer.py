"""transformers' TextStreamer."""

from __future__ import annotations

from typing import Any

import workloads

label = "transformers TextStreamer"


def version() -> str:
    import transformers

    return str(transformers.__version__)


def _detokenize(load: workloads.Workload) -> Any:
    import torch
    from transformers import PreTrainedTokenizerFast, TextStreamer

    out: list[str] = []

    class Streamer(TextStreamer):  # type: ignore[misc]
        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:  # noqa: ARG002
            out.append(text)

    streamer = Streamer(
        PreTrainedTokenizerFast(tokenizer_object=workloads.tokenizer()), skip_special_tokens=True
    )
    ids = [torch.tensor([id]) for id in load.ids]

    def step(i: int) -> None:
        streamer.put(ids[i])

    def result() -> str:
        streamer.end()
        return "".join(out)

    return step, result


def runners() -> dict[str, Any]:
    return {"detokenize": _detokenize}
