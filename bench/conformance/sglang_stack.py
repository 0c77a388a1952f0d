"""SGLang's reasoning parser and detector, chained as its chat endpoint chains them."""

from __future__ import annotations

import functools
import json
import logging
import types
from importlib import import_module
from typing import Any

from answers import Answer, Job
from peers import sglang_parsers

version = sglang_parsers.version


class _Environment:
    """Its settings: off, except that calls to unknown tools are forwarded."""

    def __getattr__(self, name: str) -> Any:
        return types.SimpleNamespace(get=lambda: name == "SGLANG_FORWARD_UNKNOWN_TOOLS")


@functools.cache
def _parsers() -> tuple[Any, Any, Any]:
    sglang_parsers.import_without_its_server()
    import sys

    sys.modules["sglang.srt.environ"].envs = _Environment()  # type: ignore[attr-defined]
    call = import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser
    reasoning = import_module("sglang.srt.parser.reasoning_parser").ReasoningParser
    return call, reasoning, import_module("sglang.srt.entrypoints.openai.protocol").Tool


def prepare() -> None:
    """Raised if an answer takes too long."""
    import transformers

    logging.disable(logging.CRITICAL)
    assert transformers.PreTrainedTokenizerFast
    _parsers()


@functools.lru_cache(maxsize=2)
def _tokenizer(tokenizer: str) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer))


def variants(job: Job) -> list[Any]:
    """What the server derives from the template: whether reasoning is forced; None: no reasoning parser."""
    bare = [] if job.reasons else [None]
    if not job.names[1]:
        return [None]
    return [*([True, False] if job.thinks is None else [job.thinks]), *bare]


def answer(job: Job, chunk: int, tokenizer: str, variant: Any) -> Answer:
    call_parser, reasoning_parser, tool = _parsers()
    tools = [tool(type="function", function=function) for function in job.tools]
    base = _tokenizer(tokenizer)
    prefix = job.prompt or ""
    reasoner = (
        reasoning_parser(
            job.names[1],
            stream_reasoning=chunk > 0,
            force_reasoning=variant,
            tokenizer=base,
            tool_call_parser_active=bool(job.names[0] and tools),
            prefix=prefix,
        )
        if variant is not None
        else None
    )
    caller = call_parser(tools, job.names[0], tokenizer=base, prefix=prefix) if job.names[0] else None
    if chunk == 0:
        return _whole(job.text, reasoner, caller)
    return _streamed(job.chunks(chunk), reasoner, caller)


def _whole(text: str, reasoner: Any, caller: Any) -> Answer:
    reasoning: str | None = ""
    if reasoner:
        reasoning, rest = reasoner.parse_non_stream(text)
        text = rest or ""
    calls = []
    if caller and caller.has_tool_call(text):
        text, calls = caller.parse_non_stream(text)
    return {
        "content": text,
        "reasoning": reasoning,
        "calls": [[call.name, call.parameters] for call in calls],
    }


def _streamed(chunks: list[tuple[str, list[int], bool]], reasoner: Any, caller: Any) -> Answer:
    content, reasoning = "", ""
    calls: dict[int, list[str]] = {}
    for text, _, last in chunks:
        delta = text
        if reasoner:
            steps = [reasoner.parse_stream_chunk(text), *([reasoner.parse_stream_end()] if last else [])]
            reasoning += "".join(thought or "" for thought, _ in steps)
            delta = "".join(rest or "" for _, rest in steps)
        if not caller:
            content += delta
            continue
        for rest, items in [caller.parse_stream_chunk(delta), *([caller.parse_stream_end()] if last else [])]:
            content += rest or ""
            for item in items:
                entry = calls.setdefault(item.tool_index, ["", ""])
                entry[0] += item.name or ""
                entry[1] += item.parameters or ""
    if caller and calls:
        _add_rest(caller.detector, calls)
    return {"content": content, "reasoning": reasoning, "calls": [calls[i] for i in sorted(calls)]}


def _add_rest(detector: Any, calls: dict[int, list[str]]) -> None:
    """Arguments that were parsed but not yet sent: its endpoint sends them at the end."""
    read = getattr(detector, "prev_tool_call_arr", None) or []
    sent = getattr(detector, "streamed_args_for_tool", None) or []
    index = len(read) - 1
    if not 0 <= index < len(sent):
        return
    arguments = read[index].get("arguments", {})
    whole = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    if whole.startswith(sent[index]):
        calls.setdefault(index, ["", ""])[1] += whole[len(sent[index]) :]
