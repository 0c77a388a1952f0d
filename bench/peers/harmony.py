"""openai-harmony's StreamableParser, for gpt-oss; `oss-harmony` ships it with its vocabulary."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Any

import openai_harmony
from harness import real_tokenizers
from harness.workloads import Load

from peers import Absent, Answer, Stream, each, makes

label = "openai-harmony"


def version() -> str:
    for name in ("oss-harmony", "openai-harmony"):
        try:
            return f"{installed(name)} ({name})"
        except PackageNotFoundError:
            continue
    return "unknown"


def _parser(load: Load) -> Any:
    if load.format != "openai":
        raise Absent
    return openai_harmony.StreamableParser(
        real_tokenizers.of("gpt-oss").source, openai_harmony.Role.ASSISTANT
    )


def _deltas(load: Load) -> Stream:
    parser, ids = _parser(load), load.ids
    put = parser.process

    def step(i: int) -> tuple[Any, Any]:
        put(ids[i])
        return parser.current_recipient, parser.last_content_delta

    return Stream(step, _answer, len(ids))


def _answer(deltas: list[tuple[Any, Any]]) -> Answer:
    return (
        "".join(text or "" for recipient, text in deltas if recipient is None),
        "".join(text or "" for recipient, text in deltas if recipient is not None),
    )


WORKS = {"deltas": each(_deltas), "set-up": makes(_parser)}
