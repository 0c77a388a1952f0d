"""Gets the chat template and the special tokens from a user's object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unspool.core.repository import check_repository
from unspool.errors import ArgumentError

__all__ = ["TemplateSource", "read_model", "read_source"]

_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "eod_token")


@dataclass(frozen=True)
class TemplateSource:
    """A chat template and the special tokens to which it may refer."""

    template: str
    tokens: dict[str, str] = field(default_factory=dict)


def read_source(source: Any) -> TemplateSource:
    """Return the template of a tokenizer, a processor, a configuration, or a template itself.

    Raises:
        ArgumentError: There is no template or no such file, or the hub cannot be reached.
    """
    if isinstance(source, str) and not ("{%" in source or "{{" in source):
        raise ArgumentError("this text is not a chat template; pass a template, or a tokenizer")
    if isinstance(source, (str, list, tuple)):
        return TemplateSource(_chosen(source))
    if isinstance(source, Mapping):
        return _of_mapping(source)
    for part in (source, getattr(source, "tokenizer", None)):  # a processor has a tokenizer
        template = getattr(part, "chat_template", None)
        if template:
            own = {key: getattr(part, key, None) for key in _TOKENS}
            inner = getattr(source, "tokenizer", None) or part
            own.update({key: getattr(inner, key, None) or own[key] for key in _TOKENS})
            return TemplateSource(_chosen(template), _texts(own))
    raise ArgumentError(f"a {type(source).__name__} has no chat template; pass a tokenizer, or the template")


def read_model(model: str) -> TemplateSource:
    """Return the template of a file, a model's folder, or a repository on the hub.

    Raises:
        ArgumentError: There is no template.
        ImportError: `model` is a repository's name, and transformers is missing.
    """
    path = Path(model)
    if path.is_dir():
        return _of_folder(path)
    if path.suffix == ".json" and path.is_file():
        return _of_mapping(_read_json(path))
    if path.is_file():
        return read_source(path.read_text(encoding="utf-8"))
    if "{%" in model or "{{" in model:
        return read_source(model)
    check_repository(model, (".jinja", ".json", ".gguf"))
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise ImportError(f"{model} is not a file or folder; to load it, pip install transformers") from None
    return read_source(AutoTokenizer.from_pretrained(model))


def _of_folder(path: Path) -> TemplateSource:
    config = path / "tokenizer_config.json"
    data = _read_json(config) if config.is_file() else {}
    template = path / "chat_template.jinja"
    if template.is_file():
        data = {**data, "chat_template": template.read_text(encoding="utf-8")}
    if not data.get("chat_template"):
        raise ArgumentError(f"{path} has neither chat_template.jinja nor a template in tokenizer_config.json")
    return _of_mapping(data)


def _of_mapping(data: Mapping[str, Any]) -> TemplateSource:
    if "chat_template" in data:
        tokens = {key: data.get(key) for key in _TOKENS}
        return TemplateSource(_chosen(data["chat_template"]), _texts(tokens))
    return TemplateSource(_chosen(data))


def _chosen(template: Any) -> str:
    """Choose one template; if there are several, the one for tools, as transformers does."""
    if isinstance(template, (list, tuple)):
        template = {item.get("name"): item.get("template") for item in template if isinstance(item, Mapping)}
    if isinstance(template, Mapping):
        template = template.get("tool_use") or template.get("default")
    if not isinstance(template, str) or not template:
        raise ArgumentError(
            "there is no chat template named 'tool_use' or 'default'; pass the template itself"
        )
    return template


def _texts(tokens: Mapping[str, Any]) -> dict[str, str]:
    """Return the tokens' texts; a configuration may have a table for each token."""
    texts = {key: item.get("content") if isinstance(item, Mapping) else item for key, item in tokens.items()}
    return {key: str(text) for key, text in texts.items() if text}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ArgumentError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ArgumentError(f"{path}: not a JSON object; pass a tokenizer_config.json")
    return data
