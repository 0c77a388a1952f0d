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


def runners() -> dict[str, Any]:
    return {
        "detokenize": _detokenize,
        "hermes": _deltas("hermes"),
        "llama3_json": _deltas("llama3_json"),
    }
