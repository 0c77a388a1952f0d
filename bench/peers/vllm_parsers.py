"""vLLM's detokenizer and its parser, called as its output processor and chat endpoint call them."""

from __future__ import annotations

import functools
import logging
from typing import Any

import vllm
from harness import real_tokenizers
from harness.answers import of_deltas, of_sse
from harness.workloads import Load

from peers import Absent, Answer, Stream, each, makes, once

label = "vLLM"
_FORMATS = ("hermes", "llama3_json", "qwen3_coder", "deepseek_v4")


def version() -> str:
    return str(getattr(vllm, "__version__", "unknown"))


@functools.cache
def _tokenizer(name: str) -> Any:
    from transformers import PreTrainedTokenizerFast
    from vllm.tokenizers.hf import get_cached_tokenizer

    logging.disable(logging.CRITICAL)
    return get_cached_tokenizer(PreTrainedTokenizerFast(tokenizer_object=real_tokenizers.of(name).source))


@functools.cache
def _class(format: str) -> Any:
    from vllm.parser.parser_manager import ParserManager

    if format not in _FORMATS:
        raise Absent
    return ParserManager.get_parser(
        tool_parser_name=format, reasoning_parser_name=None, enable_auto_tools=True, is_harmony=False
    )


def _parser(load: Load) -> tuple[Any, Any]:
    """The parser of a request, and the request."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    request = ChatCompletionRequest(model="m", messages=[], tools=load.tools or None)
    return _class(load.format)(_tokenizer(load.tokenizer), request.tools, chat_template_kwargs={}), request


def _detokenizer(load: Load, *, skip_special_tokens: bool = True) -> Any:
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer

    if load.tokenizer != "deepseek":
        raise Absent
    sampling = SamplingParams(skip_special_tokens=skip_special_tokens)
    values = {
        "request_id": "r", "prompt_token_ids": [0], "mm_features": None, "sampling_params": sampling,
        "pooling_params": None, "eos_token_id": None, "arrival_time": 0.0, "lora_request": None,
        "cache_salt": None, "data_parallel_rank": None,
    }  # fmt: skip
    fields = set(EngineCoreRequest.__struct_fields__)
    request = EngineCoreRequest(**{key: value for key, value in values.items() if key in fields})
    return FastIncrementalDetokenizer(_tokenizer(load.tokenizer), request)


def _detokenize(load: Load) -> Stream:
    detokenizer, ids, last = _detokenizer(load), load.ids, len(load.ids) - 1

    def step(i: int) -> str:
        detokenizer.update([ids[i]], False)
        return str(detokenizer.get_next_output_text(i == last, True))

    return Stream(step, lambda out: ("".join(out), ""), len(ids))


def _parse(load: Load) -> Stream:
    parser, request = _parser(load)
    pieces, ids, put, last = load.pieces, load.ids, parser.parse_delta, len(load.pieces) - 1
    return Stream(
        lambda i: put(pieces[i], [ids[i]], request, prompt_token_ids=None if i else [0], finished=i == last),
        of_deltas,
        len(pieces),
    )


def _stepper(load: Load) -> Any:
    detokenizer = _detokenizer(load, skip_special_tokens=False)
    parser, request = _parser(load)
    ids, put, last = load.ids, parser.parse_delta, len(load.ids) - 1

    def step(i: int) -> Any:
        id = ids[i]
        detokenizer.update([id], False)
        text = detokenizer.get_next_output_text(i == last, True)
        return put(text, [id], request, prompt_token_ids=None if i else [0], finished=i == last)

    return step


def _deltas(load: Load) -> Stream:
    return Stream(_stepper(load), of_deltas, len(load.ids))


def _sse(load: Load) -> Stream:
    from vllm.entrypoints.openai.chat_completion import protocol

    parse = _stepper(load)

    def step(i: int) -> str:
        delta = parse(i)
        if delta is None:
            return ""
        choice = protocol.ChatCompletionResponseStreamChoice(index=0, delta=delta)
        chunk = protocol.ChatCompletionStreamResponse(
            id="chatcmpl-1", created=1, model="model", choices=[choice]
        )
        return f"data: {chunk.model_dump_json(exclude_unset=True)}\n\n"

    return Stream(step, lambda out: of_sse("".join(out)), len(load.ids))


def _whole(load: Load) -> Any:
    parser, request = _parser(load)
    return parser.parse(
        "".join(load.pieces), request, enable_auto_tools=True, model_output_token_ids=load.ids
    )


def _whole_answer(result: Any) -> Answer:
    _, content, calls = result
    return content or "", "".join(call.arguments for call in calls or ())


WORKS = {
    "detokenize": each(_detokenize),
    "parse": each(_parse),
    "deltas": each(_deltas),
    "sse": each(_sse),
    "whole texts": once(_whole, _whole_answer),
    "set-up": makes(_parser),
}
