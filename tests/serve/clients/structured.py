"""What clients make of a request for an object: structured.py CLIENT WAY URL. Runs where only the client is installed."""

from __future__ import annotations

import json
import sys
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MESSAGES: list[Any] = [{"role": "user", "content": "Hello"}]


class Weather(BaseModel):
    """The weather of a city."""

    model_config = ConfigDict(extra="forbid")

    city: Literal["Paris", "Oslo"]
    days: int = Field(ge=1, le=9)


class Anything(BaseModel):
    """Any object."""

    model_config = ConfigDict(extra="allow")


def instructor(mode: str, url: str) -> Any:
    """The object that `instructor` makes in one of its modes."""
    import instructor
    import openai

    plain = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    client = instructor.from_openai(plain, mode=instructor.Mode[mode])
    wanted = Anything if mode == "JSON" else Weather
    found = client.chat.completions.create(model="m", messages=MESSAGES, response_model=wanted, max_retries=0)
    return found.model_dump()


def litellm(way: str, url: str) -> Any:
    """The object in the text of `litellm`'s answer."""
    import litellm

    answer: Any = litellm.completion(
        "openai/m", messages=MESSAGES, api_base=url, api_key="none", response_format=Weather,
        stream=way == "streamed", num_retries=0,
    )  # fmt: skip
    if way == "streamed":
        return json.loads("".join(chunk.choices[0].delta.content or "" for chunk in answer))
    return json.loads(answer.choices[0].message.content)


if __name__ == "__main__":
    name, way, url = sys.argv[1:]
    print(json.dumps({"instructor": instructor, "litellm": litellm}[name](way, url)))
