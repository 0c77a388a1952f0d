"""`unspool.detect`: finds the format that a model writes, with the evidence for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from unspool.core.wrong_call import shown
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile, formats, get_format
from unspool.formats.learning.learn_once import learn_once

__all__ = ["Detection", "Evidence", "detect"]

Kind = Literal["response_template", "template", "tokens", "model_type", "name", "shared_type", "learnt"]

_SCORES: dict[Kind, int] = {
    "response_template": 5, "template": 4, "learnt": 4, "tokens": 3, "model_type": 2, "name": 1, "shared_type": 0,
}  # fmt: skip
_SOURCES = (
    "chat_template", "response_template", "added_tokens_decoder", "get_added_vocab", "get_added_tokens_decoder",
    "added_tokens", "model_type", "name_or_path", "init_kwargs", "config",
)  # fmt: skip


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
    model = _look_at(source)
    model = _Model(
        _template_text(chat_template) or model.template,
        model.tokens.union(tokens),
        model_type or model.model_type,
        name or model.name,
        model.response_template,
    )
    ranked = list(_known(model, formats()))
    if learn and not model.response_template:
        ranked = [*_learnt(source, chat_template, model, ranked), *ranked]
    if model.response_template:
        fields = ", ".join(model.response_template.get("fields", {}))
        own = Evidence("response_template", f"fields {fields}")
        ranked.insert(0, Detection("response_template", (own,), _SCORES[own.kind]))
    if not ranked and isinstance(source, str) and _is_missing(source):
        raise ArgumentError(f"there is no such file or folder, and its name fits no format: {shown(source)}")
    return tuple(ranked)


def _is_missing(path: str) -> bool:
    return path.startswith(("/", "./", "../", "~")) and not Path(path).expanduser().exists()


@lru_cache(64)
def _known(model: _Model, files: tuple[FormatFile, ...]) -> tuple[Detection, ...]:
    """Return the formats that match, best first. Cached, because a server asks for each request."""
    found: dict[str, tuple[tuple[int, ...], Detection]] = {}
    for file, rule in _rules(files):
        evidence, fit = _compare(rule, model)
        if evidence and (file.name not in found or fit > found[file.name][0]):
            found[file.name] = (fit, Detection(file.name, evidence, _SCORES[evidence[0].kind]))
    ranked = [detection for _, detection in sorted(found.values(), key=lambda pair: pair[0], reverse=True)]
    if any(_has(detection, "template") and get_format(detection.format).has_tools for detection in ranked):
        # The template decides: formats that it contradicts do not match.
        known = {file.name for file, rule in _rules(files) if "template" in rule}
        ranked = [item for item in ranked if _has(item, "template") or item.format not in known]
    return tuple(ranked)


def _learnt(source: Any, chat_template: Any, model: _Model, ranked: list[Detection]) -> list[Detection]:
    """Learn a format from a chat template that matches no known format, if possible."""
    if not model.template or any(get_format(item.format).has_tools for item in ranked):
        return []
    if ranked and "tool_calls" not in model.template:  # there are no calls to learn
        return []
    file = learn_once(chat_template or source)
    if file is None or (ranked and not file.has_tools):
        return []
    own = Evidence("learnt", "from the chat template, whose renderings it reads")
    return [Detection(file.name, (own,), _SCORES[own.kind], file)]


@dataclass(frozen=True)
class _Model:
    """What is known about a model, in one form for every kind of source."""

    template: str = ""
    tokens: frozenset[str] = frozenset()
    model_type: str | None = None
    name: str | None = None
    response_template: Mapping[str, Any] | None = field(default=None, compare=False)


def _look_at(source: Any) -> _Model:
    if source is None:
        return _Model()
    if isinstance(source, str):
        if "{%" in source or "{{" in source:
            return _Model(_template_text(source))
        return _Model(model_type=source, name=source)
    if isinstance(source, Mapping) and any(key in source for key in _SOURCES):
        source = SimpleNamespace(**{str(key): value for key, value in source.items()})
    elif isinstance(source, (list, Mapping)):
        return _Model(_template_text(source))
    parts = [
        part for part in (source, getattr(source, "tokenizer", None)) if part is not None
    ]  # for a processor
    if not any(hasattr(part, key) for part in parts for key in _SOURCES):
        raise ArgumentError(
            f"{shown(source)} ({type(source).__name__}) shows nothing of its format; "
            "pass a tokenizer, a chat template or a model's name"
        )

    def read(*keys: str) -> Any:
        places = [(part, getattr(part, "init_kwargs", None) or {}) for part in parts]
        values = (getattr(part, key, None) or own.get(key) for key in keys for part, own in places)
        return next(filter(None, values), None)

    return _Model(
        _template_text(read("chat_template")),
        frozenset(token for part in parts for token in _added_tokens(part)),
        read("model_type") or getattr(read("config"), "model_type", None),
        read("name_or_path", "_name_or_path"),
        read("response_template"),
    )


def _template_text(template: Any) -> str:
    """Return all templates as one text, without comments and with escapes replaced."""
    if isinstance(template, Mapping):
        template = list(template.values())
    if isinstance(template, (list, tuple)):
        texts = [item.get("template", "") if isinstance(item, Mapping) else str(item) for item in template]
        template = "\n".join(texts)
    text = re.sub(r"\{#.*?#\}", "", template or "", flags=re.DOTALL)
    return text.replace('\\"', '"').replace("\\n", "\n")


def _added_tokens(source: Any) -> Iterator[str]:
    for key in ("added_tokens_decoder", "get_added_tokens_decoder"):
        decoder = getattr(source, key, None)
        for token in (decoder() if callable(decoder) else decoder or {}).values():
            yield str(token["content"] if isinstance(token, Mapping) else token)
    for key in ("get_added_vocab", "added_tokens"):
        vocabulary = getattr(source, key, None)
        yield from (str(token) for token in (vocabulary() if callable(vocabulary) else vocabulary or ()))


def _rules(files: tuple[FormatFile, ...]) -> Iterator[tuple[FormatFile, dict[str, Any]]]:
    """Each format that has detection rules, with its rules."""
    return ((file, file.detect) for file in files if file.detect)


def _compare(rule: Mapping[str, Any], model: _Model) -> tuple[tuple[Evidence, ...], tuple[int, ...]]:
    """Return the evidence that satisfies a rule, and the parts of the rule that it satisfies."""
    found: dict[Kind, list[str]] = {
        "template": _all_of(rule.get("template", ()), model.template),
        "tokens": _all_of(rule.get("tokens", ()), model.tokens),
        "model_type": [item for item in rule.get("model_types", ()) if item == _key(model.model_type, "_")],
        "name": [word for word in rule.get("names", ()) if _has_word(_last_part(model.name), word)],
    }
    if not model.template and not any(found.values()):  # only if there is nothing better
        shared = _key(model.model_type, "_")
        if shared in rule.get("shared_types", ()):
            return (Evidence("shared_type", repr(shared)),), ()
    if any(text in model.template for text in rule.get("template_not", ())):
        found["template"] = []
    if rule.get("named") and not (found["model_type"] or found["name"]):
        found["template"] = []
    evidence = tuple(Evidence(kind, ", ".join(map(repr, what))) for kind, what in found.items() if what)
    return evidence, tuple(sum(map(len, what)) for what in found.values())


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


def _has(detection: Detection, kind: Kind) -> bool:
    return any(item.kind == kind for item in detection.evidence)
