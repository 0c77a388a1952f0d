"""SGLang's documented shapes, without SGLang: there is no build of it for CPUs.

Written after its own source, version 0.5.23: entrypoints/http_server.py, managers/tokenizer_manager.py and
sampling/sampling_params.py. /generate with `input_ids`; `output_ids` of each event are all ids so far, or the new ones
with `--incremental-streaming-output`; the end token is among them; log-probabilities are triples in `meta_info`; an
error in a stream is an event with a status of its own. What it writes is the scripted model; grammars are enforced by
xgrammar, its default backend.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from aiohttp import web

from ..gguf_models import SCRIPTED_WIDTH, codes_of

__all__ = ["FakeSglang", "running_sglang"]

#: Of its SamplingParams; another name is refused.
_KNOWN = frozenset({
    "max_new_tokens", "stop", "stop_token_ids", "stop_regex", "temperature", "top_p", "top_k", "min_p", "frequency_penalty",
    "presence_penalty", "repetition_penalty", "min_new_tokens", "n", "json_schema", "regex", "ebnf", "structural_tag",
    "ignore_eos", "skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim", "stream_interval", "logit_bias",
    "sampling_seed", "custom_params",
})  # fmt: skip
_CONTEXT = 8192


@dataclass
class FakeSglang:
    """A server's state.

    Attributes:
        tokens: By id, as bytes.
        following: The token that comes after each place.
        is_incremental: `--incremental-streaming-output`.
        running: How many answers it writes.
        asked: The bodies of its requests.
        headers: Those of its last request.
    """

    tokens: Sequence[bytes]
    following: Sequence[int]
    end: int
    is_incremental: bool = False
    running: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    _seen: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._codes = codes_of(len(self.tokens), SCRIPTED_WIDTH)

    def app(self) -> web.Application:
        """Its endpoints."""
        app = web.Application()
        app.router.add_get("/health", self._health)
        app.router.add_get("/model_info", self._model_info)
        app.router.add_get("/get_model_info", self._model_info)
        app.router.add_get("/server_info", self._server_info)
        app.router.add_get("/get_server_info", self._server_info)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/generate", self._generate)
        return app

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _model_info(self, _: web.Request) -> web.Response:
        return web.json_response({
            "model_path": "scripted", "served_model_name": "scripted", "tokenizer_path": "scripted",
            "is_generation": True, "preferred_sampling_params": None, "weight_version": "default",
            "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
        })  # fmt: skip

    async def _server_info(self, _: web.Request) -> web.Response:
        return web.json_response({
            "model_path": "scripted", "context_length": _CONTEXT, "max_req_input_len": _CONTEXT - 6,
            "grammar_backend": "xgrammar", "incremental_streaming_output": self.is_incremental, "version": "0.5.23",
        })  # fmt: skip

    async def _models(self, _: web.Request) -> web.Response:
        model = {
            "id": "scripted",
            "object": "model",
            "owned_by": "sglang",
            "root": "scripted",
            "max_model_len": _CONTEXT,
        }
        return web.json_response({"object": "list", "data": [model]})

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(body)
        self.headers = dict(request.headers)
        response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        self.running += 1
        try:
            async for event in self._events(body):
                await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
            await response.write(b"data: [DONE]\n\n")
        finally:
            self.running -= 1
        return response

    async def _events(self, body: dict[str, Any]) -> Any:
        """As its tokenizer manager makes them."""
        prompt, params = body["input_ids"], body.get("sampling_params") or {}
        try:
            assert body["stream"] is True
            unknown = set(params) - _KNOWN
            if unknown:
                raise ValueError(f"Unexpected keyword argument '{min(unknown)}'")
            if len(prompt) >= _CONTEXT:
                raise ValueError(
                    f"The input ({len(prompt)} tokens) is longer than the model's context length ({_CONTEXT} tokens)."
                )
            matcher = self._matcher(params)
        except ValueError as error:
            yield {
                "error": {
                    "message": str(error),
                    "type": "invalid_request_error",
                    "code": 400,
                    "retryable": False,
                }
            }
            return
        cached = self._cached(prompt)
        ids: list[int] = []
        triples: list[Any] = []
        tops: list[Any] = []
        offset = 0
        while True:
            await asyncio.sleep(0)
            scores = self._scores(len(prompt) + len(ids), params, matcher)
            ids.append(int(scores.argmax()))
            logprobs = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
            triples.append([float(logprobs[ids[-1]]), ids[-1], None])
            best = np.argsort(-logprobs, kind="stable")[: body.get("top_logprobs_num") or 0]
            tops.append([[float(logprobs[id]), int(id), None] for id in best])
            if matcher is not None:
                matcher.accept_token(ids[-1])
            finish = self._finish(ids, params)
            meta: dict[str, Any] = {
                "id": body.get("rid", "r"), "finish_reason": finish, "prompt_tokens": len(prompt),
                "weight_version": "default", "num_retractions": 0, "reasoning_tokens": 0,
                "completion_tokens": len(ids), "cached_tokens": cached,
            }  # fmt: skip
            # It sends what the scheduler has by now, which may be several tokens.
            if finish is None and len(ids) - offset < 3:
                continue
            since = offset if self.is_incremental else 0
            if body.get("return_logprob"):
                meta |= {"output_token_logprobs": triples[since:], "output_top_logprobs": tops[since:]}
            text = b"".join(self.tokens[id] for id in ids[since:]).decode("utf-8", "replace")
            yield {"text": text, "output_ids": ids[since:], "meta_info": meta}
            offset = len(ids)
            if finish is not None:
                return

    def _scores(self, place: int, params: dict[str, Any], matcher: Any) -> Any:
        scores = self._codes @ self._codes[self.following[place - 1]]
        for id, bias in (params.get("logit_bias") or {}).items():
            scores[int(id)] += bias
        if matcher is not None:
            import xgrammar

            bitmask = xgrammar.allocate_token_bitmask(1, len(self.tokens))
            matcher.fill_next_token_bitmask(bitmask)
            bits = np.unpackbits(bitmask.numpy().view(np.uint8), bitorder="little")[: len(self.tokens)]
            scores = np.where(bits.astype(bool), scores, -np.inf)
        return scores

    def _finish(self, ids: list[int], params: dict[str, Any]) -> Any:
        ends = {*(params.get("stop_token_ids") or ())} | (set() if params.get("ignore_eos") else {self.end})
        if ids[-1] in ends:
            return {"type": "stop", "matched": ids[-1]}
        limit = params.get("max_new_tokens", 128)
        return {"type": "length", "length": limit} if len(ids) >= limit else None

    def _matcher(self, params: dict[str, Any]) -> Any:
        given = [name for name in ("json_schema", "regex", "ebnf", "structural_tag") if params.get(name)]
        if len(given) > 1:
            raise ValueError("Only one of regex, json_schema, or ebnf can be set.")
        if not given:
            return None
        import xgrammar

        info = xgrammar.TokenizerInfo(
            list(self.tokens), vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[self.end]
        )
        compiler = xgrammar.GrammarCompiler(info)
        text = params[given[0]]
        try:
            if given == ["structural_tag"]:
                compiled = compiler.compile_structural_tag(json.loads(text))
            elif given == ["ebnf"]:
                compiled = compiler.compile_grammar(text)
            elif given == ["regex"]:
                compiled = compiler.compile_regex(text)
            else:
                compiled = compiler.compile_json_schema(text)
        except Exception as error:
            raise ValueError(f"Failed to compile {given[0]} grammar: {error}") from None
        return xgrammar.GrammarMatcher(compiled)

    def _cached(self, prompt: list[int]) -> int:
        """Of the prompt's tokens, those that its radix tree has; the last one is always evaluated."""

        def common(other: list[int]) -> int:
            pairs = enumerate(zip(prompt, other, strict=False))
            return next((at for at, (one, two) in pairs if one != two), min(len(prompt), len(other)))

        cached = min(max(map(common, self._seen), default=0), len(prompt) - 1)
        self._seen.append(prompt)
        return cached


@contextlib.contextmanager
def running_sglang(fake: FakeSglang) -> Iterator[str]:
    """Its address, while it runs in a thread."""
    started, addresses = threading.Event(), []
    loop = asyncio.new_event_loop()

    async def start() -> web.AppRunner:
        runner = web.AppRunner(fake.app())
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        addresses.append(runner.addresses[0])
        return runner

    def run() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(start())
        started.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(20)
    try:
        yield "http://{}:{}".format(*addresses[0][:2])
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
