"""Renders a chat template that is not trusted: in child processes, with limits of time and memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from unspool.errors import ArgumentError, LearnError
from unspool.formats.learning.sandbox import Sandbox

__all__ = ["SandboxedTemplate"]

# Processes that wait for the next rendering, for each template.
_MOST_IDLE = 4


class SandboxedTemplate:
    """The chat template of a tokenizer of transformers, as a `renderer` of `StreamGenerator`.

    Args:
        timeout_s: Seconds for one rendering.
    """

    def __init__(self, tokenizer: Any, timeout_s: float = 30.0) -> None:
        self._tokenizer = tokenizer
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: dict[str, list[Sandbox]] = {}

    @property
    def chat_template(self) -> Any:
        """The tokenizer's."""
        return self._tokenizer.chat_template

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
        """The text of a conversation, as transformers renders it.

        Raises:
            ArgumentError: The template exceeds a limit.
            jinja2.TemplateError: It does not accept the conversation.
            RuntimeError: It fails.
        """
        if tokenize:
            raise ArgumentError("a template writes text; tokenize it with the tokenizer")
        template = self._tokenizer.get_chat_template(chat_template, tools=tools)
        tokens = {name: str(token) for name, token in self._tokenizer.special_tokens_map.items()}
        shown = {"tools": tools, "documents": None, "add_generation_prompt": add_generation_prompt}
        job = {**tokens, **shown, **variables, "messages": conversation}
        try:
            text, error = self._render(template, job)
        except LearnError as limit:
            raise ArgumentError(str(limit)) from None
        except TypeError as not_json:
            raise ArgumentError(f"a variable of the chat template is not JSON: {not_json}") from None
        if text is not None:
            return text
        kind, _, message = error.partition(": ")
        if kind == "TemplateError":
            import jinja2

            raise jinja2.TemplateError(message)
        raise RuntimeError(f"the chat template failed: {error}")

    def _render(self, template: str, job: dict[str, Any]) -> tuple[str | None, str]:
        with self._lock:
            idle = self._idle.setdefault(template, [])
            sandbox = idle.pop() if idle else None
        sandbox = sandbox or Sandbox(template, self._timeout_s, is_lasting=True)
        try:
            (rendering,) = sandbox.render([job], {})
        except BaseException:  # also if the thread is given up: its process may still render
            sandbox.close()
            raise
        with self._lock:
            if len(idle) < _MOST_IDLE:
                idle.append(sandbox)
                return rendering
        sandbox.close()
        return rendering

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            idle = [sandbox for group in self._idle.values() for sandbox in group]
            self._idle.clear()
        for sandbox in idle:
            sandbox.close()

    def __del__(self) -> None:
        self.close()
