"""Saves an engine's settings, without the model and its tokenizer, in one JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unspool._core import Format
from unspool.errors import ArgumentError, UnknownFormatError
from unspool.formats.format_file import FormatFile, get_format
from unspool.generation.prefill import PrefillConfig
from unspool.generation.stream_generator import StreamGenerator
from unspool.integrations.easydel.config import InferenceConfig

__all__ = ["FILE_NAME", "VERSION", "read_inference", "write_inference"]

FILE_NAME = "inference.json"
VERSION = 1

# Format names that are resolved with the tokenizer, so there is no format file for them.
_ASK_THE_TOKENIZER = ("auto", "hf", "response_template")

_KEYS = {
    "version", "name", "config", "format", "reasoning", "backend", "prefill", "parser_options", "precompiled",
}  # fmt: skip


def write_inference(
    directory: str | os.PathLike[str], engine: StreamGenerator, name: str, shapes: Sequence[tuple[int, int]]
) -> Path:
    """See `vInference.save_inference`."""
    data = {
        "version": VERSION,
        "name": name,
        "config": json.loads(engine.config.to_json()),
        "format": _format_name(engine.format),
        "reasoning": engine.reasoning,
        "backend": engine.backend,
        "prefill": engine.prefill.to_dict(),
        "parser_options": dict(engine.parser_options),
        "precompiled": [list(shape) for shape in shapes],
    }
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    path = Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    file = path / FILE_NAME
    # Replaced atomically, so that a reader sees either the old file or the new one.
    fresh = file.with_name(f"{FILE_NAME}.{os.getpid()}.tmp")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)
    return file


def read_inference(file: Path) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """Return the arguments of an engine, and its shapes. For the errors, see `vInference.load_inference`."""
    data = _read(file)
    try:
        config = InferenceConfig.from_dict(data["config"])
        shapes = [(_count(size), _count(length)) for size, length in data["precompiled"]]
        if data["format"] not in _ASK_THE_TOKENIZER:
            get_format(data["format"])
        if data["backend"] not in ("transformers", "native"):
            raise ArgumentError(f"backend is {data['backend']!r}; it must be 'transformers' or 'native'")
        if not isinstance(data["name"], str) or not data["name"]:
            raise ArgumentError(f"name is {data['name']!r}; it must be text")
        arguments = {
            **dict(data["parser_options"]),
            **{name: data[name] for name in ("name", "format", "reasoning", "backend")},
            # None: the config of a model without an end token.
            "config": None if config == InferenceConfig() else config,
            "prefill": PrefillConfig.read(data["prefill"]),
        }
    except UnknownFormatError as error:
        raise ArgumentError(f"{file}: {error}; register_format adds one of your own") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise ArgumentError(f"{file} is broken: {error}; save it again") from error
    return arguments, shapes


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
    """Return the name under which another process finds the same format."""
    if isinstance(format, str):
        return format
    try:
        if isinstance(format, FormatFile) and get_format(format.name) == format:
            return format.name
    except UnknownFormatError:
        pass
    raise ArgumentError(
        f"the format {getattr(format, 'name', '')!r} was given as an object, and no name leads to it; "
        "register_format it, and pass its name as format="
    )
