"""autogen over chat."""

from __future__ import annotations

from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather

INFO = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "structured_output": True,
    "family": "unknown",
}


def make(**options: Any) -> AssistantAgent:
    """An agent; its client belongs to the event loop of its case."""
    client = OpenAIChatCompletionClient(model="chat", base_url=f"{URL}/v1", api_key="none", model_info=INFO)
    return AssistantAgent("a", client, max_tool_iterations=5, **options)


async def last(**options: Any) -> Any:
    """What the agent says at the end."""
    result = await make(**options).run(task="The weather in Paris?")
    return result.messages[-1].content


async def streamed(**options: Any) -> str:
    agent = make(model_client_stream=True, **options)
    chunks = [item async for item in agent.run_stream(task="The weather in Paris?")]
    found = [
        chunk.content for chunk in chunks if getattr(chunk, "type", "") == "ModelClientStreamingChunkEvent"
    ]
    return "".join(found)


@case("chat", "text", TEXT)
async def text() -> Any:
    return await last()


@case("chat", "streamed text", TEXT)
async def streamed_text() -> str:
    return (await streamed()).rpartition("</think>")[2]


@case("chat", "tool loop", END)
async def tools() -> Any:
    return await last(tools=[get_weather])


@case("chat", "streamed tool loop", END)
async def streamed_tools() -> str:
    return (await streamed(tools=[get_weather])).rpartition("</think>")[2]


@case("chat", "object", WEATHER)
async def structured() -> Any:
    return await last(output_content_type=Weather)
