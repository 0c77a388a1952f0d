"""SGLang's function-call detectors, fed with DecodeStream's text a token at a time."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import workloads

label = "SGLang"


def version() -> str:
    folder = Path(_root())
    return next(
        (path.name.split("-")[1].removesuffix(".dist") for path in folder.glob("sglang-*.dist-info")),
        "unknown",
    )


def _root() -> str:
    for entry in sys.path:
        if (Path(entry) / "sglang" / "srt").is_dir():
            return entry
    raise ImportError("sglang is not on the path")


def _import_without_its_server() -> None:
    """Make `sglang.srt` packages importable without running their __init__, which want a GPU's libraries."""
    root = Path(_root())
    for name in (
        "sglang",
        "sglang.srt",
        "sglang.srt.function_call",
        "sglang.srt.entrypoints",
        "sglang.srt.entrypoints.openai",
        "sglang.srt.parser",
        "sglang.srt.utils",
    ):
        if name not in sys.modules:
            module = types.ModuleType(name)
            module.__path__ = [str(root.joinpath(*name.split(".")))]
            sys.modules[name] = module
    # What its helpers import and its parsers never use.
    for name in (
        "IPython",
        "IPython.display",
        "sglang.utils",
        "sglang.srt.utils.common",
        "sglang.srt.environ",
    ):
        if name not in sys.modules:
            sys.modules[name] = _Anything(name)


class _Anything(types.ModuleType):
    """A module in which every name exists and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing()


class _Nothing:
    def __getattr__(self, name: str) -> Any:
        return _Nothing()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return _Nothing()

    def __bool__(self) -> bool:
        return False


def _detector(module: str, name: str) -> Any:
    def runner(load: workloads.Workload) -> Any:
        from importlib import import_module

        from tokenizers.decoders import DecodeStream

        _import_without_its_server()
        protocol = import_module("sglang.srt.entrypoints.openai.protocol")
        detector = getattr(import_module(f"sglang.srt.function_call.{module}"), name)()
        tools = [protocol.Tool(**tool) for tool in workloads.TOOLS]
        base, stream, ids, out = workloads.tokenizer(), DecodeStream(), load.ids, []

        def step(i: int) -> None:
            text = stream.step(base, ids[i])
            for call in detector.parse_streaming_increment(text, tools).calls if text else ():
                out.append(call.parameters or "")

        return step, lambda: "".join(out)

    return runner


def streams(load: workloads.Workload, count: int) -> Any:
    """A detokenizer and a detector a stream, and the chunk that its serving layer makes of a call's fragment."""
    from importlib import import_module

    from tokenizers.decoders import DecodeStream

    _import_without_its_server()
    protocol = import_module("sglang.srt.entrypoints.openai.protocol")
    detector = import_module("sglang.srt.function_call.hermes_detector").HermesDetector
    tools = [protocol.Tool(**tool) for tool in workloads.TOOLS]
    base, ids = workloads.tokenizer(), load.ids
    rows = [(DecodeStream(), detector(), []) for _ in range(count)]

    def step(i: int) -> None:
        for stream, parser, sent in rows:
            text = stream.step(base, ids[i])
            for call in parser.parse_streaming_increment(text, tools).calls if text else ():
                function = protocol.FunctionResponse(name=call.name, arguments=call.parameters)
                tool_call = protocol.ToolCall(id="call_1", index=call.tool_index, function=function)
                choice = protocol.ChatCompletionResponseStreamChoice(
                    index=0, delta=protocol.DeltaMessage(tool_calls=[tool_call]), finish_reason=None
                )
                chunk = protocol.ChatCompletionStreamResponse(
                    id="1", created=1, choices=[choice], model="model"
                )
                sent.append(f"data: {chunk.model_dump_json()}\n\n")

    return step, lambda: "".join(rows[-1][2])


def runners() -> dict[str, Any]:
    _root()
    return {
        "hermes": _detector("hermes_detector", "HermesDetector"),
        "llama3_json": _detector("llama32_detector", "Llama32Detector"),
    }
