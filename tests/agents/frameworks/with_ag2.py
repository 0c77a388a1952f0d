"""ag2 over chat and Responses."""

from __future__ import annotations

from typing import Any

from ag2 import Agent
from ag2.config import OpenAIConfig, OpenAIResponsesConfig
from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather

KINDS = {"chat": OpenAIConfig, "responses": OpenAIResponsesConfig}

for api, kind in KINDS.items():
    for way in ("", "streamed "):

        def make(api: str = api, kind: Any = kind, way: str = way, **options: Any) -> Agent:
            """An agent; its client belongs to the event loop of its case."""
            config = kind(api, base_url=f"{URL}/v1", api_key="none", streaming=bool(way))
            return Agent("a", config=config, **options)

        @case(api, f"{way}text", TEXT)
        async def text(make: Any = make) -> Any:
            return (await make().ask("Hello")).body

        @case(api, f"{way}tool loop", END)
        async def tools(make: Any = make) -> Any:
            return (await make(tools=[get_weather]).ask("?")).body

    @case(api, "object", WEATHER)
    async def structured(make: Any = make) -> Any:
        return await (await make(response_schema=Weather).ask("?")).content()
