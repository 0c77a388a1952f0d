"""The output of `unspool learn`."""

from __future__ import annotations

from pathlib import Path

from unspool._core import __version__
from unspool.errors import FormatError
from unspool.formats.format_file import FormatFile
from unspool.formats.learning import learn
from unspool.formats.learning.write_toml import to_toml
from unspool.formats.templates.source import read_model

__all__ = ["learnt_text"]


def learnt_text(model: str, name: str, timeout: float) -> str:
    """Learn a format and return its file, with a comment at the beginning that explains its origin.

    Raises:
        ArgumentError: There is no chat template.
        LearnError: No format can be learnt.
    """
    source = read_model(model)
    file = learn({"chat_template": source.template, **source.tokens}, name=name, timeout=timeout)
    text = to_toml(file, _head(Path(model).name if Path(model).exists() else model, "end" in file.patterns))
    if FormatFile(text).patterns != file.patterns:
        raise FormatError("the learnt patterns cannot be written as a file; use unspool.learn in Python")
    return text


def _head(model: str, has_end: bool) -> str:
    lines = [
        f"Learnt by unspool {__version__} from the chat template of {model}.",
        "It reads the template's renderings as they were meant: one call, several and none, text and reasoning around",
        "them, values of each type, values with quotes, line breaks and the format's own markers; each at every split.",
        "What a model writes and its template never shows is not here. Run `unspool check` on this file to see how it",
        "is read.",
    ]
    if not has_end:
        lines.append(
            "The template does not say what ends an answer: add the model's end-of-sequence token as `end`."
        )
    return "\n".join(lines)
