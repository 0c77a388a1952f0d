"""unspool, by tokens."""

from __future__ import annotations

import functools
from typing import Any

from answers import Answer, Job


def version() -> str:
    import unspool

    return unspool.__version__


def prepare() -> None:
    """The answer; none takes long."""


@functools.lru_cache(maxsize=2)
def _vocabulary(tokenizer: str) -> Any:
    import unspool
    from tokenizers import Tokenizer

    return unspool.Vocabulary.from_tokenizer(Tokenizer.from_str(tokenizer))


def answer(job: Job, chunk: int, tokenizer: str, variant: Any) -> Answer:  # noqa: ARG001
    import unspool

    parser = unspool.Parser(job.format, tokenizer=_vocabulary(tokenizer), **job.options)
    for _, ids, _ in job.chunks(chunk):
        parser.put(ids)
    message = parser.finish(job.finish_reason)
    return {
        "content": message.content,
        "reasoning": message.reasoning,
        "calls": [[call.name, call.arguments] for call in message.tool_calls],
    }


def variants(job: Job) -> list[Any]:  # noqa: ARG001
    return [None]
