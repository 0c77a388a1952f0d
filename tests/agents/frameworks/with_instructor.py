"""instructor over chat, Responses and Messages, in the modes that send a schema or a tool."""

from __future__ import annotations

from typing import Any

import instructor
from anthropic import Anthropic
from cases import URL, WEATHER, Weather, case
from instructor import Mode
from openai import OpenAI

OPENAI = OpenAI(base_url=f"{URL}/v1", api_key="none")
ANTHROPIC = Anthropic(base_url=URL, api_key="none")
HELLO: list[Any] = [{"role": "user", "content": "The weather in Paris?"}]

CLIENTS: dict[tuple[str, str], Any] = {
    ("chat", "a tool"): instructor.from_openai(OPENAI, mode=Mode.TOOLS),
    ("chat", "a strict tool"): instructor.from_openai(OPENAI, mode=Mode.TOOLS_STRICT),
    ("chat", "a schema"): instructor.from_openai(OPENAI, mode=Mode.JSON_SCHEMA),
    ("responses", "a tool"): instructor.from_openai(OPENAI, mode=Mode.RESPONSES_TOOLS),
    ("messages", "a tool"): instructor.from_anthropic(ANTHROPIC, mode=Mode.ANTHROPIC_TOOLS, max_tokens=4000),
}

for (api, mode), client in CLIENTS.items():

    @case(api, f"object by {mode}", WEATHER)
    def structured(api: str = api, client: Any = client) -> Any:
        found = client.chat.completions.create(
            model=api, messages=HELLO, response_model=Weather, max_retries=0
        )
        return Weather(**found.model_dump())


@case("chat", "object in parts", WEATHER)
def partial() -> Any:
    client = CLIENTS["chat", "a tool"]
    *_, last = client.chat.completions.create_partial(model="chat", messages=HELLO, response_model=Weather)
    return Weather(**last.model_dump())
