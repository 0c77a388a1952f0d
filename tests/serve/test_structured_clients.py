"""Clients that ask for structured output, against a tiny random model: each gets its own typed object.

docs/server.md has the table.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from unspool import GenerationDefaults, StreamGenerator

from .conftest import USER, running

pydantic = pytest.importorskip("pydantic")
SOURCES = Path(__file__).with_name("clients")

pytestmark = [pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]


class Weather(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    """The weather of a city."""

    model_config = pydantic.ConfigDict(extra="forbid")

    city: Literal["Paris", "Oslo"]
    days: int = pydantic.Field(ge=1, le=9)


@pytest.fixture(scope="module")
def url(llama: Any, tokenizer: Any) -> Iterator[str]:
    config = GenerationDefaults(max_new_tokens=700)
    model = StreamGenerator(llama, tokenizer, format="hermes", backend="native", config=config)
    with running({"m": model}) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.fixture
def openai_client(url: str) -> Iterator[Any]:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield client


def check(found: Any) -> None:
    assert isinstance(found, Weather), found


def test_openai_chat_parse(openai_client: Any) -> None:
    answer = openai_client.chat.completions.parse(model="m", messages=USER, response_format=Weather)
    check(answer.choices[0].message.parsed)


def test_openai_chat_stream(openai_client: Any) -> None:
    with openai_client.chat.completions.stream(model="m", messages=USER, response_format=Weather) as stream:
        for _ in stream:
            pass
        check(stream.get_final_completion().choices[0].message.parsed)


def test_openai_chat_tools(openai_client: Any) -> None:
    import openai

    tool = openai.pydantic_function_tool(Weather)
    answer = openai_client.chat.completions.parse(
        model="m", messages=USER, tools=[tool], tool_choice="required", parallel_tool_calls=False
    )
    check(answer.choices[0].message.tool_calls[0].function.parsed_arguments)


def test_openai_responses_parse(openai_client: Any) -> None:
    check(openai_client.responses.parse(model="m", input="Hello", text_format=Weather).output_parsed)


def test_openai_responses_stream(openai_client: Any) -> None:
    with openai_client.responses.stream(model="m", input="Hello", text_format=Weather) as stream:
        for _ in stream:
            pass
        check(stream.get_final_response().output_parsed)


@pytest.fixture
def anthropic_client(url: str) -> Iterator[Any]:
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        yield client


def test_anthropic_parse(anthropic_client: Any) -> None:
    message = anthropic_client.messages.parse(model="m", max_tokens=700, messages=USER, output_format=Weather)
    check(message.parsed_output)


def test_anthropic_stream(anthropic_client: Any) -> None:
    with anthropic_client.messages.stream(
        model="m", max_tokens=700, messages=USER, output_format=Weather
    ) as stream:
        for _ in stream:
            pass
        check(stream.get_final_message().parsed_output)


@pytest.mark.parametrize("field", ["response_schema", "response_json_schema", "tool"])
@pytest.mark.parametrize("streamed", [False, True])
def test_google(url: str, field: str, streamed: bool) -> None:
    genai = pytest.importorskip("google.genai")
    schema = {"type": "object", "properties": {"city": {"enum": ["Paris", "Oslo"]}}, "required": ["city"]}
    schema["properties"]["days"] = {"type": "integer", "minimum": 1, "maximum": 9}  # type: ignore[index]
    config: dict[str, Any] = {
        "response_schema": {"response_mime_type": "application/json", "response_schema": Weather},
        "response_json_schema": {"response_mime_type": "application/json", "response_json_schema": schema},
        "tool": {
            "tools": [{"function_declarations": [{"name": "tell", "parameters_json_schema": schema}]}],
            "tool_config": {"function_calling_config": {"mode": "ANY"}},
        },
    }[field]
    client = genai.Client(api_key="none", http_options={"base_url": url})
    models = client.models
    ask = {"model": "m", "contents": "Hello", "config": config}
    answers = [*models.generate_content_stream(**ask)] if streamed else [models.generate_content(**ask)]
    parts = [part for answer in answers for part in answer.candidates[0].content.parts]
    text = "".join(part.text or "" for part in parts if not part.thought)
    calls = [part.function_call.args for part in parts if part.function_call]
    found = calls[0] if field == "tool" else json.loads(text)
    check(Weather.model_validate({"days": 1, **found}))


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
@pytest.mark.parametrize("streamed", [False, True])
def test_langchain(url: str, method: str, streamed: bool) -> None:
    langchain_openai = pytest.importorskip("langchain_openai")
    chat = langchain_openai.ChatOpenAI(model="m", base_url=f"{url}/v1", api_key="none", max_retries=0)
    structured = chat.with_structured_output(Weather, method=method)
    check(list(structured.stream("Hello"))[-1] if streamed else structured.invoke("Hello"))


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("streamed", [False, True])
def test_openai_agents(url: str, api: str, streamed: bool) -> None:
    agents = pytest.importorskip("agents")
    from openai import AsyncOpenAI

    agents.set_tracing_disabled(True)
    kind = agents.OpenAIChatCompletionsModel if api == "chat" else agents.OpenAIResponsesModel

    async def run() -> Any:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            agent = agents.Agent(name="a", model=kind("m", client), output_type=Weather)
            if not streamed:
                return (await agents.Runner.run(agent, "Hello")).final_output
            result = agents.Runner.run_streamed(agent, "Hello")
            async for _ in result.stream_events():
                pass
            return result.final_output

    check(asyncio.run(run()))


@pytest.mark.parametrize("output", ["tool", "native"])
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("streamed", [False, True])
def test_pydantic_ai(url: str, output: str, api: str, streamed: bool) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIChatModel if api == "chat" else OpenAIResponsesModel
    wrap = pydantic_ai.ToolOutput if output == "tool" else pydantic_ai.NativeOutput

    async def run() -> Any:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            model = kind("m", provider=OpenAIProvider(openai_client=client))
            agent = pydantic_ai.Agent(model, output_type=wrap(Weather), retries=0)
            if not streamed:
                return (await agent.run("Hello")).output
            async with agent.run_stream("Hello") as result:
                return await result.get_output()

    check(asyncio.run(run()))


#: Clients that want another version of `openai` than the rest, with the ways that each asks.
APART = {
    "instructor": ["TOOLS", "TOOLS_STRICT", "JSON", "JSON_SCHEMA"],
    "litellm": ["whole", "streamed"],
}


@pytest.mark.parametrize(("client", "way"), [(client, way) for client, ways in APART.items() for way in ways])
def test_clients_in_environments_of_their_own(url: str, client: str, way: str) -> None:
    """`tests/serve/clients/install.sh FOLDER` makes these; UNSPOOL_CLIENTS names the folder."""
    folder = os.environ.get("UNSPOOL_CLIENTS")
    if not folder:
        pytest.skip("UNSPOOL_CLIENTS names no folder with the clients' environments")
    command = [f"{folder}/{client}/bin/python", str(SOURCES / "structured.py"), client, way, f"{url}/v1"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    found = json.loads(run.stdout.splitlines()[-1])
    if way == "JSON":  # only the prompt names the keys, which a random model does not read
        assert isinstance(found, dict)
    else:
        check(Weather.model_validate(found))
