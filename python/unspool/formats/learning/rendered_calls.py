"""Renders answers with calls for `detect`: what a chat template writes as an answer, not what its prompt shows of calls."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from unspool._core import ToolSchemas
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.reading import read_chunks
from unspool.core.stream.tool_schemas import compile_tools
from unspool.errors import ArgumentError, FormatError, LearnError
from unspool.formats.format_file import FormatFile
from unspool.formats.learning.prove import meant_calls, read_calls
from unspool.formats.templates.probe import CALLS, CONTENT, Answer, Shape, job_of, prompt_job, tools_of
from unspool.formats.templates.rendered import EOS, cut
from unspool.formats.templates.sandbox import Sandbox
from unspool.formats.templates.shapes import find_shape

__all__ = ["RenderedCalls", "reads_calls", "render_calls"]

_ANSWERS = (Answer(calls=CALLS[:1]), Answer(calls=CALLS), Answer(CONTENT, "", CALLS[:1]))


@dataclass(frozen=True)
class RenderedCalls:
    """An answer with calls, as a template writes it.

    Attributes:
        prompt: The prompt before it.
        lead: The end of `prompt` that belongs to the answer's turn.
        text: The answer, up to the token that ends it.
        names: The names of the calls that were rendered.
        calls: The calls, as `meant_calls` writes them.
    """

    prompt: str
    lead: str
    text: str
    names: tuple[str, ...]
    calls: tuple[str, ...]


def render_calls(source: Any) -> tuple[RenderedCalls, ...]:
    """Render answers with calls, once per template; nothing if the template writes none, or cannot be rendered here."""
    from unspool.formats.templates.source import read_source

    try:
        found = read_source(source)
    except ArgumentError:
        return ()
    return _render(found.template, tuple(sorted(found.tokens.items())))


def reads_calls(file: FormatFile, rendered: tuple[RenderedCalls, ...]) -> bool:
    """Whether a format reads the calls of one of the answers; their content is not compared."""
    try:
        format = compile_format(file)
    except FormatError:
        return False
    return any(
        tuple(read_calls(read_chunks(format, [one.text], _tools(), prompt=one.prompt))) == one.calls
        for one in rendered
    )


@functools.lru_cache(maxsize=1)
def _tools() -> ToolSchemas | None:
    return compile_tools(tools_of(CALLS))


@functools.lru_cache(maxsize=64)
def _render(template: str, tokens: tuple[tuple[str, str], ...]) -> tuple[RenderedCalls, ...]:
    known = {"bos_token": "<|zqbos|>", "eos_token": EOS, "unk_token": "", "pad_token": "", **dict(tokens)}
    common = {**known, "tools": tools_of(CALLS)}
    try:
        with Sandbox(template, 10.0, is_patient=True) as sandbox:
            shape, has_calls = find_shape(sandbox, common)
            return tuple(_answers(sandbox, shape, common)) if has_calls else ()
    except (LearnError, ImportError):
        return ()


def _answers(sandbox: Sandbox, shape: Shape, common: dict[str, Any]) -> list[RenderedCalls]:
    jobs = [prompt_job(shape), prompt_job(shape, False), *(job_of(answer, shape) for answer in _ANSWERS)]
    texts = [text for text, _ in sandbox.render(jobs, common)]
    prompt, bare = texts[0] or "", texts[1] or ""
    answers = []
    for answer, text in zip(_ANSWERS, texts[2:], strict=True):
        if text is not None and all(call.name in text for call in answer.calls):
            part = cut(text, prompt, bare, (CONTENT,))
            names = tuple(call.name for call in answer.calls)
            calls = tuple(meant_calls(answer))
            answers.append(RenderedCalls(part.prompt, part.lead, part.text.split(EOS)[0], names, calls))
    return answers
