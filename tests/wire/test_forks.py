"""`WireWriter.fork()`: a beam's bytes are those of a writer that wrote only them."""

from __future__ import annotations

from unspool import Delta, WireWriter
from unspool.testing import Case

from .answers import PROTOCOLS, one_case_in_three, parse


def make(protocol: str, **options: bool) -> WireWriter:
    return WireWriter(protocol, model="test-model", created=1, id="resp_1", **options)


def rest(writer: WireWriter, batches: list[list[Delta]]) -> bytes:
    return b"".join(writer.write(batch) for batch in batches) + writer.end()


@one_case_in_three
def test_at_every_delta(case: Case) -> None:
    raw = case.input.encode()
    batches = [batch for batch in parse(case, [raw[i : i + 3] for i in range(0, len(raw), 3)])[0] if batch]
    last = [batches[-1]]
    for protocol in PROTOCOLS:
        walker = make(protocol)
        written = walker.begin()
        whole = make(protocol)
        expected = whole.begin() + rest(whole, batches)
        for place, batch in enumerate(batches):
            fork = walker.fork()
            if not any(d.kind == "finish" for d in batch) and not is_in_call(batches[:place]):
                other = make(protocol)
                start = other.begin() + b"".join(other.write(done) for done in batches[:place])
                finish = [[delta for delta in last[0] if delta.kind == "finish"]]
                assert written + rest(fork, finish) == start + rest(other, finish), protocol
            twin = walker.fork()
            del fork
            assert written + rest(twin, batches[place:]) == expected, protocol
            written += walker.write(batch)
        assert written + walker.end() == expected, protocol


def is_in_call(batches: list[list[Delta]]) -> bool:
    kinds = [delta.kind for batch in batches for delta in batch]
    return kinds.count("tool_call_begin") > kinds.count("tool_call_end")


def test_a_response_in_one_piece() -> None:
    for protocol in PROTOCOLS:
        writer = make(protocol, stream=False)
        writer.write([Delta("content", text="Hello"), Delta("content", text=" there")])
        fork = writer.fork()
        assert (fork.id, fork.created, fork.protocol) == (writer.id, writer.created, protocol)
        for one, text in ((writer, " you"), (fork, " me")):
            one.write([Delta("content", text=text), Delta("finish", finish_reason="stop")])
        assert b"Hello there you" in writer.body()
        assert b"Hello there me" in fork.body()
