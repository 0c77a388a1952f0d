"""Which case a demo model replays, and that it does so as a model would."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import unspool
from unspool.serve.models.demo_model import DemoModels, _plain_cases
from unspool.serve.models.example_value import example_value
from unspool.testing.cases import shipped_cases

from .conftest import TOOL, USER

pytestmark = pytest.mark.anyio


async def ask(client: Any, **body: Any) -> Any:
    answer = await client.post("/v1/chat/completions", json={"model": "hermes", "messages": USER, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]


def names(choice: Any) -> list[str]:
    return [call["function"]["name"] for call in choice["message"].get("tool_calls", ())]


async def test_a_case_by_name(make_client: Any) -> None:
    client = make_client()
    name = "three calls, the middle one without arguments"
    for body in (
        {"model": f"hermes:{name}"},
        {"metadata": {"case": name}},
        {"messages": [{"role": "user", "content": name}]},
    ):
        assert names(await ask(client, **body)) == ["a", "now", "b"]
    for body, status in (({"model": "hermes:no such case"}, 404), ({"metadata": {"case": "none"}}, 400)):
        refused = await client.post(
            "/v1/chat/completions", json={"model": "hermes", "messages": USER, **body}
        )
        assert refused.status_code == status


async def test_every_case_can_be_asked_for(make_client: Any) -> None:
    """Names with colons, commas and quotes too."""
    models = DemoModels()
    for case in shipped_cases("mistral"):
        assert models[f"mistral:{case.name}"]._case == case
    assert {"hermes", "openai"} <= set(models)
    assert len(models) == len(list(models)) == len(unspool.formats())
    assert (await make_client().get("/v1/models/hermes")).status_code == 200


async def test_an_alias_is_a_name_too(make_client: Any) -> None:
    alias = next(alias for file in unspool.formats() if file.name == "hermes" for alias in file.aliases)
    assert (await ask(make_client(), model=alias))["message"]["content"]


async def test_tools_are_called_and_their_results_answered(make_client: Any) -> None:
    client = make_client()
    assert names(await ask(client)) == []
    weather = {"type": "function", "function": {"name": "get_weather"}}
    first = await ask(client, tools=[weather])  # a case calls it
    assert names(first) == ["get_weather"]
    made_up = await ask(client, tools=[TOOL])
    assert json.loads(made_up["message"]["tool_calls"][0]["function"]["arguments"]) == {
        "word": "Paris", "count": 3,
    }  # fmt: skip
    assert names(await ask(client, tools=[TOOL], tool_choice="none")) == []
    messages = [
        *USER,
        made_up["message"],
        {"role": "tool", "tool_call_id": made_up["message"]["tool_calls"][0]["id"], "content": "found"},
    ]
    last = await ask(client, tools=[TOOL], messages=messages)
    assert last["finish_reason"] == "stop"
    assert last["message"]["content"]


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"type": "string"}])
async def test_a_tool_without_parameters_is_called_without_arguments(
    make_client: Any, parameters: Any
) -> None:
    """OpenAI: leaving parameters out defines a function with an empty parameter list."""
    client = make_client()
    function = {"name": "what_time_is_it", "description": "The time."}
    if parameters is not None:
        function["parameters"] = parameters
    tools = [{"type": "function", "function": function}]
    for file in unspool.formats():
        if file.has_tools:
            choice = await ask(client, model=file.name, tools=tools, tool_choice="required")
            (call,) = choice["message"]["tool_calls"]
            assert (call["function"]["name"], call["function"]["arguments"]) == (
                "what_time_is_it",
                "{}",
            ), file.name


async def test_seeds_and_reasoning(make_client: Any) -> None:
    client = make_client()
    plain = _plain_cases("qwen3")
    for seed in range(len(plain)):
        choice = await ask(client, model="qwen3", seed=seed)
        assert choice["message"]["content"] == plain[seed].content
    seen = [await ask(client, model="qwen3", seed=seed, reasoning_effort="none") for seed in range(20)]
    assert not any(choice["message"].get("reasoning_content") for choice in seen)


async def test_the_reasoning_field(make_client: Any) -> None:
    client = make_client(reasoning_field="reasoning")
    case = next(case for case in shipped_cases("qwen3") if case.reasoning and not case.calls)
    message = (await ask(client, model=f"qwen3:{case.name}"))["message"]
    assert message["reasoning"] == case.reasoning
    assert "reasoning_content" not in message


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "Paris"),
        ({"type": ["integer", "null"]}, 3),
        ({"enum": ["b", "a"]}, "b"),
        ({"default": 7}, 7),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, True),
        ({"type": "array", "items": {"type": "number"}}, [1.5]),
        ({"properties": {"a": {"type": "object", "properties": {"b": {}}}}}, {"a": {"b": "Paris"}}),
        (True, "Paris"),
    ],
)
def test_example_arguments(schema: Any, value: Any) -> None:
    assert example_value(schema) == value


def test_the_demo_needs_neither_torch_nor_transformers() -> None:
    """And `import unspool` needs nothing of the server."""
    code = (
        "import sys, unspool, unspool.__main__\n"
        "assert not {'starlette', 'uvicorn', 'prometheus_client', 'anyio'} & set(sys.modules)\n"
        "sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "import unspool.serve\n"
        "from unspool.serve.models.demo_model import DemoModels\n"
        "from unspool import SamplingParams\n"
        "stream = DemoModels()['hermes'].stream('Hello', sampling=SamplingParams())\n"
        "assert ''.join(stream.text())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_the_extra_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['starlette'] = None; sys.argv = ['unspool', 'serve', '--demo']\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "from unspool.__main__ import main; main()"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.decode().strip().count("\n") == 0
    assert b"unspool[serve]" in done.stderr


def test_an_example_is_bounded() -> None:
    """A client's schema may ask for more than a server has."""
    twice = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["a", "b"]}
    many = {"type": "array", "minItems": 10**9, "items": {"type": "string", "minLength": 10**9}}
    for schema in (twice, many, {"$ref": "#"}):
        assert len(json.dumps(example_value(schema))) < 1_000_000


async def test_a_malformed_schema_is_the_clients_error(make_client: Any) -> None:
    schema = {"type": "array", "minItems": "many"}
    body = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = await make_client().post(
        "/v1/chat/completions", json={"model": "hermes", "messages": USER, "response_format": body}
    )
    assert answer.status_code == 400
