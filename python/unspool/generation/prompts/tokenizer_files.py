"""Reads a model's tokenizer and chat templates from a folder, a GGUF file, or a repository."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unspool._core import Vocabulary
from unspool.core.vocabulary.gguf_file import read_gguf
from unspool.core.vocabulary.gguf_vocabulary import fact, from_gguf
from unspool.core.vocabulary.tokenizer_json import foreign
from unspool.core.vocabulary.vocabulary_sources import from_file, from_tiktoken, from_tokenizer
from unspool.errors import ArgumentError, VocabularyError

__all__ = ["TokenizerFiles", "read_tokenizer"]

#: The files with a vocabulary, best first; only the first one shows how texts are encoded.
_VOCABULARIES = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model*",
    "tiktoken.model",
    "*.tiktoken",
    "*.gguf",
)
_TEMPLATES = "additional_chat_templates"
_DOWNLOADED = [
    *_VOCABULARIES[:-1], "tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "config.json",
    "chat_template.jinja", "chat_template.json", f"{_TEMPLATES}/*.jinja",
]  # fmt: skip


@dataclass(frozen=True)
class TokenizerFiles:
    """The content of a model's tokenizer files.

    Attributes:
        name: The folder, the repository, or the model's name in a GGUF file.
        vocabulary: The vocabulary; None: only the template is known.
        tokenizer: A `tokenizers.Tokenizer`; None if the files do not show how texts are encoded.
        chat_template: The template, several templates by name, or None.
        special_tokens: The special tokens by transformers' names, such as "bos_token".
        eos_token_ids: The ids that end an answer.
        response_template: Hugging Face's description of the output; None: there is none.
    """

    name: str
    vocabulary: Vocabulary | None
    tokenizer: Any = None
    chat_template: str | dict[str, str] | None = None
    special_tokens: dict[str, str] = field(default_factory=dict)
    eos_token_ids: tuple[int, ...] = ()
    response_template: Mapping[str, Any] | None = None


def read_tokenizer(path_or_repo: str) -> TokenizerFiles:
    """Read a folder, a file in it, or the files of a repository on the Hugging Face hub.

    Raises:
        VocabularyError: The vocabulary is damaged, of an unknown kind, or its library is missing.
        ArgumentError: There is no vocabulary, another file is damaged, or the repository cannot be read.
    """
    path = Path(path_or_repo)
    if not path.exists():
        return _of_folder(_downloaded(path_or_repo), path_or_repo)
    folder = path if path.is_dir() else path.parent
    return _of_folder(folder, path_or_repo, path if path.is_file() else None)


def _downloaded(repository: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ArgumentError(
            f"there is no '{repository}'; to download it, pip install huggingface_hub"
        ) from None
    try:
        return Path(snapshot_download(repository, allow_patterns=_DOWNLOADED))
    except Exception as error:  # an error of the network, the hub, or the name
        raise ArgumentError(
            f"'{repository}' is no folder or file, nor a repository that can be read: {error}"
        ) from None


def _of_folder(folder: Path, name: str, file: Path | None = None) -> TokenizerFiles:
    candidates = (path for pattern in _VOCABULARIES for path in sorted(folder.glob(pattern)))
    file = file or next(candidates, None)
    if file is None:
        raise ArgumentError(
            f"'{name}' has none of {', '.join(_VOCABULARIES)}; pass a model's folder, or its .gguf file"
        )
    if file.suffix == ".gguf":
        return _of_gguf(file)
    config = _json(folder / "tokenizer_config.json")
    own = {**_json(folder / "special_tokens_map.json"), **config}
    response_template = config.get("response_template")
    if not (response_template is None or isinstance(response_template, Mapping)):
        raise ArgumentError(f"{folder}: 'response_template' is no object; copy the model's files again")
    special = {key: text for key in own if key.endswith("_token") and (text := _text(own[key]))}
    tokenizer = None
    if file.name == "tokenizer.json":
        tokenizer = _tokenizer(file, own, special.values())
        vocabulary = from_tokenizer(tokenizer)
    elif "tiktoken" in file.name:
        vocabulary = from_tiktoken(file, _added(own))
    else:
        vocabulary = from_file(file)
    return TokenizerFiles(
        name,
        vocabulary,
        tokenizer,
        _templates(folder, config),
        special,
        _end_ids(folder, vocabulary, special),
        response_template,
    )


def _tokenizer(file: Path, config: Mapping[str, Any], special: Iterable[str]) -> Any:
    """Return the tokenizer with the added tokens that only its configuration has, as transformers adds them."""
    with foreign(str(file)):
        from tokenizers import AddedToken, Tokenizer

        tokenizer = Tokenizer.from_str(file.read_text(encoding="utf-8"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        listed = sorted(
            (int(id), fields) for id, fields in (config.get("added_tokens_decoder") or {}).items()
        )
        tokenizer.add_tokens([AddedToken(**fields) for _, fields in listed])
        known = {token.content: token for token in tokenizer.get_added_tokens_decoder().values()}
        lists = (config.get(key) or () for key in ("additional_special_tokens", "extra_special_tokens"))
        texts = [*special, *(text for entries in lists for token in entries if (text := _text(token)))]
        tokenizer.add_special_tokens(
            [known.get(text) or AddedToken(text, special=True, normalized=False) for text in texts]
        )
    return tokenizer


def _added(config: Mapping[str, Any]) -> dict[str, int]:
    """Read the ids of the added tokens from a configuration."""
    with foreign("tokenizer_config.json"):
        return {
            str(_text(fields)): int(id) for id, fields in (config.get("added_tokens_decoder") or {}).items()
        }


def _templates(folder: Path, config: Mapping[str, Any]) -> str | dict[str, str] | None:
    files = {path.stem: path for path in sorted((folder / _TEMPLATES).glob("*.jinja"))}
    if (folder / "chat_template.jinja").is_file():
        files["default"] = folder / "chat_template.jinja"
    templates: Any = {name: _read(path) for name, path in files.items()}
    templates = (
        templates or config.get("chat_template") or _json(folder / "chat_template.json").get("chat_template")
    )
    texts: list[tuple[Any, Any]]
    if isinstance(templates, list):
        texts = [(item.get("name"), item.get("template")) for item in templates if isinstance(item, Mapping)]
    else:
        texts = list(templates.items()) if isinstance(templates, Mapping) else [("default", templates or "")]
    if not all(isinstance(name, str) and isinstance(text, str) for name, text in texts):
        raise ArgumentError(
            f"{folder}: a chat template is no text, or has no name; copy the model's files again"
        )
    named: dict[str, str] = dict(texts)
    return named["default"] or None if named.keys() == {"default"} else named or None


def _end_ids(folder: Path, vocabulary: Vocabulary, special: Mapping[str, str]) -> tuple[int, ...]:
    given = (_json(folder / name).get("eos_token_id") for name in ("generation_config.json", "config.json"))
    ids: Any = next((value for value in given if value is not None), [])
    own = vocabulary.find_added(special.get("eos_token", ""))
    listed = [own, *(ids if isinstance(ids, list) else [ids])]
    return tuple(dict.fromkeys(id for id in listed if isinstance(id, int) and 0 <= id < len(vocabulary)))


_GGUF_SPECIAL = {
    "bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "seperator": "sep_token", "padding": "pad_token",
    "cls": "cls_token", "mask": "mask_token",
}  # fmt: skip


def _of_gguf(file: Path) -> TokenizerFiles:
    try:
        facts = read_gguf(file)
        vocabulary = from_gguf(facts)
        tokens: list[str] = fact(facts, "tokenizer.ggml.tokens", list)
        names = [*_GGUF_SPECIAL, "eot", "eom"]
        token_ids: dict[str, int] = {
            name: fact(facts, f"tokenizer.ggml.{name}_token_id", int, -1) for name in names
        }
        ids = {name: id for name, id in token_ids.items() if 0 <= id < len(tokens)}
        start = "tokenizer.chat_template"
        named = {
            key.removeprefix(f"{start}."): fact(facts, key, str)
            for key in facts
            if key.startswith(f"{start}.")
        }
        own = fact(facts, start, str, "")
        name = fact(facts, "general.name", str, "")
    except VocabularyError as error:
        raise VocabularyError(f"{file}: {error}") from None
    return TokenizerFiles(
        name or str(file),
        vocabulary,
        chat_template=({"default": own, **named} if own else named) if named else own or None,
        special_tokens={key: tokens[ids[name]] for name, key in _GGUF_SPECIAL.items() if name in ids},
        eos_token_ids=tuple(dict.fromkeys(ids[name] for name in ("eos", "eot", "eom") if name in ids)),
    )


def _text(token: Any) -> str | None:
    """Return the text of a token in a configuration, which is a string, or an object with the text as its content."""
    token = token.get("content") if isinstance(token, Mapping) else token
    return token if isinstance(token, str) else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{path} is not UTF-8: {error}") from None


def _json(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file; empty if the file does not exist."""
    if not path.is_file():
        return {}
    try:
        data = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ArgumentError(f"{path} holds no object; copy it from the model again")
    return data
