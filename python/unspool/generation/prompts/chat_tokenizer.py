"""A model's tokenizer and chat template, without transformers and torch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unspool.core.vocabulary.tokenizer_json import foreign
from unspool.errors import ArgumentError
from unspool.generation.prompts.prompt import text_of_ids
from unspool.generation.prompts.sandboxed_template import SandboxedTemplate
from unspool.generation.prompts.template_renderer import TemplateRenderer
from unspool.generation.prompts.tokenizer_files import TokenizerFiles, read_tokenizer
from unspool.generation.prompts.trusted_template import TrustedTemplate

__all__ = ["ChatTokenizer"]


class ChatTokenizer:
    """The parts of a model that a server in front of an engine needs: its vocabulary and its chat template.

    Can be used wherever a tokenizer is accepted: by `Parser`, `detect`, `prepare_messages`, …. Its methods have
    transformers' names, and special tokens are attributes, such as `bos_token`.

    Attributes:
        vocabulary: The `Vocabulary`; None: only the template is known.
        name_or_path: The folder, file or repository that it was read from.
        eos_token_ids: The ids that end an answer.
        response_template: The checkpoint's own description of its output; None: it has none.
    """

    def __init__(
        self, files: TokenizerFiles, *, trust_template: bool = False, template_timeout_s: float = 30.0
    ) -> None:
        self.vocabulary = files.vocabulary
        self.name_or_path = files.name
        self.eos_token_ids = files.eos_token_ids
        self.response_template = files.response_template
        self._tokenizer = files.tokenizer
        self._templates = _Templates(files.chat_template, files.special_tokens)
        self._renderer: TemplateRenderer = (
            TrustedTemplate(self._templates)
            if trust_template
            else SandboxedTemplate(self._templates, template_timeout_s)
        )

    @classmethod
    def from_pretrained(
        cls,
        path_or_repo: str | os.PathLike[str],
        *,
        trust_template: bool = False,
        template_timeout_s: float = 30.0,
        chat_template: str | None = None,
    ) -> ChatTokenizer:
        """Read a model's folder, a `.gguf` file, or a repository on the Hugging Face hub; weights are not read.

        Args:
            trust_template: Render the model's chat template in this process, without limits.
            template_timeout_s: Seconds that a rendering may take if the template is not trusted.
            chat_template: A template instead of the model's own, as text; it is trusted.

        Raises:
            VocabularyError: The vocabulary is damaged, of an unknown kind, or its library is missing.
            ArgumentError: There is no vocabulary, another file is damaged, or the repository cannot be read.
        """
        files = read_tokenizer(os.fspath(path_or_repo))
        if chat_template is not None:
            files = replace(files, chat_template=chat_template)
        trusts = trust_template or chat_template is not None
        return cls(files, trust_template=trusts, template_timeout_s=template_timeout_s)

    @property
    def chat_template(self) -> str | dict[str, str] | None:
        """The template, or several templates by name."""
        return self._templates.chat_template

    @property
    def special_tokens_map(self) -> dict[str, str]:
        """The special tokens by name, such as "bos_token"."""
        return self._templates.special_tokens_map

    def __getattr__(self, name: str) -> str:
        tokens: dict[str, str] = self.special_tokens_map if name.endswith("_token") else {}
        if name not in tokens:
            raise AttributeError(f"this tokenizer has no {name!r}")
        return tokens[name]

    def get_added_vocab(self) -> dict[str, int]:
        """Return the ids of the added tokens by text."""
        added = {} if self.vocabulary is None else self.vocabulary.added_tokens
        return {text: id for id, text in added.items()}

    def get_chat_template(self, chat_template: str | None = None, tools: Any = None) -> str:
        """Return the text of a template: one given by name or as text, or else the model's template for these tools.

        Raises:
            ArgumentError: There is no such template.
        """
        return self._templates.get_chat_template(chat_template, tools)

    def apply_chat_template(
        self,
        conversation: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        tokenize: bool = False,
        **variables: Any,
    ) -> str:
        """Render a conversation as transformers does.

        If the template is not trusted, a process with limits renders it.

        Raises:
            ArgumentError: There is no template, a variable is not JSON, or the template exceeds a limit.
            jinja2.TemplateError: The template does not accept the conversation.
            RuntimeError: The rendering fails.
        """
        return self._renderer.apply_chat_template(
            conversation,
            tools,
            chat_template=chat_template,
            add_generation_prompt=add_generation_prompt,
            tokenize=tokenize,
            **variables,
        )

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int] | None:
        """Encode a text; None if the files do not show how, as with a GGUF file. Then the engine must encode it.

        Raises:
            VocabularyError: The tokenizer does not accept the text.
        """
        if self._tokenizer is None:
            return None
        with foreign("the text"):
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
        return ids

    def __len__(self) -> int:
        """The number of ids."""
        return 0 if self.vocabulary is None else len(self.vocabulary)

    def __bool__(self) -> bool:
        return True

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids, including special tokens."""
        return "" if self.vocabulary is None else text_of_ids(ids, self.vocabulary)

    def convert_ids_to_tokens(self, ids: Iterable[int]) -> list[str]:
        """Return each id's text in the spelling of the tokenizer's files."""
        if self._tokenizer is None:
            return [self.decode([id]) for id in ids]
        return [self._tokenizer.id_to_token(id) or "" for id in ids]


class _Templates:
    """The templates, as a renderer needs them. Does not refer to the tokenizer, so that no cycle keeps either alive."""

    def __init__(
        self, chat_template: str | dict[str, str] | None, special_tokens_map: dict[str, str]
    ) -> None:
        self.chat_template = chat_template
        self.special_tokens_map = special_tokens_map

    def get_chat_template(self, chat_template: str | None = None, tools: Any = None) -> str:
        own = self.chat_template
        if isinstance(own, dict):
            asked = chat_template or ("tool_use" if tools is not None and "tool_use" in own else "default")
            text = own.get(asked, chat_template)
        else:
            text = own if chat_template is None else chat_template
        if text is None:
            names = f"; of {', '.join(sorted(own))}, name one" if isinstance(own, dict) else ""
            raise ArgumentError(f"the model has no default chat template{names}, or pass chat_template=")
        return text
