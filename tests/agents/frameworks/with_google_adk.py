"""google-adk and google-genai over Google's API; google-adk over chat, by litellm."""

from __future__ import annotations

import os
from typing import Any

from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather

os.environ.update(GOOGLE_GEMINI_BASE_URL=URL, GOOGLE_API_KEY="none")
from google import genai
from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.google_llm import Gemini
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, GenerateContentConfig, Part

MODELS: dict[str, Any] = {
    "google": Gemini(model="google"),
    "chat": LiteLlm("openai/chat", api_base=f"{URL}/v1", api_key="none"),
}


async def run(model: Any, streamed: bool = False, **options: Any) -> str:
    """The last text; streamed, the joined parts of it."""
    runner = InMemoryRunner(Agent(name="a", model=model, **options), app_name="a")
    session = await runner.session_service.create_session(app_name="a", user_id="u")
    config = RunConfig(streaming_mode=StreamingMode.SSE if streamed else StreamingMode.NONE)
    told = {"user_id": "u", "session_id": session.id, "run_config": config}
    message = Content(role="user", parts=[Part(text="The weather in Paris?")])
    events = [event async for event in runner.run_async(new_message=message, **told)]
    chosen = [event for event in events if event.content and bool(event.partial) == streamed]
    parts = [part for event in chosen for part in event.content.parts or ()]
    return "".join(part.text for part in parts if part.text and not part.thought)


for api, model in MODELS.items():

    @case(api, "text", TEXT)
    async def text(model: Any = model) -> str:
        return await run(model)

    @case(api, "streamed text", TEXT)
    async def streamed_text(model: Any = model) -> str:
        return await run(model, streamed=True)

    @case(api, "tool loop", END)
    async def tools(model: Any = model) -> str:
        return await run(model, tools=[get_weather])

    @case(api, "streamed tool loop", END)
    async def streamed_tools(model: Any = model) -> str:
        return await run(model, streamed=True, tools=[get_weather])

    @case(api, "object", WEATHER)
    async def structured(model: Any = model) -> Any:
        return Weather.model_validate_json(await run(model, output_schema=Weather))


client = genai.Client()


@case("google", "genai: text", TEXT)
def genai_text() -> Any:
    return client.models.generate_content(model="google", contents="Hello").text


@case("google", "genai: streamed text", TEXT)
def genai_streamed() -> str:
    stream = client.models.generate_content_stream(model="google", contents="Hello")
    return "".join(chunk.text or "" for chunk in stream)


@case("google", "genai: tool loop", END)
def genai_tools() -> Any:
    config = GenerateContentConfig(tools=[get_weather])
    return client.models.generate_content(model="google", contents="?", config=config).text


@case("google", "genai: object", WEATHER)
def genai_structured() -> Any:
    config = GenerateContentConfig(response_mime_type="application/json", response_schema=Weather)
    return client.models.generate_content(model="google", contents="?", config=config).parsed


@case("google", "genai: count", True)
def genai_count() -> bool:
    return bool(client.models.count_tokens(model="google", contents="Hello").total_tokens)
