"""tiktoken's bytes of a token through Python's incremental decoder of UTF-8."""

from __future__ import annotations

import codecs
from importlib.metadata import version as installed

from harness import real_tokenizers
from harness.workloads import Load

from peers import Absent, Stream, each

label = "tiktoken and codecs"


def version() -> str:
    return installed("tiktoken")


def _detokenize(load: Load) -> Stream:
    to_bytes = real_tokenizers.of(load.tokenizer).to_bytes
    if to_bytes is None:
        raise Absent
    put, ids = codecs.getincrementaldecoder("utf-8")("replace").decode, load.ids
    return Stream(lambda i: put(to_bytes(ids[i])), lambda out: ("".join(out) + put(b"", True), ""), len(ids))


WORKS = {"detokenize": each(_detokenize)}
