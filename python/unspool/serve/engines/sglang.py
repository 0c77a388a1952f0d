"""SGLang's server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from unspool.errors import EngineError
from unspool.serve.engines.engine import EngineLogprob, EngineOutput, EngineRequest
from unspool.serve.engines.http import EngineHttp
from unspool.serve.engines.http_engine import HttpEngine
from unspool.serve.engines.sampling_fields import sampling_fields
from unspool.serve.engines.session import session_headers

__all__ = ["SgLang"]

_NAMES = {
    "max_tokens": "max_new_tokens",
    "min_tokens": "min_new_tokens",
    "seed": "sampling_seed",
    **{
        name: name
        for name in (
            "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty",
            "ignore_eos", "logit_bias",
        )
    },
}  # fmt: skip

# A log-probability, the id, and its text or null.
_Triple = tuple[float | None, int, Any]


class _Meta(msgspec.Struct):
    finish_reason: Any = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    output_token_logprobs: list[_Triple] | None = None
    output_top_logprobs: list[list[_Triple] | None] | None = None


class _Chunk(msgspec.Struct):
    text: str = ""
    output_ids: list[int] = []
    meta_info: _Meta = msgspec.field(default_factory=_Meta)
    error: Any = None


_decoder = msgspec.json.Decoder(_Chunk)


class SgLang(HttpEngine):
    """Uses /generate with ids in both directions; SGLang's radix cache keeps prompts.

    Args:
        http: The server's address.
    """

    label = "SGLang"
    grammar_syntax = "structural_tag"

    def __init__(self, http: EngineHttp) -> None:
        super().__init__(http)
        info = _ask_first(http, "/get_model_info", "/model_info")
        self.model_name = str(info.get("model_path") or "").rstrip("/").rsplit("/", 1)[-1] or None
        self.tokenizer_name = info.get("tokenizer_path") or info.get("model_path")
        server = _ask_first(http, "/get_server_info", "/server_info")
        self.context_length = server.get("context_length") or server.get("max_req_input_len")

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:
        """As in `Engine`."""
        seen, headers = _Seen(), session_headers(request.session)
        async for chunk in self._http.events("/generate", self._body(request), _decoder, headers):
            yield seen.output(chunk, request.sampling.logprobs)

    def _body(self, request: EngineRequest) -> dict[str, Any]:
        sampling = sampling_fields(request.sampling, _NAMES)
        if "logit_bias" in sampling:
            sampling["logit_bias"] = {str(id): bias for id, bias in sampling["logit_bias"].items()}
        sampling |= {
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
            "no_stop_trim": True,
        }
        if request.grammar is not None:
            sampling["structural_tag"] = request.grammar.text
        prompt = (
            {"text": request.prompt_text}
            if request.prompt_ids is None
            else {"input_ids": list(request.prompt_ids)}
        )
        body: dict[str, Any] = {**prompt, "sampling_params": sampling, "stream": True}
        if request.sampling.logprobs is not None:
            body |= {"return_logprob": True, "top_logprobs_num": request.sampling.logprobs}
        return body


def _ask_first(http: EngineHttp, *paths: str) -> dict[str, Any]:
    """Return the answer of the first path that exists; the names differ between versions. {}: no path exists."""
    for path in paths:
        try:
            answer = http.ask(path)
        except EngineError as error:
            if error.is_retryable:
                raise
        else:
            return answer if isinstance(answer, dict) else {}
    return {}


class _Seen:
    """The size of the part that has arrived; chunks repeat that part, unless a server option makes them incremental."""

    def __init__(self) -> None:
        self._id_count = self._logprob_count = self._text_length = 0

    def output(self, chunk: _Chunk, top_count: int | None) -> EngineOutput:
        """Return the new part of a chunk."""
        meta = chunk.meta_info
        total = meta.completion_tokens
        is_whole = total is None or len(chunk.output_ids) == total
        ids = chunk.output_ids[self._id_count :] if is_whole else chunk.output_ids
        text = chunk.text[self._text_length :] if is_whole else chunk.text
        self._id_count += len(ids)
        self._text_length += len(text)
        reason = meta.finish_reason
        kind = reason.get("type") if isinstance(reason, dict) else reason
        if kind == "abort":
            raise EngineError(f"the engine gave the request up: {reason}")
        return EngineOutput(
            token_ids=ids,
            text=text,
            logprobs=() if top_count is None else self._logprobs(meta, len(ids), top_count),
            finish_reason=None if kind is None else "length" if kind == "length" else "stop",
            prompt_tokens=meta.prompt_tokens,
            cached_tokens=meta.cached_tokens,
            completion_tokens=meta.completion_tokens,
        )

    def _logprobs(self, meta: _Meta, count: int, top_count: int) -> list[EngineLogprob]:
        """Return the last `count` log-probabilities, which belong to the chunk's ids."""
        found = (meta.output_token_logprobs or [])[-count:] if count else []
        tops = (meta.output_top_logprobs or [])[-count:] if count else []
        made: list[EngineLogprob] = []
        for index, (value, _, _) in enumerate(found):
            top = tops[index] if index < len(tops) else None
            rivals = [(id, float("-inf") if it is None else it) for it, id, _ in (top or ())[:top_count]]
            made.append((float("-inf") if value is None else value, rivals))
        return made
