"""unspool, a call for each stream and token."""

from __future__ import annotations

from typing import Any

import unspool
from harness import real_tokenizers
from harness.answers import of_sse
from harness.workloads import Load

from peers import Answer, Stream, Streams, each, makes

label = "unspool"


def version() -> str:
    return unspool.__version__


def _detokenize(load: Load) -> Stream:
    detokenizer = unspool.Detokenizer(real_tokenizers.vocabulary(load.tokenizer))
    ids, put = load.ids, detokenizer.put
    return Stream(lambda i: put(ids[i]), lambda out: ("".join(out) + detokenizer.end(), ""), len(ids))


def answer_of(deltas: Any) -> Answer:
    content = "".join(delta.text for delta in deltas if delta.kind == "content")
    return content, "".join(delta.text for delta in deltas if delta.kind == "tool_call_arguments")


def _parse(load: Load) -> Stream:
    parser = unspool.Parser(load.format, load.tools, keep_message=False)
    pieces, put = load.pieces, parser.parse_chunk
    return Stream(
        lambda i: put(pieces[i]),
        lambda out: answer_of([*(d for part in out for d in part), *parser.finish().deltas]),
        len(pieces),
    )


def streamer(load: Load) -> unspool.TokenStreamer:
    vocabulary = real_tokenizers.vocabulary(load.tokenizer)
    return unspool.TokenStreamer(vocabulary, load.format, load.tools, keep_message=False)


def _deltas(load: Load) -> Stream:
    made = streamer(load)
    ids, put = load.ids, made.put
    return Stream(
        lambda i: put(ids[i]),
        lambda out: answer_of([*(d for part in out for d in part), *made.end()]),
        len(ids),
    )


def _sse(load: Load) -> Stream:
    made, writer = streamer(load), unspool.WireWriter("chat_completions", model="model")
    ids, put, write = load.ids, made.put, writer.write

    def step(i: int) -> bytes:
        deltas = put(ids[i])
        return write(deltas) if deltas else b""

    return Stream(step, lambda out: of_sse((b"".join(out) + write(made.end())).decode()), len(ids))


def _whole(source: str, threads: int = 1) -> Any:
    """Whole outputs as "texts", "lists" of ids, or "arrays" of them."""

    def work(loads: list[Load]) -> Streams:
        import numpy as np

        first = loads[0]
        if source == "texts":
            outputs: list[Any] = ["".join(load.pieces) for load in loads]
        else:
            outputs = [load.ids if source == "lists" else np.array(load.ids, np.int32) for load in loads]
        options = {} if source == "texts" else {"tokenizer": real_tokenizers.vocabulary(first.tokenizer)}
        batch = unspool.BatchParser(first.format, first.tools, threads=threads, **options)
        return Streams(
            [lambda _: batch.parse(outputs)],
            lambda out: [
                (message.content or "", "".join(call.arguments for call in message.tool_calls))
                for message in out[0][0]
            ],
            1,
        )

    return work


WORKS = {
    "detokenize": each(_detokenize),
    "parse": each(_parse),
    "deltas": each(_deltas),
    "sse": each(_sse),
    **{f"whole {source}": _whole(source) for source in ("texts", "lists", "arrays")},
    **{f"whole {source}, 2 threads": _whole(source, 2) for source in ("texts", "lists", "arrays")},
    "set-up": makes(streamer),
}
