"""A tokenizer's own `decode`, twice a token: a window with the new token and one without, as servers do for any tokenizer."""

from __future__ import annotations

from harness import real_tokenizers
from harness.workloads import Load

from peers import Stream, each

label = "the tokenizer's decode, twice"


def version() -> str:
    return ""


def _detokenize(load: Load) -> Stream:
    decode, ids = real_tokenizers.of(load.tokenizer).decode, load.ids
    begin = read = 0

    def step(i: int) -> str:
        nonlocal begin, read
        before, after = decode(ids[begin:read]), decode(ids[begin : i + 1])
        if after.endswith("\ufffd"):
            return ""
        begin, read = read, i + 1
        return after[len(before) :]

    return Stream(step, lambda out: ("".join(out), ""), len(ids))


WORKS = {"detokenize": each(_detokenize)}
