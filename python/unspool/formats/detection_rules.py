"""The rules by which `detect` recognises a format: the `[detect]` table of its file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from unspool.formats.detected_model import DetectedModel
from unspool.formats.detection_evidence import Evidence, Kind
from unspool.formats.format_file import FormatFile
from unspool.formats.learning.rendered_calls import RenderedCalls
from unspool.formats.templates.tagged_texts import TAG

__all__ = ["compare", "shown_in_answers"]


def compare(
    file: FormatFile, model: DetectedModel, *, in_answers: bool = False
) -> tuple[tuple[Evidence, ...], tuple[int, ...]]:
    """Return the evidence that satisfies a format's rule, and the parts of the rule that it satisfies.

    Args:
        in_answers: Whether the answers that the template writes count, if its source does not satisfy the rule.
    """
    rule = file.detect
    words: dict[Kind, list[str]] = {
        "template": _shown_in_template(rule, model) or (shown_in_answers(file, model) if in_answers else []),
        "tokens": _all_of(rule.get("tokens", ()), model.tokens),
        "model_type": [item for item in rule.get("model_types", ()) if item == _key(model.model_type, "_")],
        "name": [word for word in rule.get("names", ()) if _has_word(_last_part(model.name), word)],
    }
    if not model.template and not any(words.values()):  # only if there is nothing better
        shared = _key(model.model_type, "_")
        if shared in rule.get("shared_types", ()):
            return (Evidence("shared_type", repr(shared)),), ()
    if rule.get("named") and not (words["model_type"] or words["name"]):
        words["template"] = []
    evidence = tuple(Evidence(kind, ", ".join(map(repr, what))) for kind, what in words.items() if what)
    return evidence, tuple(sum(map(len, what)) for what in words.values())


def shown_in_answers(file: FormatFile, model: DetectedModel) -> list[str]:
    """Return the texts of a format's rule that stand in the answers which the template writes.

    They are those of the rule's template; or its tokens, if a call of an answer follows a marker that opens calls.
    """
    rule = file.detect
    if not model.answers or not file.has_tools:
        return []
    written = "\n".join(answer.lead + answer.text for answer in model.answers)
    held = _all_of(rule.get("template", ()), written)
    if held and not any(text in written for text in rule.get("template_not", ())):
        return held
    held = _all_of(rule.get("tokens", ()), written)
    openers = tuple(opener.strip() for call in file.facts.calls for opener in call.openers)
    return held if any(_follows(openers, answer) for answer in model.answers) else []


def _follows(openers: tuple[str, ...], answer: RenderedCalls) -> bool:
    """Whether the last tag before the first call's name is one with which an opener begins."""
    tags = TAG.findall(answer.text[: answer.text.find(answer.names[0])])
    return bool(tags) and any(opener.startswith(tags[-1]) for opener in openers)


def _shown_in_template(rule: Mapping[str, Any], model: DetectedModel) -> list[str]:
    """Return the texts of a rule that the template's source shows, also in what it says to the model."""
    if any(text in model.template for text in rule.get("template_not", ())):
        return []
    return _all_of(rule.get("template", ()), model.template)


def _all_of(wanted: Iterable[str | list[str]], text: Any) -> list[str]:
    held = []
    for item in wanted:
        one = next((one for one in ([item] if isinstance(item, str) else item) if one in text), None)
        if one is None:
            return []
        held.append(one)
    return held


def _key(text: str | None, separator: str) -> str:
    return re.sub(r"[-_\s]+", separator, (text or "").lower())


def _last_part(name: str | None) -> str:
    """Return the model's own name in a path, a repository id, or a folder of the hub's cache."""
    cached = re.search(r"models--(?:[^/\\]*--)?([^/\\]+)", name or "")
    return cached.group(1) if cached else re.split(r"[/\\]", (name or "").rstrip("/\\"))[-1]


def _has_word(name: str, word: str) -> bool:
    # A longer version number is another version: "step-3" does not match "step-3.5".
    pattern = rf"(?<![a-z0-9]){re.escape(_key(word, '-'))}(?![a-z0-9]|\.\d)"
    return re.search(pattern, _key(name, "-")) is not None
