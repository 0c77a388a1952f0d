"""vLLM's server."""

from __future__ import annotations

from typing import Any

from unspool.errors import EngineError
from unspool.serve.engines.completions_engine import PLAIN_NAMES, Chunk, Completions, Logprobs
from unspool.serve.engines.engine import EngineLogprob, EngineOutput, EngineRequest

__all__ = ["VLlm"]

_NAMES = PLAIN_NAMES | {
    name: name
    for name in (
        "top_k", "min_p", "repetition_penalty", "min_tokens", "ignore_eos", "bad_words", "allowed_token_ids",
    )
}  # fmt: skip
_ID_NAME = "token_id:"
_MOST_DIGITS = 20


class VLlm(Completions):
    """Uses vLLM's /v1/completions with ids in both directions."""

    label = "vLLM"
    health = "/health"
    gives_ids = True
    grammar_syntax = "structural_tag"
    _names = _NAMES

    def _body(self, request: EngineRequest) -> dict[str, Any]:
        body = super()._body(request)
        if not request.wants_text:
            body["return_token_ids"] = True
        if request.sampling.logprobs is not None:
            body |= {"logprobs": request.sampling.logprobs, "return_tokens_as_token_ids": True}
        if request.grammar is not None:
            body["structured_outputs"] = {"structural_tag": request.grammar.text}
        return body

    def _output(self, chunk: Chunk, request: EngineRequest) -> EngineOutput:
        output, top_count = super()._output(chunk, request), request.sampling.logprobs
        found = chunk.choices[0].logprobs if chunk.choices else None
        if top_count is not None and found is not None:
            output.logprobs = _logprobs(found, top_count)
        return output


def _logprobs(found: Logprobs, top_count: int) -> list[EngineLogprob]:
    """Return the log-probabilities of a chunk's ids, whose names have the form "token_id:17"."""
    tops = found.top_logprobs or [None] * len(found.tokens)
    made: list[EngineLogprob] = []
    for value, top in zip(found.token_logprobs, tops, strict=False):
        rivals = sorted((top or {}).items(), key=lambda item: -item[1])[:top_count]
        made.append((float("-inf") if value is None else value, [(_id(name), it) for name, it in rivals]))
    return made


def _id(name: str) -> int:
    digits = name.removeprefix(_ID_NAME)
    if not digits.isdecimal() or len(digits) > _MOST_DIGITS:
        raise EngineError(f"the engine names a token {name[:60]!r}, not by its id")
    return int(digits)
