"""vLLM's Parser, composed of its reasoning and tool parsers, and called as in its chat endpoint."""

from __future__ import annotations

import functools
import logging
from typing import Any

from answers import Answer, Job
from peers import vllm_parsers

_EFFORTS = {"<ifm|think_fast>": "medium", "<ifm|think_faster>": "low"}


def version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("vllm")
    except PackageNotFoundError:
        return vllm_parsers.version()


def prepare() -> None:
    """Raised if an answer takes too long."""
    import transformers
    from vllm.parser import parser_manager

    logging.disable(logging.CRITICAL)
    assert parser_manager
    assert transformers.PreTrainedTokenizerFast
    _harmony()


@functools.cache
def _parser(names: tuple[str, str]) -> Any:
    from vllm.parser.parser_manager import ParserManager

    tools, reasoning = names
    return ParserManager.get_parser(
        tool_parser_name=tools or None,
        reasoning_parser_name=reasoning or None,
        enable_auto_tools=True,
        is_harmony=tools == "openai",
    )


@functools.lru_cache(maxsize=2)
def _tokenizer(tokenizer: str) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    suffix = ":opensource" if ":opensource" in tokenizer else ""  # Hunyuan's checkpoints define it
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer), token_suffix=suffix)


@functools.cache
def _harmony() -> Any:
    from vllm.entrypoints.openai.parser.harmony_utils import get_encoding

    return get_encoding()


def variants(job: Job) -> list[Any]:
    """(Whether thinking is on, the prompt's end); None: no reasoning parser."""
    bare: list[Any] = [] if job.reasons and job.names[1] else [(None, job.prompt or "")]
    if not job.names[1]:
        return bare
    if job.prompt is not None:
        return [(t, job.prompt) for t in ([True, False] if job.thinks is None else [job.thinks])] + bare
    opened, closed = job.prompts
    return [(True, ""), (False, closed), (True, opened), (False, ""), *bare]


def answer(job: Job, chunk: int, tokenizer: str, variant: Any) -> Answer:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    thinks, prompt = variant
    if thinks is None and job.names[0] != "openai":
        job = job.without_reasoning()
    template = {} if thinks is None else _template_arguments(job, thinks, prompt)
    tools = [{"type": "function", "function": function} for function in job.tools]
    request = ChatCompletionRequest(
        model="m", messages=[], tools=tools or None, chat_template_kwargs=template or None
    )
    cls, base = _parser(job.names), _tokenizer(tokenizer)
    if cls is None:
        return {"content": job.text, "reasoning": "", "calls": []}
    if job.names[0] == "openai":
        base.decode = lambda ids, **_: _harmony().decode(ids)  # it decodes what its parser gives up on
    parser = cls(base, request.tools, chat_template_kwargs=dict(template))
    if job.names[0] == "openai":
        job = _in_harmony(job)
        prompt_ids = _harmony().encode(prompt, allowed_special="all")
    else:
        prompt_ids = base.encode(prompt or "\n", add_special_tokens=False)
    if chunk == 0:
        parser.set_prompt_token_ids(prompt_ids)
        reasoning, content, calls = parser.parse(
            job.text,
            request,
            enable_auto_tools=bool(tools),
            model_output_token_ids=[id for id, _ in job.tokens],
        )
        return {
            "content": content,
            "reasoning": reasoning,
            "calls": [[call.name, call.arguments] for call in calls or ()],
        }
    return _streamed(parser, request, prompt_ids, job.chunks(chunk))


def _template_arguments(job: Job, thinks: bool, prompt: str) -> dict[str, Any]:
    effort = next((e for tag, e in _EFFORTS.items() if prompt.endswith(tag)), "high")
    return {
        "thinking": thinks,
        "enable_thinking": thinks,
        "thinking_mode": "enabled" if thinks else "disabled",
        "reasoning_effort": effort if thinks or job.format == "k2_horizon" else "no_think",
    }


def _in_harmony(job: Job) -> Job:
    """Harmony's parser reads the ids of its own vocabulary, not text."""
    from dataclasses import replace

    encoding = _harmony()
    ids = encoding.encode(job.text, allowed_special="all")
    return replace(job, tokens=[(id, encoding.decode([id])) for id in ids])


def _streamed(
    parser: Any, request: Any, prompt_ids: list[int], chunks: list[tuple[str, list[int], bool]]
) -> Answer:
    content, reasoning = "", ""
    calls: dict[int, list[str]] = {}
    for i, (text, ids, last) in enumerate(chunks):
        delta = parser.parse_delta(
            text, ids, request, prompt_token_ids=None if i else prompt_ids, finished=last
        )
        if delta is None:
            continue
        content += delta.content or ""
        reasoning += delta.reasoning or ""
        for call in delta.tool_calls or ():
            entry = calls.setdefault(call.index, ["", ""])
            if call.function:
                entry[0] += call.function.name or ""
                entry[1] += call.function.arguments or ""
    return {"content": content, "reasoning": reasoning, "calls": [calls[i] for i in sorted(calls)]}
