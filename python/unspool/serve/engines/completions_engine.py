"""Any server that offers OpenAI's completions API, as text."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from unspool.errors import EngineError
from unspool.serve.engines.engine import EngineOutput, EngineRequest
from unspool.serve.engines.http import EngineHttp
from unspool.serve.engines.http_engine import HttpEngine
from unspool.serve.engines.sampling_fields import sampling_fields
from unspool.serve.engines.session import session_headers

__all__ = ["PLAIN_NAMES", "Chunk", "Completions", "Logprobs"]

#: Parameters that have the same name in the API.
PLAIN_NAMES = {
    name: name
    for name in (
        "max_tokens",
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "seed",
        "logit_bias",
    )
}
_FINISH = {"length": "length"}


class Logprobs(msgspec.Struct):
    """The log-probabilities of a chunk's tokens."""

    tokens: list[str] = []
    token_logprobs: list[float | None] = []
    top_logprobs: list[dict[str, float] | None] | None = None


class _Choice(msgspec.Struct):
    text: str = ""
    token_ids: list[int] | None = None
    logprobs: Logprobs | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class Chunk(msgspec.Struct):
    """An event of a stream, including the fields that only vLLM sends."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(Chunk)


class Completions(HttpEngine):
    """Uses /v1/completions with text; the server must not strip the model's markers from it.

    Args:
        http: The server's address.
        model: The model's name on the server; None: the first model that the server lists.
    """

    label = "completions"
    health = "/v1/models"
    gives_ids = False
    _names = PLAIN_NAMES

    def __init__(self, http: EngineHttp, model: str | None = None) -> None:
        super().__init__(http)
        try:
            listed = http.ask("/v1/models").get("data") or [{}]
        except EngineError as error:
            if model is None or error.is_retryable:
                raise
            listed = [{}]  # the server lists no models
        entry = next((item for item in listed if item.get("id") == model), listed[0])
        self.model_name = model or entry.get("id")
        self.tokenizer_name = entry.get("root")
        self.context_length = entry.get("max_model_len")

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:
        """As in `Engine`."""
        headers = session_headers(request.session)
        async for chunk in self._http.events("/v1/completions", self._body(request), _decoder, headers):
            yield self._output(chunk, request)

    def _body(self, request: EngineRequest) -> dict[str, Any]:
        body = sampling_fields(request.sampling, self._names)
        if request.prompt_ids is None:
            body |= {"prompt": request.prompt_text, "add_special_tokens": request.adds_special_tokens}
        else:
            body["prompt"] = list(request.prompt_ids)
        return body | {
            "model": self.model_name,
            "stream": True,
            "stream_options": {"include_usage": True},
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
        }

    def _output(self, chunk: Chunk, request: EngineRequest) -> EngineOutput:  # noqa: ARG002
        usage, output = chunk.usage, EngineOutput()
        if usage is not None:
            details = usage.prompt_tokens_details
            output.prompt_tokens, output.completion_tokens = usage.prompt_tokens, usage.completion_tokens
            output.cached_tokens = None if details is None else details.cached_tokens
        if chunk.choices:
            choice = chunk.choices[0]
            output.token_ids, output.text = choice.token_ids or (), choice.text
            if choice.finish_reason is not None:
                output.finish_reason = _FINISH.get(choice.finish_reason, "stop")
        return output
