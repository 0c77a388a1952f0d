"""unspool."""

from __future__ import annotations

import functools
from typing import Any

import workloads

label = "unspool"


def version() -> str:
    import unspool

    return unspool.__version__


@functools.cache
def _vocabulary() -> Any:
    import unspool

    return unspool.Vocabulary.from_tokenizer(workloads.tokenizer())


def _detokenize(load: workloads.Workload) -> Any:
    import unspool

    detokenizer = unspool.Detokenizer(_vocabulary())
    ids, put, out = load.ids, detokenizer.put, []

    def step(i: int) -> None:
        out.append(put(ids[i]))

    return step, lambda: "".join(out) + detokenizer.end()


def _deltas(format: str) -> Any:
    def runner(load: workloads.Workload) -> Any:
        import unspool

        streamer = unspool.TokenStreamer(_vocabulary(), format, workloads.TOOLS)
        ids, put, out = load.ids, streamer.put, []

        def step(i: int) -> None:
            for delta in put(ids[i]):
                if delta.kind == "tool_call_arguments":
                    out.append(delta.text)

        def result() -> str:
            out.extend(d.text for d in streamer.end() if d.kind == "tool_call_arguments")
            return "".join(out)

        return step, result

    return runner


def batch(load: workloads.Workload, count: int) -> Any:
    """A step of all streams in one call."""
    import numpy as np
    import unspool

    made = unspool.StreamBatch(_vocabulary(), "hermes", keep_message=False)
    writers = [unspool.WireWriter("chat_completions", model="model") for _ in range(count)]
    slots = np.array([made.add(workloads.TOOLS, writer=writer) for writer in writers], np.int32)
    columns = [np.full(count, id, np.int32) for id in load.ids]
    last: list[bytes] = []

    def step(i: int) -> None:
        last.append(made.step(slots, columns[i]).sse(count - 1))

    def result() -> str:
        return (b"".join(last) + made.finish(count - 1).sse(count - 1)).decode()

    return step, result


def streams(load: workloads.Workload, count: int) -> Any:
    """A streamer and a writer a stream, called one after the other."""
    import unspool

    rows = [
        (
            unspool.TokenStreamer(_vocabulary(), "hermes", workloads.TOOLS, keep_message=False),
            unspool.WireWriter("chat_completions", model="model"),
        )
        for _ in range(count)
    ]
    ids, out = load.ids, [[] for _ in range(count)]

    def step(i: int) -> None:
        id = ids[i]
        for (streamer, writer), sent in zip(rows, out, strict=True):
            deltas = streamer.put(id)
            if deltas:
                sent.append(writer.write(deltas))

    def result() -> str:
        streamer, writer = rows[-1]
        return (b"".join(out[-1]) + writer.write(streamer.end())).decode()

    return step, result


def runners() -> dict[str, Any]:
    return {
        "detokenize": _detokenize,
        "hermes": _deltas("hermes"),
        "llama3_json": _deltas("llama3_json"),
    }
