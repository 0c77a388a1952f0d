"""fastokens' DecodeStream, which stands in for that of tokenizers."""

from __future__ import annotations

import functools
from importlib.metadata import version as installed
from typing import Any

import fastokens
from fastokens._native import DecodeStream
from harness import workloads
from harness.workloads import Load

from peers import Absent, Stream, each

label = "fastokens DecodeStream"


def version() -> str:
    return installed("fastokens")


@functools.cache
def _tokenizer() -> Any:
    return fastokens.Tokenizer.from_json_str(workloads.tokenizer_json())


def _detokenize(load: Load) -> Stream:
    if load.tokenizer != "deepseek":
        raise Absent
    put, ids, tokenizer = DecodeStream(skip_special_tokens=True).step, load.ids, _tokenizer()
    return Stream(
        lambda i: put(tokenizer, ids[i]), lambda out: ("".join(part or "" for part in out), ""), len(ids)
    )


WORKS = {"detokenize": each(_detokenize)}
