"""An output processor around `unspool.StreamBatch`: what an engine's step gives, to each request's bytes.

`from_vllm` reads what vLLM's engine core sends for a step, `from_sglang` what SGLang's scheduler sends.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from unspool import StreamBatch, WireWriter


class NewTokens(NamedTuple):
    """The results of a step for one request."""

    request_id: str
    ids: Sequence[int]
    finish_reason: str | None  # "stop", "length", "error" or "cancelled"; None: it continues


class OutputProcessor:
    """An engine's running requests, by their ids."""

    def __init__(self, batch: StreamBatch, model: str) -> None:
        self._batch = batch
        self._model = model
        self._slots: dict[str, int] = {}
        self._writers: dict[str, WireWriter] = {}

    def add(self, request_id: str, **options: Any) -> None:
        """Begin a request; `options` are those of `StreamBatch.add`."""
        writer = WireWriter("chat_completions", model=self._model, include_usage=True)
        self._slots[request_id] = self._batch.add(writer=writer, **options)
        self._writers[request_id] = writer

    def step(self, outputs: Iterable[NewTokens]) -> tuple[dict[str, bytes], list[str]]:
        """Each request's bytes, and the requests that a stop string or end token has ended.

        The engine must be told of those that it does not end itself.
        """
        rows = [row for row in outputs if row.request_id in self._slots]
        slots = array("i", (self._slots[row.request_id] for row in rows))
        ids = array("I", (id for row in rows for id in row.ids))
        offsets = array("q", [0])
        for row in rows:
            offsets.append(offsets[-1] + len(row.ids))
        result = self._batch.step(slots, ids, offsets)
        sse = {row.request_id: result.sse(slot) for row, slot in zip(rows, slots, strict=True)}
        ended = dict.fromkeys(result.ended, "stop")
        ended |= {self._slots[row.request_id]: row.finish_reason for row in rows if row.finish_reason}
        gone = []
        for row, slot in zip(rows, slots, strict=True):
            if slot in ended:
                sse[row.request_id] += self._end(row.request_id, slot, ended[slot])
                gone.append(row.request_id)
        return sse, gone

    def _end(self, request_id: str, slot: int, reason: str) -> bytes:
        last = self._batch.finish(slot, reason).sse(slot)
        stop = self._batch.stop_reason(slot)
        self._batch.remove(slot)
        del self._slots[request_id]
        return last + self._writers.pop(request_id).end(stop_sequence=stop)


#: The finish reasons of vLLM and SGLang in our words.
REASONS = {"stop": "stop", "length": "length", "abort": "cancelled", "error": "error", "repetition": "length"}


def from_vllm(outputs: Any) -> Iterator[NewTokens]:
    """`EngineCoreOutputs.outputs` of a step."""
    for output in outputs:
        reason = output.finish_reason
        yield NewTokens(
            output.request_id, output.new_token_ids, None if reason is None else REASONS[str(reason)]
        )


def from_sglang(output: Any, running: set[str]) -> Iterator[NewTokens]:
    """A `BatchTokenIDOutput`. `running`: the requests that have been there before; it is kept up to date.

    A request's first ids begin with the end of its prompt, up to `read_offsets`.
    """
    rows = zip(output.rids, output.decode_ids, output.read_offsets, output.finished_reasons, strict=True)
    for request_id, ids, read_offset, reason in rows:
        new = ids if request_id in running else ids[read_offset:]
        running.add(request_id)
        if reason is not None:
            running.discard(request_id)
        yield NewTokens(request_id, new, None if reason is None else REASONS[reason["type"]])
