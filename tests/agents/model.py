"""A model that writes a script, whatever agent asks: the same steps in each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unspool.formats.format_file import get_format
from unspool.generation.answer_request import AnswerRequest
from unspool.generation.delta_stream import DeltaStream
from unspool.serve.models.demo_model import DemoModel, _Wants
from unspool.serve.wires.tools import said_of
from unspool.testing.cases import Case

from .agent import Call

__all__ = ["ScriptedModel", "Step"]


@dataclass(frozen=True)
class Step:
    """What the model writes in one answer."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()


class ScriptedModel(DemoModel):
    """Writes the steps of a script, each after the results of the one before it.

    How far the script is, the prompt says: by its turns with calls. A request without the script's tools is
    not of the agent's loop: it asks for a title, or for a summary. It gets a short text.

    Args:
        format: The name of the format that it writes in.
        has_switch: Whether its chat template can switch the reasoning off.
        delay_s: How long a token takes.

    Attributes:
        prompts: The messages of each request of the loop, as the chat template gets them.
        streams: The answers of the loop.
    """

    def __init__(
        self, format: str, steps: Sequence[Step], has_switch: bool = True, delay_s: float = 0.0
    ) -> None:
        super().__init__(get_format(format), delay_s=delay_s)
        self.template_names = ("enable_thinking",) if has_switch else ("messages", "tools")
        self._steps = steps
        self._tools = {call.name for step in steps for call in step.calls}
        self.prompts: list[list[dict[str, Any]]] = []
        self.streams: list[DeltaStream] = []

    def begin(self, request: AnswerRequest) -> DeltaStream:
        """An answer: the next step of the script."""
        stream = super().begin(request)
        if self.is_of_loop(request.tools):
            self.prompts.append(request.prompt)
            self.streams.append(stream)
        return stream

    def text_of(self, prompt: Any, tools: Any, schema: Any = None) -> str:
        """What it writes."""
        return self._choose(_Wants(prompt, tools, "auto", True, schema), 0).input

    def is_of_loop(self, tools: Any) -> bool:
        """Whether these tools are the script's."""
        return self._tools <= {said_of(tool)["name"] for tool in tools or ()}

    def _choose(self, wants: _Wants, number: int) -> Case:
        is_of_loop = self.is_of_loop(wants.tools)
        if wants.schema is not None or not (is_of_loop or wants.tool_choice in ("auto", "none")):
            return super()._choose(wants, number)
        step = Step(content="A short text.")
        if is_of_loop:
            done = sum(bool(message.get("tool_calls")) for message in wants.prompt)
            step = self._steps[min(done, len(self._steps) - 1)]
        calls = [(call.name, call.arguments) for call in step.calls]
        return self._made_up(step.reasoning, step.content, calls, wants.tools)
