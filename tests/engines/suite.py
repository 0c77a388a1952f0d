"""What every engine is asked: outputs that a scripted model writes, and what each wire must make of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unspool.testing.wire import Assembled, Call

from .scenarios import OFF, hermes_call
from .wires import WIRES, Ask

__all__ = ["CUSTOM", "INPUT", "SUITE", "TEMPLATE", "TOOLS", "Scenario", "Turn"]

#: As Qwen 3's, and shorter.
TEMPLATE = (
    "{% if tools %}<|im_start|>system\nTools: {{ tools | tojson }}\nA call is <tool_call>\n"
    '{"name": <name>, "arguments": <arguments>}\n</tool_call><|im_end|>\n{% endif %}'
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ '\\n' }}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
    "\n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
CITIES = ["Paris", "Zürich 🏔"]
WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "The weather of a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"enum": CITIES}, "days": {"type": "integer", "minimum": 0, "maximum": 9}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
}
NOW: dict[str, Any] = {
    "name": "now",
    "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
}
TOOLS = (WEATHER, NOW)
CHATS = ("chat", "messages", "responses", "google")
THOUGHT = "<think>\nThe user greets me.\n</think>\n\n"
TEXT = "The user greets me."


@dataclass(frozen=True)
class Scenario:
    """An output, the request that it answers, and what a client must have.

    Attributes:
        calls: (name, arguments); those of a call that is cut off are a text.
        is_forced: A grammar keeps the model from its script: only the calls' schema is known of the answer.
    """

    name: str
    output: str
    ask: Ask = field(default_factory=Ask)
    content: str = ""
    reasoning: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    finish: str = "stop"
    wires: Sequence[str] = CHATS
    n: int = 1
    is_forced: bool = False

    def expected(self, wire: str) -> Assembled:
        """What is assembled of this wire."""
        calls = [
            Call("", name, args if isinstance(args, str) else json.dumps(args, ensure_ascii=False))
            for name, args in self.calls
        ]
        if wire == "completions":
            return Assembled(self.content, finish_reason=self.finish)
        finish = "tool_calls" if calls and self.finish == "stop" and wire != "responses" else self.finish
        return Assembled(self.content, self.reasoning, calls, finish)


@dataclass(frozen=True)
class Turn:
    """A scenario on a wire."""

    wire: str
    scenario: Scenario

    def __str__(self) -> str:
        return f"{self.wire}: {self.scenario.name}"

    def body(self, pad: str = "") -> dict[str, Any]:
        """The request; `pad` makes its prompt as long as it must be."""
        ask = replace(self.scenario.ask, text=self.scenario.ask.text + pad)
        if self.scenario.is_forced:
            # Behind a grammar, the likeliest token is the same in each run.
            ask = replace(ask, temperature=0)
        return WIRES[self.wire].body(ask)


def _scenarios() -> Iterator[Scenario]:
    paris, zurich = ({"city": city, "days": 3} for city in CITIES)
    calls = [hermes_call("get_weather", args) for args in (paris, zurich)]
    tools = Ask(tools=TOOLS)

    def asking(**options: Any) -> Ask:
        return Ask(**{"tools": TOOLS, **options})

    yield Scenario("text", f"{THOUGHT}Hello, Zürich 🏔!", content="Hello, Zürich 🏔!", reasoning=TEXT)
    yield Scenario("text beside tools", f"{THOUGHT}Hello!", tools, "Hello!", TEXT)
    yield Scenario("text without a thought", "Hello!", tools, "Hello!")
    yield Scenario(
        "no thought",
        "Hello!",
        Ask(fields={"chat_template_kwargs": OFF}),
        "Hello!",
        wires=("chat", "messages", "responses"),
    )
    yield Scenario("a call", THOUGHT + calls[0], tools, "", TEXT, [("get_weather", paris)])
    yield Scenario("a call without arguments", hermes_call("now", {}), tools, calls=[("now", {})])
    yield Scenario(
        "text and a call",
        f"{THOUGHT}One moment.\n{calls[1]}",
        tools,
        "One moment.",
        TEXT,
        [("get_weather", zurich)],
    )
    both = [("get_weather", paris), ("get_weather", zurich)]
    yield Scenario("two calls", THOUGHT + "\n".join(calls), tools, "", TEXT, both)
    yield Scenario(
        "a call that is cut",
        f"Yes.\n{calls[0]}",
        asking(max_tokens=30),
        "Yes.",
        calls=[("get_weather", "{")],
        finish="length",
        wires=("chat",),
    )
    yield Scenario("a call, none wanted", f"{THOUGHT}No.", asking(choice="none"), "No.", TEXT)
    # What a grammar keeps: the answers admitted, and those that it forbids.
    for name, choice in (("required", "required"), ("named", "get_weather")):
        yield Scenario(name, THOUGHT + calls[1], asking(choice=choice), "", TEXT, [("get_weather", zurich)])
        yield Scenario(
            f"{name}, and the model would answer",
            "Hello!",
            asking(choice=choice, is_parallel=False),
            is_forced=True,
        )
    strict = asking(is_strict=True)
    yield Scenario("strict", THOUGHT + calls[0], strict, "", TEXT, [("get_weather", paris)], wires=CHATS[:3])
    wrong = hermes_call("get_weather", {"town": "Paris"})
    yield Scenario(
        "strict, and the model would write a wrong key",
        THOUGHT + wrong,
        strict,
        is_forced=True,
        wires=CHATS[:3],
    )
    one = asking(is_parallel=False)
    yield Scenario(
        "one call at a time", THOUGHT + calls[0], one, "", TEXT, [("get_weather", paris)], wires=CHATS[:3]
    )
    yield from _responses()
    yield from _chat_alone(calls, paris)
    yield from _completions()


def _responses() -> Iterator[Scenario]:
    schema = {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False,
    }  # fmt: skip
    formats: dict[str, Any] = {
        "json_schema": {"type": "json_schema", "json_schema": {"name": "city", "schema": schema}},
        "json_object": {"type": "json_object"},
    }
    text = '{"city": "Paris"}'
    for name, response in formats.items():
        wires = CHATS if name == "json_schema" else ("chat", "responses", "google")
        yield Scenario(name, THOUGHT + text, Ask(response=response), text, TEXT, wires=wires)
    others: dict[str, tuple[dict[str, Any], str]] = {
        "choice": ({"choice": ["red", "blue"]}, "blue"),
        "regex": ({"regex": "[0-9]{3}-[a-f]+"}, "123-abc"),
        "grammar": ({"grammar": 'start: "a" /[0-9]+/ "b"'}, "a42b"),
        "json": ({"json": schema}, text),
    }
    for name, (constraint, answer) in others.items():
        yield Scenario(
            name,
            THOUGHT + answer,
            Ask(fields={"structured_outputs": constraint}),
            answer,
            TEXT,
            wires=("chat",),
        )
    choice = {"structured_outputs": {"choice": ["red", "blue"]}, "chat_template_kwargs": OFF}
    yield Scenario(
        "a choice that the model would not make", "green", Ask(fields=choice), is_forced=True, wires=("chat",)
    )


def _chat_alone(calls: Sequence[str], paris: Mapping[str, Any]) -> Iterator[Scenario]:
    chat = ("chat",)
    two = Ask(tools=TOOLS, fields={"n": 2, "temperature": 0.5, "seed": 7})
    yield Scenario(
        "two choices", THOUGHT + calls[0], two, "", TEXT, [("get_weather", paris)], wires=chat, n=2
    )
    stop = Ask(fields={"stop": ["moment"]})
    yield Scenario("a stop string", f"{THOUGHT}One moment, please.", stop, "One ", TEXT, wires=chat)
    yield Scenario(
        "a stop string in the thought",
        f"{THOUGHT}Hello!",
        Ask(fields={"stop": ["greets"]}),
        "Hello!",
        TEXT,
        wires=chat,
    )
    sequences = Ask(fields={"stop_sequences": ["moment"]})
    yield Scenario(
        "a stop sequence", f"{THOUGHT}One moment, please.", sequences, "One ", TEXT, wires=("messages",)
    )
    sampling = {
        "temperature": 0.7, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "presence_penalty": 0.1, "frequency_penalty": 0.1,
        "repetition_penalty": 1.01, "seed": 3,
    }  # fmt: skip
    yield Scenario("sampling", f"{THOUGHT}Hello!", Ask(fields=sampling), "Hello!", TEXT, wires=chat)
    # Ids below 256 are bytes.
    yield Scenario(
        "a stop id", f"{THOUGHT}Hello! Bye!", Ask(fields={"stop_token_ids": [33]}), "Hello!", TEXT, wires=chat
    )
    bias = Ask(fields={"logit_bias": {"33": -100}, "temperature": 0})
    yield Scenario("a bias", f"{THOUGHT}Hello!", bias, is_forced=True, wires=chat)


def _completions() -> Iterator[Scenario]:
    raw = f"{THOUGHT}One <tool_call> moment."
    yield Scenario("a completion", raw, content=raw, wires=("completions",))
    yield Scenario(
        "a completion that is cut",
        raw,
        Ask(max_tokens=12),
        raw[: len("<think>\nThe user g")],
        finish="length",
        wires=("completions",),
    )


SUITE = [Turn(wire, scenario) for scenario in _scenarios() for wire in scenario.wires]
INPUT = "*** a patch\n+ zürich\n"
_EDIT = {"name": "edit", "description": "Edits."}
#: A call of a tool that takes a text, in the shapes of both APIs that have such tools.
CUSTOM = [
    Turn(
        wire, Scenario("a custom call", hermes_call("edit", {"input": INPUT}), Ask(fields={"tools": [tool]}))
    )
    for wire, tool in (
        ("chat", {"type": "custom", "custom": _EDIT}),
        ("responses", {"type": "custom", **_EDIT}),
    )
]
