"""SGLang's function-call detectors, fed with DecodeStream's text a token at a time."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from harness import real_tokenizers
from harness.answers import of_sse
from harness.without_server import root_of, skip_inits, stand_in
from harness.workloads import Load

from peers import Absent, Answer, Stream, each, makes, once

label = "SGLang"
_DETECTORS = {
    "hermes": ("hermes_detector", "HermesDetector"),
    "llama3_json": ("llama32_detector", "Llama32Detector"),
    "qwen3_coder": ("qwen3_coder_detector", "Qwen3CoderDetector"),
    "deepseek_v4": ("deepseekv4_detector", "DeepSeekV4Detector"),
}


def version() -> str:
    folder = root_of("sglang", "srt")
    found = (path.name.split("-")[1].removesuffix(".dist") for path in folder.glob("sglang-*.dist-info"))
    return next(found, "unknown")


def import_without_its_server() -> None:
    """What its helpers import and its parsers never use is replaced."""
    skip_inits(
        root_of("sglang", "srt"),
        (
            "sglang",
            "sglang.srt",
            "sglang.srt.function_call",
            "sglang.srt.entrypoints",
            "sglang.srt.entrypoints.openai",
            "sglang.srt.parser",
            "sglang.srt.utils",
        ),
    )
    stand_in(("IPython", "IPython.display", "sglang.utils", "sglang.srt.utils.common", "sglang.srt.environ"))


import_without_its_server()


def _protocol() -> Any:
    return import_module("sglang.srt.entrypoints.openai.protocol")


def _detector(load: Load) -> tuple[Any, list[Any]]:
    """The detector of a format, and the request's tools."""
    if load.format not in _DETECTORS:
        raise Absent
    module, name = _DETECTORS[load.format]
    detector = getattr(import_module(f"sglang.srt.function_call.{module}"), name)()
    return detector, [_protocol().Tool(**tool) for tool in load.tools]


def _answer(results: list[Any]) -> Answer:
    found = [result for result in results if result is not None]
    arguments = "".join(call.parameters or "" for result in found for call in result.calls)
    return "".join(result.normal_text or "" for result in found), arguments


def _parse(load: Load) -> Stream:
    detector, tools = _detector(load)
    pieces, put = load.pieces, detector.parse_streaming_increment
    return Stream(lambda i: put(pieces[i], tools) if pieces[i] else None, _answer, len(pieces))


def _stepper(load: Load) -> Any:
    from tokenizers.decoders import DecodeStream

    detector, tools = _detector(load)
    source, ids = real_tokenizers.of(load.tokenizer).source, load.ids
    decode, put = DecodeStream(skip_special_tokens=False).step, detector.parse_streaming_increment

    def step(i: int) -> Any:
        text = decode(source, ids[i])
        return put(text, tools) if text else None

    return step


def _deltas(load: Load) -> Stream:
    return Stream(_stepper(load), _answer, len(load.ids))


def _sse(load: Load) -> Stream:
    """And the chunks that its serving layer makes."""
    protocol, parse = _protocol(), _stepper(load)

    def chunk(delta: Any) -> str:
        choice = protocol.ChatCompletionResponseStreamChoice(index=0, delta=delta, finish_reason=None)
        made = protocol.ChatCompletionStreamResponse(id="1", created=1, choices=[choice], model="model")
        return f"data: {made.model_dump_json()}\n\n"

    def step(i: int) -> str:
        result = parse(i)
        if result is None:
            return ""
        sent = chunk(protocol.DeltaMessage(content=result.normal_text)) if result.normal_text else ""
        for call in result.calls:
            function = protocol.FunctionResponse(name=call.name, arguments=call.parameters)
            tool_call = protocol.ToolCall(id="call_1", index=call.tool_index, function=function)
            sent += chunk(protocol.DeltaMessage(tool_calls=[tool_call]))
        return sent

    return Stream(step, lambda out: of_sse("".join(out)), len(load.ids))


def _whole(load: Load) -> Any:
    detector, tools = _detector(load)
    return detector.detect_and_parse("".join(load.pieces), tools)


WORKS = {
    "parse": each(_parse),
    "deltas": each(_deltas),
    "sse": each(_sse),
    "whole texts": once(_whole, lambda result: _answer([result])),
    "set-up": makes(_detector),
}
