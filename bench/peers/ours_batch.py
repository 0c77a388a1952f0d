"""unspool's `StreamBatch`: a step of all streams in one call, to one buffer that says where each stream's bytes begin."""

from __future__ import annotations

import functools
from typing import Any

import unspool
from harness import real_tokenizers
from harness.answers import of_sse
from harness.workloads import Load

from peers import Answer, Streams
from peers.ours import version

label = "unspool StreamBatch"
__all__ = ["WORKS", "label", "make_batch", "version"]


def make_batch(loads: list[Load]) -> tuple[unspool.StreamBatch, Any, list[Any]]:
    """The batch, its slots, and the ids of each step."""
    import numpy as np

    first = loads[0]
    vocabulary = real_tokenizers.vocabulary(first.tokenizer)
    batch = unspool.StreamBatch(vocabulary, first.format, keep_message=False)
    writers = [unspool.WireWriter("chat_completions", model="model") for _ in loads]
    slots = np.array([batch.add(first.tools, writer=writer) for writer in writers], np.int32)
    return batch, slots, _rows(tuple(loads))


@functools.lru_cache(maxsize=2)
def _rows(loads: tuple[Load, ...]) -> list[Any]:
    """The ids of each step; kept, as they belong to the input and not to the batch."""
    import numpy as np

    return list(np.ascontiguousarray(np.array([load.ids for load in loads], np.int32).T))


def _sse(loads: list[Load]) -> Streams:
    batch, slots, rows = make_batch(loads)
    put = batch.step

    def answers(outputs: list[list[Any]]) -> list[Answer]:
        parts = [b"".join(step.sse(slot) for step in outputs[0]) for slot in slots.tolist()]
        ends = [batch.finish(slot).sse(slot) for slot in slots.tolist()]
        return [of_sse((part + end).decode()) for part, end in zip(parts, ends, strict=True)]

    return Streams([lambda i: put(slots, rows[i])], answers, len(rows))


WORKS = {"sse": _sse}
