"""For each file here: the server's address, a tool, and `case`, which says what came of one run."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

URL = sys.argv[1]
#: What the model writes: without tools, after the tool's result, and as an object.
TEXT, END = "A short text.", "It is 21 degrees."

called: list[str] = []


def get_weather(city: str) -> str:
    """Say the weather in a city.

    Args:
        city: The city's name.
    """
    called.append(city)
    return f"21 degrees in {city}"


class Weather(BaseModel):
    """The weather."""

    city: str
    degrees: int


WEATHER = Weather(city="Paris", degrees=3)


def case(api: str, name: str, expected: Any) -> Callable[[Callable[[], Any]], None]:
    """Runs the function over an API, whose name is the model's: what it returns must be what is expected."""

    def run(function: Callable[[], Any]) -> None:
        called.clear()
        try:
            found = function()
            found = asyncio.run(found) if inspect.iscoroutine(found) else found
            fault = "" if found == expected else f"{found!r} is not {expected!r}"
            if name.endswith(("tool loop", "tool call")) and called != ["Paris"]:
                fault = f"the tool was called with {called}"
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        print("CASE", json.dumps({"api": api, "case": name, "fault": fault[:300]}), flush=True)

    return run
