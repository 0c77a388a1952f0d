"""The output of `unspool detect`."""

from __future__ import annotations

from typing import Any

from unspool.errors import ArgumentError
from unspool.formats.detection import Detection, detect
from unspool.formats.format_file import FormatFile, get_format
from unspool.formats.model_facts import read_model_facts

__all__ = ["detected", "detected_json", "detected_text"]

_MOST = 5  # number of other formats that are listed


def detected(model: str) -> tuple[tuple[Detection, ...], str | None]:
    """Return the formats that match a model, best first, and the reason if only its name was compared, else None.

    Raises:
        ArgumentError: No format matches, or the model cannot be read.
    """
    facts, problem = read_model_facts(model)
    detections = detect(facts)
    if not detections:
        known = f" ({problem})" if problem else ""
        raise ArgumentError(
            f"no format matches '{model}'{known}; pass its chat template, see `unspool formats`, "
            "or learn a format with `unspool learn`"
        )
    return detections, problem


def detected_text(detections: tuple[Detection, ...], problem: str | None, model: str) -> str:
    """Return the format's name on a line of its own, then the evidence for it, and other formats."""
    best = detections[0]
    lines = [best.format, *(f"  decided by {item}" for item in best.evidence)]
    if problem:
        lines.append(f"  by the name alone, since {problem}")
    file = _file(best)
    if file is not None:
        reads = [name for name, has in (("tools", file.has_tools), ("reasoning", file.has_reasoning)) if has]
        lines.append(f"  reads {' and '.join(reads) or 'text'}")
    other = next((item.format for item in detections[1:] if not get_format(item.format).has_tools), None)
    if file is not None and not file.has_reasoning and other is not None:
        lines.append(f"  reasoning: {other}")
    if best.file is not None:
        lines.append(
            f"  no format of unspool has its markers; `unspool learn {model}` prints this one as a file"
        )
    lines += [f"  or {item}" for item in detections[1 : 1 + _MOST]]
    return "\n".join(lines)


def detected_json(found: tuple[Detection, ...]) -> list[dict[str, Any]]:
    """Return the detected formats and their evidence as data for JSON."""
    return [
        {"format": item.format, "score": item.score, "evidence": [vars(fact) for fact in item.evidence]}
        for item in found
    ]


def _file(detection: Detection) -> FormatFile | None:
    if detection.format == "response_template":
        return None
    return detection.file or get_format(detection.format)
