"""`unspool.detect`: finds the format that a model writes, with the evidence for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from unspool.core.wrong_call import shown
from unspool.errors import ArgumentError
from unspool.formats.detected_model import DetectedModel, look_at, template_text
from unspool.formats.detection_evidence import SCORES, Detection, Evidence, Kind
from unspool.formats.detection_rules import compare, shown_in_answers
from unspool.formats.format_file import FormatFile, formats, get_format
from unspool.formats.learning.learn_once import learn_once
from unspool.formats.learning.rendered_calls import reads_calls, render_calls

__all__ = ["Detection", "Evidence", "detect"]


def detect(
    source: Any = None,
    *,
    chat_template: Any = None,
    tokens: Iterable[str] = (),
    model_type: str | None = None,
    name: str | None = None,
    learn: bool = True,
) -> tuple[Detection, ...]:
    """Return the formats that match a model, best first; empty if there is no evidence.

    A chat template that writes calls is rendered, once per process, in a child process with limits: a format must read
    the answers that it writes. What the template only shows in its prompt, where it lists tools, counts if no format
    reads these answers. Without jinja2 the template's source alone decides.

    If no known format matches the chat template and its calls, a format is learnt from the template, as
    `unspool.learn` does: once per process, usually in half a second, at most in ten.

    Args:
        source: A tokenizer of any kind, a processor, a model or its config; a chat template (a text that
            contains "{%" or "{{", a list of named templates, or a dict); the content of a
            tokenizer_config.json or config.json; or a model type or a checkpoint's name.
        chat_template: A chat template that replaces the source's.
        tokens: Added tokens, in addition to the source's.
        model_type: `model_type` of config.json; replaces the source's.
        name: The checkpoint's name or path; replaces the source's.
        learn: False: never learn a format.

    Raises:
        ArgumentError: There is nothing to detect from, or a path that does not exist names no known model.
    """
    if source is None and not (chat_template or model_type or name or tokens):
        raise ArgumentError("nothing to detect from; pass a tokenizer, a chat template or a model's name")
    model = look_at(source)
    model = DetectedModel(
        template_text(chat_template) or model.template,
        model.tokens.union(tokens),
        model_type or model.model_type,
        name or model.name,
        model.response_template,
    )
    if "tool_call" in model.template:
        model = replace(model, answers=render_calls(chat_template or source))
    ranked = list(_known(model, formats()))
    if learn and not model.response_template:
        ranked = [*_learnt(source, chat_template, model, ranked), *ranked]
    if model.response_template:
        fields = ", ".join(model.response_template.get("fields", {}))
        own = Evidence("response_template", f"fields {fields}")
        ranked.insert(0, Detection("response_template", (own,), SCORES[own.kind]))
    if not ranked and isinstance(source, str) and _is_missing(source):
        raise ArgumentError(f"there is no such file or folder, and its name fits no format: {shown(source)}")
    return tuple(ranked)


def _is_missing(path: str) -> bool:
    return path.startswith(("/", "./", "../", "~")) and not Path(path).expanduser().exists()


@lru_cache(64)
def _known(model: DetectedModel, files: tuple[FormatFile, ...]) -> tuple[Detection, ...]:
    """Return the formats that match, best first. Cached, because a server asks for each request."""
    ruled = [file for file in files if file.detect]
    matches = _matching(ruled, model)
    shown = [file for file in ruled if file.name in matches and _shows_calls(file, matches[file.name][1])]
    if model.answers and not any(reads_calls(file, model.answers) for file in shown):
        matches = _matching(ruled, model, in_answers=True)
        shown = [file for file in ruled if file.name in matches and _shows_calls(file, matches[file.name][1])]
    ranked = [detection for _, detection in sorted(matches.values(), key=lambda pair: pair[0], reverse=True)]
    if shown:
        # The template decides: formats that it contradicts do not match.
        known = {file.name for file in ruled if "template" in file.detect}
        known -= {item.format for item in ranked if _has(item, "template")}
        known |= {file.name for file in shown} - {file.name for file in _written(shown, model)}
        ranked = [item for item in ranked if item.format not in known]
    return tuple(ranked)


def _matching(
    ruled: list[FormatFile], model: DetectedModel, *, in_answers: bool = False
) -> dict[str, tuple[tuple[int, ...], Detection]]:
    """Return the formats that match, each with the parts of its rule that do; `in_answers`: also by the answers."""
    found: dict[str, tuple[tuple[int, ...], Detection]] = {}
    for file in ruled:
        evidence, fit = compare(file, model, in_answers=in_answers)
        if evidence and (file.name not in found or fit > found[file.name][0]):
            found[file.name] = (fit, Detection(file.name, evidence, SCORES[evidence[0].kind]))
    return found


def _shows_calls(file: FormatFile, detection: Detection) -> bool:
    return file.has_tools and _has(detection, "template")


def _written(shown: list[FormatFile], model: DetectedModel) -> list[FormatFile]:
    """Return the formats that the template's answers have, of those that the template shows; all if it is unclear."""
    read = [file for file in shown if reads_calls(file, model.answers)]
    return read or [file for file in shown if shown_in_answers(file, model)] or shown


def _learnt(
    source: Any, chat_template: Any, model: DetectedModel, ranked: list[Detection]
) -> list[Detection]:
    """Learn a format from a chat template that matches no known format, if possible."""
    if not model.template or any(get_format(item.format).has_tools for item in ranked):
        return []
    if ranked and "tool_calls" not in model.template:  # there are no calls to learn
        return []
    file = learn_once(chat_template or source)
    if file is None or (ranked and not file.has_tools):
        return []
    own = Evidence("learnt", "from the chat template, whose renderings it reads")
    return [Detection(file.name, (own,), SCORES[own.kind], file)]


def _has(detection: Detection, kind: Kind) -> bool:
    return any(item.kind == kind for item in detection.evidence)
