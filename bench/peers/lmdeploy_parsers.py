"""LMDeploy's response parser, fed with DecodeStream's text a token at a time."""

from __future__ import annotations

import functools
from typing import Any

from harness import real_tokenizers
from harness.answers import of_deltas, of_sse
from harness.without_server import root_of, skip_inits
from harness.workloads import Load

from peers import Absent, Answer, Stream, each, makes, once

label = "LMDeploy"
_NAMES = {
    "hermes": "qwen3",
    "llama3_json": "llama3",
    "qwen3_coder": "qwen3coder",
    "deepseek_v4": "deepseek-v4",
}
skip_inits(root_of("lmdeploy", "serve"), ("lmdeploy", "lmdeploy.serve", "lmdeploy.serve.openai"))

from lmdeploy.serve.openai import protocol  # noqa: E402
from lmdeploy.serve.parsers import ResponseParserManager  # noqa: E402


def version() -> str:
    from importlib.metadata import version as installed

    return installed("lmdeploy")


@functools.cache
def _class(format: str) -> Any:
    if format not in _NAMES:
        raise Absent
    base = ResponseParserManager.get("default")
    made = type("Parser", (base,), {})
    made.set_parsers(None, _NAMES[format], None)
    return made


def _parser(load: Load) -> Any:
    return _class(load.format)(protocol.ChatCompletionRequest(model="m", messages=[], tools=load.tools))


def _answer(results: list[Any]) -> Answer:
    return of_deltas(delta for result in results for delta, _ in result)


def _parse(load: Load) -> Stream:
    pieces, put, last = load.pieces, _parser(load).stream_chunk, len(load.pieces) - 1
    return Stream(lambda i: put(pieces[i], [0], final=i == last), _answer, len(pieces))


def _stepper(load: Load) -> Any:
    from tokenizers.decoders import DecodeStream

    put, last = _parser(load).stream_chunk, len(load.ids) - 1
    source, ids = real_tokenizers.of(load.tokenizer).source, load.ids
    decode = DecodeStream(skip_special_tokens=False).step
    return lambda i: put(decode(source, ids[i]) or "", [ids[i]], final=i == last)


def _deltas(load: Load) -> Stream:
    return Stream(_stepper(load), _answer, len(load.ids))


def _sse(load: Load) -> Stream:
    parse = _stepper(load)

    def step(i: int) -> str:
        sent = ""
        for delta, _ in parse(i):
            choice = protocol.ChatCompletionResponseStreamChoice(index=0, delta=delta)
            chunk = protocol.ChatCompletionStreamResponse(id="1", created=1, model="model", choices=[choice])
            sent += f"data: {chunk.model_dump_json()}\n\n"
        return sent

    return Stream(step, lambda out: of_sse("".join(out)), len(load.ids))


def _whole(load: Load) -> Any:
    return _parser(load).parse_complete("".join(load.pieces))


def _whole_answer(result: Any) -> Answer:
    content, calls, _ = result
    return content or "", "".join(call.function.arguments for call in calls or ())


WORKS = {
    "parse": each(_parse),
    "deltas": each(_deltas),
    "sse": each(_sse),
    "whole texts": once(_whole, _whole_answer),
    "set-up": makes(_parser),
}
