"""Builds a bridge in six steps: keep the ids, parse, render, remove the sampled text, encode, check."""

from __future__ import annotations

import json
from typing import Any

from unspool.core.stream.loss_mask import loss_mask
from unspool.core.stream.message import Message
from unspool.formats.templates.probe import USER, Call, Shape, assistant_message, tools_of
from unspool.formats.templates.sandbox import Rendering, Sandbox
from unspool.generation.bridging.bridge_request import Messages, Request
from unspool.generation.bridging.bridge_result import Bridge, Reason
from unspool.generation.bridging.encode import SuffixEncoder
from unspool.generation.bridging.ended_answer import Ended, decode, read_ended
from unspool.generation.bridging.prove import Texts, find_difference
from unspool.generation.bridging.spelled import Spelled, free_letter
from unspool.generation.bridging.suffix import HELD, Suffix, find_suffix
from unspool.generation.prompts.history import find_form, in_form

__all__ = ["build_bridge", "parsed_answer"]


def build_bridge(request: Request) -> Bridge:
    """Build the next turn's prompt; see `unspool.bridge`."""
    ended = read_ended(request)
    refused = _refusal(request, ended)
    if refused is not None:
        return _refused(request, refused)
    source_text = json.dumps([request.next_messages, request.template], ensure_ascii=False)
    spelled = Spelled(request.vocabulary, free_letter(source_text))
    rendered = _render(request, ended, spelled)
    if isinstance(rendered, str):
        return _refused(request, ("template", rendered))
    suffix, texts = rendered
    encoder = SuffixEncoder(request.vocabulary, request.encode, spelled.letter)
    kept, closed = list(request.ids), []
    if not ended.end:
        closed = encoder.ids(_closing(request, ended, suffix), kept)
    added = encoder.ids(suffix.after(ended.end or suffix.end), [*kept, *closed])
    ids = [*kept, *closed, *added]
    mask = [int(is_trained) for is_trained in loss_mask(ended.labels, prompt=request.prompt_length)]
    mask += [0] * (len(ids) - len(mask))
    difference = find_difference(request, ended, texts, ids) if request.checks else None
    is_exact = difference is None if request.checks else None
    if difference is not None and not request.keeps_history:
        return _refused(request, difference, is_exact)
    if difference is None and spelled.found:
        text = f"a message spells {spelled.found[0]!r}, which is text here; the template's own encoding makes it a marker"
        difference = "spelled marker", text
    kind, reason = difference or (None, None)
    return Bridge(ids, len(kept), mask, is_exact, kind, reason, tuple(closed))


def _refused(request: Request, why: Reason, is_exact: bool | None = None) -> Bridge:
    return Bridge(None, len(request.ids), [], is_exact, *why)


def _refusal(request: Request, ended: Ended) -> Reason | None:
    if ended.end and ended.region == "reasoning":
        return "stopped in reasoning", f"the answer ends with {ended.end!r} inside its reasoning"
    if not ended.end and not request.closes:
        region = ended.region.replace("_", " ")
        return "cut off", f"the answer has no end token; it is cut off in its {region}"
    return None


def _render(request: Request, ended: Ended, spelled: Spelled) -> tuple[Suffix, Texts] | str:
    """Render the template; on failure return the reason."""
    with Sandbox(request.template, request.timeout) as sandbox:
        common = request.variables
        form = find_form(sandbox, {**common, "tools": common["tools"] or _TOOLS})
        shape = form.shape
        known = [USER, known_answer(ended.message, shape)]
        before = [USER] if request.messages is None else request.messages
        following = request.next_messages
        can_prove = request.checks and all(call.is_complete for call in ended.message.tool_calls)
        answer = [parsed_answer(ended.message, shape)] if can_prove else known[1:]
        jobs = [
            _job(known, False),
            _job([*known, *following]),
            _job([*known, *spelled.mark(following)]),
            _job(before, False),
            _job(before),
            _job([*before, *answer, *following]),
        ]
        renderings = sandbox.render(
            [{**job, "messages": in_form(job["messages"], form)} for job in jobs], common
        )
    is_outside = request.answer and ended.region == "content"
    last = request.vocabulary.content(request.answer[-1]) if is_outside else None
    return _read((*request.ends, ended.end.strip()), last or "", renderings, spelled)


def known_answer(message: Message, shape: Shape) -> dict[str, Any]:
    """Return a short answer with the names, ids and order of the real calls."""
    calls = [(call.id, call.name, {"zqkey": HELD}) for call in message.tool_calls]
    return assistant_message(shape, "" if calls else HELD, calls=calls)


def parsed_answer(message: Message, shape: Shape) -> dict[str, Any]:
    """Return the answer in the form that the template expects."""
    calls = [(call.id, call.name, json.loads(call.arguments)) for call in message.tool_calls]
    return assistant_message(shape, message.content, message.reasoning, calls)


_TOOLS = tools_of([Call("zqtool", {"zqkey": ""})])


def _job(messages: Messages, add_generation_prompt: bool = True) -> dict[str, Any]:
    return {"messages": messages, "add_generation_prompt": add_generation_prompt}


def _read(
    ends: tuple[str, ...], last: str, renderings: list[Rendering], spelled: Spelled
) -> tuple[Suffix, Texts] | str:
    (alone, error), (followed, later), (marked, _), (bare, _), (prompt, _), (whole, refusal) = renderings
    if alone is None or followed is None:
        return f"the template does not render the next messages: {error or later}"
    if spelled.found and (marked is None or spelled.without(marked) != followed):
        return f"a message spells {spelled.found[0]!r}, and the template writes it in another way if it is marked"
    suffix = find_suffix(alone, marked or followed, ends, spelled.token_at, last)
    if suffix is None:
        return "the template leaves the answer out, so that its end cannot be found"
    return suffix, Texts(bare or "", prompt or "", whole, refusal)


def _closing(request: Request, ended: Ended, suffix: Suffix) -> str:
    """Return the text that closes the reasoning and the turn of an answer that was cut off."""
    closer = ""
    reasoning = request.file.shape.reasoning
    if ended.region == "reasoning" and reasoning:
        close = reasoning[0].close
        text = decode(request.vocabulary, request.answer)
        closer = close.literal[min(close.line_breaks, len(text) - len(text.rstrip("\n"))) :]
    return closer if suffix.end and closer.strip().endswith(suffix.end) else closer + suffix.end
