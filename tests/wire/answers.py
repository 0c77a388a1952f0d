"""What the tests of the wire share: cases into bytes, and what a client must have of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from unspool import Delta, Message, Parser, WireWriter
from unspool.testing import Case, shipped_cases

PROTOCOLS = ["chat_completions", "completions", "responses", "messages", "open_inference", "google"]
FORMATS = [
    "deepseek_v3", "gemma4", "glm45", "granite", "hermes", "kimi_k2", "llama3_json", "minimax_m2",
    "mistral", "openai", "pythonic", "qwen3", "qwen3_coder",
]  # fmt: skip
CASES = [case for format in FORMATS for case in shipped_cases(format)]
each_case = pytest.mark.parametrize("case", CASES, ids=str)
# For what a writer does with any deltas, as its forks and snapshots: some cases of every format.
one_case_in_three = pytest.mark.parametrize("case", CASES[::3], ids=str)
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


def parse(case: Case, pieces: Iterable[Any]) -> tuple[list[list[Delta]], Message]:
    """The deltas of each piece, and the message; call ids are the same every time."""
    tools = None if case.tools is None else list(case.tools)
    parser = Parser(case.format, tools, **case.options, id_seed=7)
    batches = [parser.parse_chunk(piece) for piece in pieces]
    message = parser.finish(case.finish_reason)
    return [*batches, list(message.deltas)], message


def stream(protocol: str, batches: Iterable[Iterable[Delta]], **options: Any) -> bytes:
    """The whole stream, a write for each batch."""
    writer = WireWriter(protocol, **{"model": "test-model", "created": 1, "id": "resp_1", **options})
    return writer.begin() + b"".join(writer.write(batch) for batch in batches) + writer.end()


def body(protocol: str, batches: Iterable[Iterable[Delta]], **options: Any) -> bytes:
    """The response in one piece."""
    writer = WireWriter(protocol, model="test-model", created=1, stream=False, **{"id": "resp_1", **options})
    assert writer.begin() == b""
    assert all(writer.write(batch) == b"" for batch in batches)
    return writer.body()
