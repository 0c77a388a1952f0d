"""llama.cpp's own server, `llama-server`."""

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

__all__ = ["LlamaCpp"]

_NAMES = {
    "max_tokens": "n_predict",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "repetition_penalty": "repeat_penalty",
    "seed": "seed",
    "ignore_eos": "ignore_eos",
    "logit_bias": "logit_bias",
}
# llama.cpp's seeds have 32 bits, and the last one means "any".
_SEEDS = 2**32 - 1
_FINISH = {"limit": "length"}


class _Rival(msgspec.Struct):
    id: int
    logprob: float


class _Probability(msgspec.Struct):
    id: int
    logprob: float
    top_logprobs: list[_Rival] = []


class _Timings(msgspec.Struct):
    cache_n: int | None = None


class _Event(msgspec.Struct):
    """An event of /completion; its text is not decoded if ids are read."""

    content: str = ""
    tokens: list[int] = []
    stop: bool = False
    stop_type: str = ""
    tokens_evaluated: int | None = None
    tokens_predicted: int | None = None
    timings: _Timings | None = None
    completion_probabilities: list[_Probability] = []
    error: Any = None


_decoder = msgspec.json.Decoder(_Event)


class LlamaCpp(HttpEngine):
    """Uses /completion with ids in both directions; a slot's KV cache keeps the beginning of the prompt.

    Args:
        http: The server's address.
    """

    label = "llama.cpp"
    grammar_syntax = "gbnf"
    leaves_out_ids = True

    def __init__(self, http: EngineHttp) -> None:
        super().__init__(http)
        props = http.ask("/props")
        settings = props.get("default_generation_settings") or {}
        self.context_length = settings.get("n_ctx")
        self.tokenizer_name = props.get("model_path")
        name = str(props.get("model_alias") or self.tokenizer_name or "")
        self.model_name = name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".gguf") or None
        self.chat_template = props.get("chat_template")
        self.special_tokens = {
            name: props[name] for name in ("bos_token", "eos_token") if isinstance(props.get(name), str)
        }

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:
        """As in `Engine`."""
        top_count, count = request.sampling.logprobs, 0
        headers = session_headers(request.session)
        async for event in self._http.events("/completion", self._body(request), _decoder, headers):
            output = _output(event, top_count)
            if event.tokens and event.tokens_predicted is not None:
                output.left_out_count = max(0, event.tokens_predicted - count - len(event.tokens))
                count = event.tokens_predicted
            yield output

    def _body(self, request: EngineRequest) -> dict[str, Any]:
        sampling = request.sampling
        if sampling.seed is not None:
            sampling = sampling.replace(seed=sampling.seed % _SEEDS)
        body = sampling_fields(sampling, _NAMES)
        if "logit_bias" in body:
            body["logit_bias"] = [[id, bias] for id, bias in body["logit_bias"].items()]
        prompt = request.prompt_text if request.prompt_ids is None else list(request.prompt_ids)
        body |= {"prompt": prompt, "stream": True, "return_tokens": True, "cache_prompt": True}
        if sampling.logprobs is not None:
            body["n_probs"] = max(1, sampling.logprobs)
        if request.preserved_tokens:
            body["preserved_tokens"] = list(request.preserved_tokens)
        if request.grammar is not None:
            body["grammar"] = request.grammar.text
        return body

    def tokenize(self, text: str, add_special_tokens: bool) -> list[int] | None:
        """Encode a text with the engine."""
        body = {"content": text, "add_special": add_special_tokens, "parse_special": True}
        found = self._http.ask("/tokenize", body)
        tokens = found.get("tokens") if isinstance(found, dict) else None
        if not isinstance(tokens, list):
            raise EngineError(f"{self} answers /tokenize without tokens")
        return tokens


def _output(event: _Event, top_count: int | None) -> EngineOutput:
    timings = event.timings
    return EngineOutput(
        token_ids=event.tokens,
        text=event.content,
        logprobs=()
        if top_count is None
        else [_logprob(probability, top_count) for probability in event.completion_probabilities],
        finish_reason=_FINISH.get(event.stop_type, "stop") if event.stop else None,
        prompt_tokens=event.tokens_evaluated,
        cached_tokens=None if timings is None else timings.cache_n,
        completion_tokens=event.tokens_predicted,
    )


def _logprob(found: _Probability, top_count: int) -> EngineLogprob:
    return found.logprob, [(rival.id, rival.logprob) for rival in found.top_logprobs[:top_count]]
