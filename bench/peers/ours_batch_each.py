"""unspool's `StreamBatch`, and a `bytes` for each stream and step."""

from __future__ import annotations

from harness.answers import of_sse
from harness.workloads import Load

from peers import Streams
from peers.ours import version
from peers.ours_batch import make_batch

label = "unspool StreamBatch, bytes each"
__all__ = ["WORKS", "label", "version"]


def _sse(loads: list[Load]) -> Streams:
    batch, array, rows = make_batch(loads)
    put, slots = batch.step, array.tolist()

    def step(i: int) -> list[bytes]:
        sse = put(array, rows[i]).sse
        return [sse(slot) for slot in slots]

    return Streams(
        [step],
        lambda out: [
            of_sse((b"".join(parts) + batch.finish(slot).sse(slot)).decode())
            for slot, parts in zip(slots, zip(*out[0], strict=True), strict=True)
        ],
        len(rows),
    )


WORKS = {"sse": _sse}
