"""What is asked of the servers: outputs of the scripted model, in every shape of request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import unspool
from unspool.testing import Case, shipped_cases

TURN = "<|im_start|>assistant\n"
CLOSED = "<think>\n\n</think>\n\n"
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
    {"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}},
]
APIS = ("chat", "responses", "messages")


@dataclass
class Scenario:
    """One output and one request; `body` is the request's, for each API that it is for."""

    name: str
    output: str
    apis: tuple[str, ...] = APIS
    tools: list[dict[str, Any]] | None = field(default_factory=lambda: TOOLS)
    choice: str = "auto"  # or "required", "none", a tool's name
    strict: bool = False
    template: dict[str, Any] = field(default_factory=dict)
    question: str = "Hi"
    max_tokens: int | None = None
    is_cut: bool = False  # `max_tokens` is the output's length
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def is_guided(self) -> bool:
        """Whether the host gives the engine a grammar."""
        return self.choice not in ("auto", "none") or self.strict or "parallel_tool_calls" in self.body

    def request(self, api: str, encode: Callable[[str], list[int]]) -> dict[str, Any]:
        script = encode(self.output)
        limit = self.max_tokens or (len(script) if self.is_cut else len(script) + 60)
        request: dict[str, Any] = {
            "model": "tiny",
            "temperature": 0,
            "vllm_xargs": {"script": script},
            **_shaped(api, self),
            _LIMITS[api]: limit,
        }
        if self.template:
            request["chat_template_kwargs"] = self.template
        return {**request, **self.body}


