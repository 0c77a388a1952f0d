"""smolagents over chat. Its loop ends with a tool of its own, so the scripted model takes one step of it."""

from __future__ import annotations

from cases import TEXT, URL, case, get_weather
from smolagents import ActionStep, OpenAIModel, ToolCallingAgent, tool
from smolagents.models import ChatMessage

model = OpenAIModel(model_id="chat", api_base=f"{URL}/v1", api_key="none")
HELLO = [ChatMessage(role="user", content="Hello")]


@case("chat", "text", TEXT)
def text() -> object:
    return model.generate(HELLO).content


@case("chat", "streamed text", TEXT)
def streamed() -> str:
    return "".join(chunk.content or "" for chunk in model.generate_stream(HELLO))


@case("chat", "tool call", "21 degrees in Paris")
def tools() -> object:
    agent = ToolCallingAgent([tool(get_weather)], model, max_steps=1)
    agent.run("The weather in Paris?")
    return next(step.observations for step in agent.memory.steps if isinstance(step, ActionStep))


@case("chat", "streamed tool call", "21 degrees in Paris")
def streamed_tools() -> object:
    agent = ToolCallingAgent([tool(get_weather)], model, max_steps=1, stream_outputs=True)
    agent.run("The weather in Paris?")
    return next(step.observations for step in agent.memory.steps if isinstance(step, ActionStep))
