"""Saves an engine's settings, without the model and its tokenizer, in one JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from unspool._core import Format
from unspool.errors import ArgumentError, UnknownFormatError
from unspool.formats.format_file import FormatFile, get_format
from unspool.generation.prefill.config import PrefillConfig
from unspool.integrations.easydel.config import InferenceConfig
from unspool.integrations.easydel.inference_name import read_inference_name

if TYPE_CHECKING:
    from unspool.generation.hooks import ConditioningHook
    from unspool.integrations.easydel.engine import vInference

__all__ = ["FILE_NAME", "VERSION", "load_inference", "save_inference"]

FILE_NAME = "inference.json"
VERSION = 1
BACKENDS = ("transformers", "native")

# Format names that are resolved with the tokenizer; they name no file.
_ASK_THE_TOKENIZER = ("auto", "hf", "response_template")

_KEYS = {
    "version", "name", "config", "format", "reasoning", "backend", "prefill", "parser_options", "precompiled",
}  # fmt: skip

T = TypeVar("T", bound="vInference")


def save_inference(engine: vInference, directory: str | os.PathLike[str]) -> Path:
    """As of `vInference.save_inference`."""
    data = {
        "version": VERSION,
        "name": engine.inference_name,
        "config": json.loads(engine.config.to_json()),
        "format": _format_name(engine.format),
        "reasoning": engine.reasoning,
        "backend": engine.backend,
        "prefill": {
            "chunk_tokens": engine.prefill.chunk_tokens,
            "strategy": engine.prefill.strategy,
        },
        "parser_options": dict(engine.parser_options),
        "precompiled": [list(shape) for shape in engine.precompiled_shapes],
    }
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    path = Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    file = path / FILE_NAME
    # Replaced at once: a reader sees the old file or the new one.
    fresh = file.with_name(f"{FILE_NAME}.{os.getpid()}.tmp")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)
    return file


def load_inference(
    cls: type[T],
    directory: str | os.PathLike[str],
    model: Any,
    tokenizer: Any,
    processor: Any,
    hook: ConditioningHook | None,
) -> T:
    """As of `vInference.load_inference`."""
    file = Path(directory) / FILE_NAME
    data = _read(file)
    try:
        config: InferenceConfig | None = InferenceConfig.from_dict(data["config"])
        prefill = PrefillConfig.read(data["prefill"])
        shapes = [(_count(size), _count(length)) for size, length in data["precompiled"]]
        if data["format"] not in _ASK_THE_TOKENIZER:
            get_format(data["format"])
        if data["backend"] not in BACKENDS:
            raise ArgumentError(f"backend is {data['backend']!r}, which is none of {', '.join(BACKENDS)}")
        name = read_inference_name(data["name"], model)
        parser_options = dict(data["parser_options"])
    except UnknownFormatError as error:
        raise ArgumentError(f"{file}: {error}; register_format adds one of your own") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise ArgumentError(f"{file} is broken: {error}; save it again") from error
    if config == InferenceConfig():
        config = None  # of a model without an end token
    try:
        engine = cls(
            model,
            tokenizer,
            processor,
            format=data["format"],
            reasoning=data["reasoning"],
            config=config,
            backend=data["backend"],
            prefill=prefill,
            hook=hook,
            name=name,
            **parser_options,
        )
    except TypeError as error:  # an option of another version's parser
        raise ArgumentError(f"{file} does not fit: {error}; save it again") from error
    engine.restore_shapes(shapes)
    return engine


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing; pass a directory that save_inference has written")
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{file} is not JSON: {error}; save it again") from None
    if not isinstance(data, Mapping) or "version" not in data:
        raise ArgumentError(f"{file} has no version, so save_inference did not write it; save it again")
    if data["version"] != VERSION:
        raise ArgumentError(
            f"{file} is of version {data['version']!r}, and this unspool reads version {VERSION}; save it again"
        )
    if set(data) != _KEYS:
        wrong = ", ".join(sorted(set(data) ^ _KEYS))
        raise ArgumentError(f"{file} is broken: {wrong} missing or unknown; save it again")
    return dict(data)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(f"precompiled holds {value!r}; it must be pairs of numbers of 1 or more")
    return value


def _format_name(format: str | FormatFile | Format) -> str:
    """The name under which another process finds the same format."""
    if isinstance(format, str):
        return format
    if isinstance(format, FormatFile):
        try:
            if get_format(format.name) == format:
                return format.name
        except UnknownFormatError:
            pass
    raise ArgumentError(
        f"the format {getattr(format, 'name', '')!r} was given as an object, and no name leads to it; "
        "register_format it, and pass its name as format="
    )
