"""openai-agents over chat and Responses."""

from __future__ import annotations

from typing import Any

from agents import (
    Agent,
    Model,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather
from openai import AsyncOpenAI

set_tracing_disabled(True)
weather = function_tool(get_weather)


def model_of(api: str) -> Model:
    client = AsyncOpenAI(base_url=f"{URL}/v1", api_key="none")
    kind = OpenAIChatCompletionsModel if api == "chat" else OpenAIResponsesModel
    return kind(api, client)


async def streamed(agent: Agent) -> str:
    run = Runner.run_streamed(agent, "The weather in Paris?")
    events = [event.data async for event in run.stream_events() if event.type == "raw_response_event"]
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


for api in ("chat", "responses"):

    @case(api, "text", TEXT)
    async def text(api: str = api) -> Any:
        return (await Runner.run(Agent("A", model=model_of(api)), "Hello")).final_output

    @case(api, "streamed text", TEXT)
    async def streamed_text(api: str = api) -> str:
        return await streamed(Agent("A", model=model_of(api)))

    @case(api, "tool loop", END)
    async def tools(api: str = api) -> Any:
        return (await Runner.run(Agent("A", model=model_of(api), tools=[weather]), "?")).final_output

    @case(api, "streamed tool loop", END)
    async def streamed_tools(api: str = api) -> str:
        return await streamed(Agent("A", model=model_of(api), tools=[weather]))

    @case(api, "object", WEATHER)
    async def structured(api: str = api) -> Any:
        return (await Runner.run(Agent("A", model=model_of(api), output_type=Weather), "?")).final_output
