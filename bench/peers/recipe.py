"""deepseek-recipe's StreamProcessor, for DeepSeek V4: ids to chunks of chat completions."""

from __future__ import annotations

import functools
import json
from typing import Any

import deepseek_recipe
from harness import workloads
from harness.answers import of_chunks, of_sse
from harness.workloads import Load

from peers import Absent, Stream, each, makes

label = "deepseek-recipe"


def version() -> str:
    return str(deepseek_recipe.__version__)


@functools.cache
def _tokenizer() -> Any:
    return deepseek_recipe.Tokenizer.from_str(workloads.tokenizer_json())


def _processor(load: Load) -> Any:
    if load.format != "deepseek_v4":
        raise Absent
    body = {"model": "DeepSeek-V4-Pro", "messages": [{"role": "user", "content": "a"}], "tools": load.tools}
    request = deepseek_recipe.ChatCompletionRequest({**body, "stream": True})
    converted = request.convert(deepseek_recipe.ConversionOptions(default_thinking_mode=False))
    generator = deepseek_recipe.ChatCompletionRequest.chunk_generator(converted, "1", "model")
    made = deepseek_recipe.StreamProcessor(generator, converted.parsing_options, _tokenizer())
    made.push(deepseek_recipe.InferenceChunk.ready())
    return made


def _stepper(load: Load, source: str) -> Any:
    processor = _processor(load)
    put, chunk = processor.push, deepseek_recipe.InferenceChunk
    if source == "pieces":
        pieces = load.pieces
        return processor, lambda i: put(chunk.text(pieces[i], 1))
    ids = load.ids
    return processor, lambda i: put(chunk.tokens([ids[i]]))


def _objects(source: str) -> Any:
    def make(load: Load) -> Stream:
        processor, step = _stepper(load, source)
        return Stream(
            step,
            lambda out: of_chunks(
                json.loads(chunk.to_json()) for part in [*out, processor.finish()] for chunk in part
            ),
            len(load.ids),
        )

    return make


def _sse(load: Load) -> Stream:
    processor, put = _stepper(load, "ids")

    def step(i: int) -> str:
        return "".join([f"data: {chunk.to_json()}\n\n" for chunk in put(i)])

    def answer(out: list[str]) -> tuple[str, str]:
        return of_sse("".join(out + [f"data: {chunk.to_json()}\n\n" for chunk in processor.finish()]))

    return Stream(step, answer, len(load.ids))


WORKS = {
    "parse": each(_objects("pieces")),
    "deltas": each(_objects("ids")),
    "sse": each(_sse),
    "set-up": makes(_processor),
}