_LIMITS = {"chat": "max_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}


def _shaped(api: str, scenario: Scenario) -> dict[str, Any]:
    """Question, tools and tool choice, as this API writes them."""
    tools = scenario.tools or []
    message = [{"role": "user", "content": scenario.question}]
    is_named = scenario.choice not in ("auto", "required", "none")
    strict = {"strict": True} if scenario.strict else {}
    choice: Any
    if api == "chat":
        shaped = [{"type": "function", "function": {**tool, **strict}} for tool in tools]
        choice = {"type": "function", "function": {"name": scenario.choice}} if is_named else scenario.choice
    elif api == "responses":
        shaped = [{"type": "function", **tool, **strict} for tool in tools]
        choice = {"type": "function", "name": scenario.choice} if is_named else scenario.choice
    else:
        shaped = [
            {"name": tool["name"], "input_schema": tool.get("parameters") or {"type": "object"}, **strict}
            for tool in tools
        ]
        kind = {"required": "any"}.get(scenario.choice, scenario.choice)
        choice = {"type": "tool", "name": scenario.choice} if is_named else {"type": kind}
    request: dict[str, Any] = {"input" if api == "responses" else "messages": message}
    if tools:
        request |= {"tools": shaped, "tool_choice": choice}
    return request


def hermes_call(name: str, arguments: dict[str, Any]) -> str:
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>\n{body}\n</tool_call>"


def qwen3_coder_call(name: str, arguments: dict[str, Any]) -> str:
    lines = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
    return f"<tool_call>\n<function={name}>\n{lines}</function>\n</tool_call>"


Call = Callable[[str, dict[str, Any]], str]
CALLS: dict[str, Call] = {"hermes": hermes_call, "qwen3_coder": qwen3_coder_call}


THOUGHT = "<think>\nThe user greets me.\n</think>\n\n"
OFF = {"enable_thinking": False}


def requests(tool: str) -> Iterator[Scenario]:
    """Each kind of request, with calls in this format's syntax."""
    call = CALLS[tool]
    paris, zurich = (call("get_weather", {"city": city}) for city in ("Paris", "Zürich 🏔"))
    output = f"{THOUGHT}One moment.\n{paris}"
    yield from _texts()
    yield from _calls(call, paris, zurich)
    yield from _choices(call, paris, zurich)
    yield Scenario("reasoning left out", output, ("chat",), body={"include_reasoning": False})
    yield Scenario("logprobs", output, ("chat",), body={"logprobs": True, "top_logprobs": 2})
    yield Scenario(
        "two choices", f"{THOUGHT}One moment.\n{zurich}", ("chat",), body={"n": 2, "temperature": 0.5}
    )
    yield from _stops(f"{THOUGHT}One moment, please.\n{paris}")
    yield from _cuts(output)


def _texts() -> Iterator[Scenario]:
    yield Scenario("text", THOUGHT + "Hello!")
    yield Scenario("text, no tools", THOUGHT + "Hello!", tools=None)
    yield Scenario("text, reasoning off", "Hello, Zürich 🏔!", template=OFF)
    yield Scenario("text without a thought", "Hello!")
    yield Scenario(
        "the prompt opens the reasoning", "Hm.\n</think>\n\nHello!", template={"answer_start": "<think>\n"}
    )


def _calls(call: Call, paris: str, zurich: str) -> Iterator[Scenario]:
    days = [call("get_weather", {"city": "Paris", "days": day}) for day in range(1, 6)]
    yield Scenario("a call", THOUGHT + days[2])
    yield Scenario("a call, reasoning off", zurich, template=OFF)
    yield Scenario("text and a call", f"{THOUGHT}One moment.\n{paris}")
    yield Scenario("two calls", f"{THOUGHT}{paris}\n{zurich}")
    yield Scenario(
        "two calls, one wanted",
        f"{THOUGHT}{paris}\n{zurich}",
        ("chat", "responses"),
        body={"parallel_tool_calls": False},
    )
    yield Scenario("five calls alike", THOUGHT + "\n".join(days))  # drafts are right about most of it
    yield Scenario("a call without arguments", THOUGHT + call("now", {}))
    yield Scenario("a call, no tools", THOUGHT + paris, tools=None)
    yield Scenario("a call in the reasoning", f"<think>\nHm.\n{paris}")
    yield Scenario("a call that the reasoning mentions", f"<think>\nNot {paris}.\n</think>\n\nHello!")


def _choices(call: Call, paris: str, zurich: str) -> Iterator[Scenario]:
    """Tool choice, and strict tools."""
    days = THOUGHT + call("get_weather", {"city": "Paris", "days": 3})
    yield Scenario("a call, none wanted", THOUGHT + paris, choice="none")
    for name, choice, output in (("required", "required", paris), ("named", "now", call("now", {}))):
        yield Scenario(name, THOUGHT + output, choice=choice)
        yield Scenario(f"{name}, reasoning off", output, choice=choice, template=OFF)
        yield Scenario(f"{name}, but the model answers", f"{THOUGHT}Hello!{output}", choice=choice)
    yield Scenario("required, two calls", f"{THOUGHT}{paris}\n{zurich}", choice="required")
    yield Scenario("strict", days, strict=True)
    yield Scenario("strict, a wrong key", THOUGHT + call("get_weather", {"town": "Paris"}), strict=True)
    yield Scenario("strict and required", days, strict=True, choice="required")


def _stops(output: str) -> Iterator[Scenario]:
    """Stop strings in each region; vLLM keeps text back while one may begin."""
    places = {
        "the content": "moment",
        "the reasoning": "greets",
        "a call": "Par",
        "a call's name": "_wea",
        "a tag": "</tool_call>",
    }
    for place, stop in places.items():
        for api in APIS if place in ("the content", "a call") else ("chat",):
            key = "stop_sequences" if api == "messages" else "stop"
            yield Scenario(f"a stop string in {place}", output, (api,), body={key: [stop]})
    yield Scenario("a stop string that never comes", output, ("chat",), body={"stop": ["please.\n\n\nNo"]})


def _cuts(output: str) -> Iterator[Scenario]:
    """`max_tokens` at every fourth token of an answer."""
    for limit in range(2, 44, 4):
        yield Scenario(f"cut at {limit}", output, ("chat",), max_tokens=limit)
    for limit in (4, 14, 30):
        yield Scenario(f"cut at {limit}", output, ("responses", "messages"), max_tokens=limit)


def cases(tool: str, reasoning: str) -> Iterator[tuple[Scenario, Case]]:
    """The cases of both families, as far as their calls are in this syntax."""
    opener = unspool.get_format(tool).patterns["call"][0]
    for case in shipped_cases():
        if case.format not in (tool, reasoning) or set(case.options) - {"prompt"} or "\ufffd" in case.input:
            continue
        if "<tool_call>" in case.input and unspool.get_format(case.format).patterns["call"][0] != opener:
            continue
        prompt = case.options.get("prompt", TURN + ("" if "<think>" in case.input else CLOSED))
        before, _, start = prompt.rpartition(TURN)
        question = before.removeprefix("<|im_start|>user\n").partition("<|im_end|>")[0]
        known = case.tools or [{"name": name} for name in dict.fromkeys(name for name, _, _ in case.calls)]
        yield (
            Scenario(
                str(case),
                case.input,
                ("chat",),
                tools=[dict(tool.get("function") or tool) for tool in known] or [{"name": "f"}],
                template={"answer_start": start},
                question=question or "Hi",
                is_cut=case.finish_reason == "length",
            ),
            case,
        )
