"""Renders a chat template that is not trusted, in child processes with limits of time and memory."""

from __future__ import annotations

import threading
from typing import Any

from unspool.errors import ArgumentError, LearnError
from unspool.formats.templates.sandbox import Rendering, Sandbox
from unspool.generation.prompts.template_renderer import TemplateRenderer

__all__ = ["SandboxedTemplate"]

# Maximum number of processes for each template that are kept for the next rendering.
_MOST_IDLE = 4


class SandboxedTemplate(TemplateRenderer):
    """The chat template of a tokenizer of transformers, as a `renderer` of `StreamGenerator`.

    Args:
        tokenizer: The owner of `chat_template`, `get_chat_template` and `special_tokens_map`.
        timeout_s: Maximum seconds for one rendering.
    """

    def __init__(self, tokenizer: Any, timeout_s: float = 30.0) -> None:
        super().__init__(tokenizer)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: dict[str, list[Sandbox]] = {}

    def _render(self, template: str, variables: str) -> str:
        try:
            text, error = self._in_sandbox(template, variables)
        except LearnError as limit:
            raise ArgumentError(str(limit)) from None
        if text is not None:
            return text
        kind, _, message = error.partition(": ")
        if kind == "TemplateError":
            import jinja2

            raise jinja2.TemplateError(message)
        raise RuntimeError(f"the chat template failed: {error}")

    def _in_sandbox(self, template: str, variables: str) -> Rendering:
        with self._lock:
            idle = self._idle.setdefault(template, [])
            sandbox = idle.pop() if idle else None
        sandbox = sandbox or Sandbox(template, self._timeout_s, is_lasting=True)
        try:
            rendering = sandbox.render_json(variables)
        except BaseException:  # also if the thread is abandoned, when its process may still render
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
