"""transformers' TextStreamer."""

from __future__ import annotations

import functools
from typing import Any

import torch
import transformers
from harness import real_tokenizers
from harness.workloads import Load
from transformers import PreTrainedTokenizerFast, TextStreamer

from peers import Absent, Stream, each

label = "transformers TextStreamer"


def version() -> str:
    return str(transformers.__version__)


@functools.cache
def _tokenizer() -> Any:
    return PreTrainedTokenizerFast(tokenizer_object=real_tokenizers.of("deepseek").source)


def _detokenize(load: Load) -> Stream:
    if load.tokenizer != "deepseek":
        raise Absent
    parts: list[str] = []

    class Streamer(TextStreamer):  # type: ignore[misc]
        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:  # noqa: ARG002
            parts.append(text)

    streamer = Streamer(_tokenizer(), skip_special_tokens=True)
    put, ids = streamer.put, [torch.tensor([id]) for id in load.ids]

    def answer(_: list[Any]) -> tuple[str, str]:
        streamer.end()
        return "".join(parts), ""

    return Stream(lambda i: put(ids[i]), answer, len(ids))


WORKS = {"detokenize": each(_detokenize)}
