"""tokenizers' DecodeStream."""

from __future__ import annotations

import tokenizers
from harness import real_tokenizers
from harness.workloads import Load

from peers import Absent, Stream, each

label = "tokenizers DecodeStream"


def version() -> str:
    return str(tokenizers.__version__)


def _detokenize(load: Load) -> Stream:
    from tokenizers.decoders import DecodeStream

    source = real_tokenizers.of(load.tokenizer).source
    if not isinstance(source, tokenizers.Tokenizer):
        raise Absent
    put, ids = DecodeStream(skip_special_tokens=True).step, load.ids
    return Stream(
        lambda i: put(source, ids[i]), lambda out: ("".join(part or "" for part in out), ""), len(ids)
    )


WORKS = {"detokenize": each(_detokenize)}
