"""Reads the facts for `detect` from a model's folder, file or repository, but no weights and no vocabulary."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from unspool.core.repository import is_path
from unspool.core.vocabulary.gguf_file import read_gguf
from unspool.errors import ArgumentError, VocabularyError

__all__ = ["ModelFacts", "read_model_facts"]

ModelFacts = dict[str, Any]

_DOWNLOADED = ["config.json", "tokenizer_config.json", "chat_template.jinja", "chat_template.json"]
_SUFFIXES = (".json", ".jinja", ".jinja2", ".gguf", ".txt")


def read_model_facts(model: str) -> tuple[ModelFacts, str | None]:
    """Read the files of a model that show its format, as a source for `detect`.

    Args:
        model: A folder, a template file, a tokenizer_config.json or config.json, a GGUF file, or a repository's name.

    Returns:
        The facts, and the reason if only the name is known; None as the reason if files were read.

    Raises:
        ArgumentError: The path does not exist, or a file is damaged.
    """
    path = Path(model)
    if path.is_dir():
        return _of_folder(path, model), None
    if path.is_file():
        return _of_file(path), None
    if is_path(model) or path.suffix in _SUFFIXES:
        raise ArgumentError(f"there is no file or folder '{model}'")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model):
        return {"name_or_path": model, "model_type": model}, "it is not a repository's name (OWNER/NAME)"
    folder, problem = _downloaded(model)
    return (_of_folder(folder, model), None) if folder else ({"name_or_path": model}, problem)


def _downloaded(repository: str) -> tuple[Path | None, str]:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        return None, "its files were not read: pip install huggingface_hub"
    try:
        return Path(snapshot_download(repository, allow_patterns=_DOWNLOADED)), ""
    except Exception as error:  # raised because of the network, the hub, or the name
        return (
            None,
            f"its files were not read: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
        )


def _of_folder(folder: Path, name: str) -> ModelFacts:
    facts: ModelFacts = {"name_or_path": name}
    for file in ("config.json", "chat_template.json", "tokenizer_config.json", "tokenizer.json"):
        if (folder / file).is_file():
            facts |= _of_json(folder / file)
    template = folder / "chat_template.jinja"
    if template.is_file():
        facts["chat_template"] = _text(template)
    if len(facts) == 1:
        gguf = next(iter(sorted(folder.glob("*.gguf"))), None)
        if gguf is None:
            raise ArgumentError(
                f"'{folder}' has none of {', '.join(_DOWNLOADED)}, *.gguf; pass a model's folder, or a chat template"
            )
        return _of_gguf(gguf)
    return {**facts, "name_or_path": name}


def _of_file(path: Path) -> ModelFacts:
    if path.suffix == ".gguf":
        return _of_gguf(path)
    if path.suffix == ".json":
        return {"name_or_path": str(path.parent), **_of_json(path)}
    return {"chat_template": _text(path)}


def _of_json(path: Path) -> ModelFacts:
    try:
        data = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ArgumentError(f"{path}: not a JSON object; pass a tokenizer_config.json or a config.json")
    kept = (
        "chat_template",
        "response_template",
        "added_tokens_decoder",
        "model_type",
        "name_or_path",
        "_name_or_path",
    )
    facts = {key: data[key] for key in kept if data.get(key)}
    tokens = data.get("added_tokens")  # if it is a tokenizer.json
    if isinstance(tokens, list):
        facts["added_tokens"] = [
            item["content"] for item in tokens if isinstance(item, dict) and "content" in item
        ]
    return facts


def _of_gguf(path: Path) -> ModelFacts:
    try:
        facts = read_gguf(path)
    except VocabularyError as error:
        raise VocabularyError(f"{path}: {error}") from None
    templates = {key: text for key, text in facts.items() if key.startswith("tokenizer.chat_template")}
    tokens, kinds = facts.get("tokenizer.ggml.tokens") or [], facts.get("tokenizer.ggml.token_type") or []
    added = [
        str(token) for token, kind in zip(tokens, kinds, strict=False) if kind in (3, 4)
    ]  # control, user-defined
    return {
        "chat_template": templates,
        "added_tokens": added,
        "model_type": facts.get("general.architecture"),
        "name_or_path": facts.get("general.name") or str(path),
    }


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{path}: not UTF-8: {error}") from None
