"""The base class of renderers: passes the same variables to a chat template as transformers does."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["TemplateRenderer"]

# The names of a message's reasoning, in transformers' order.
_REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")


class TemplateRenderer(ABC):
    """Renders the chat templates of an owner with `get_chat_template` and `special_tokens_map`."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    @property
    def chat_template(self) -> Any:
        """The owner's chat template."""
        return self._owner.chat_template

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

        Raises:
            ArgumentError: There is no template or no message, a variable is not JSON, or the template exceeds a limit.
            jinja2.TemplateError: The template does not accept the conversation.
            RuntimeError: The rendering fails.
        """
        if tokenize:
            raise ArgumentError("a template writes text; tokenize it with the tokenizer")
        if not conversation:
            raise ArgumentError("there is no message; a chat template needs at least one")
        template = self._owner.get_chat_template(chat_template, tools=tools)
        tokens = {name: str(token) for name, token in self._owner.special_tokens_map.items()}
        shown = {"tools": tools, "documents": None, "add_generation_prompt": add_generation_prompt}
        messages = [_message(message) for message in conversation]
        try:
            seen = json.dumps({**tokens, **shown, **variables, "messages": messages})
        except (TypeError, ValueError, RecursionError) as error:
            raise ArgumentError(f"a variable of the chat template is not JSON: {error}") from None
        return self._render(template, seen)

    @abstractmethod
    def _render(self, template: str, variables: str) -> str:
        """Render a template; the variables are JSON."""


def _message(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message without nulls, and with its reasoning under the names that templates read."""
    message = {key: value for key, value in given.items() if value is not None}
    reasoning = next((message[name] for name in _REASONING_FIELDS if name in message), None)
    return (
        message if reasoning is None else {"thinking": reasoning, **message, "reasoning_content": reasoning}
    )
