"""`Detection`, a format that matches a model, and the `Evidence` for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unspool.formats.format_file import FormatFile

__all__ = ["SCORES", "Detection", "Evidence", "Kind"]

Kind = Literal["response_template", "template", "tokens", "model_type", "name", "shared_type", "learnt"]

SCORES: dict[Kind, int] = {
    "response_template": 5, "template": 4, "learnt": 4, "tokens": 3, "model_type": 2, "name": 1, "shared_type": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    """A fact that suggests a format: its kind and value."""

    kind: Kind
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


@dataclass(frozen=True)
class Detection:
    """A format that matches a model.

    Attributes:
        format: The format's name; "response_template" if the checkpoint has its own.
        evidence: The evidence, strongest first.
        score: The strength of the strongest evidence: 5: response_template; 4: template or learnt; 3: tokens;
            2: model_type; 1: name; 0: shared_type (a model_type that several families use).
        file: The format itself, if it was learnt from the chat template ("learnt"). None: use `get_format`.
    """

    format: str
    evidence: tuple[Evidence, ...]
    score: int
    file: FormatFile | None = None

    def __str__(self) -> str:
        return f"{self.format} ({'; '.join(map(str, self.evidence))})"
