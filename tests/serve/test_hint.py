"""A server whose format reads no call says once which one would."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from unspool.streams import wrong_format

from .conftest import TOOL, USER, ScriptedModel

pytestmark = pytest.mark.anyio
CALL = "<tool_call>\n<function=f>\n<parameter=word>\na\n</parameter>\n</function>\n</tool_call>"


async def test_a_log_line_once(make_client: Any, caplog: pytest.LogCaptureFixture) -> None:
    wrong_format._logged.clear()
    tool = {"type": "function", "function": {"name": "f"}}
    client = make_client({"m": ScriptedModel(lambda script: script.put(CALL))})
    with caplog.at_level(logging.WARNING, "unspool.streams.wrong_format"):
        for stream in (False, True, False):
            body = {"model": "m", "messages": USER, "tools": [TOOL, tool], "stream": stream}
            assert (await client.post("/v1/chat/completions", json=body)).status_code == 200
        await client.post("/v1/chat/completions", json={"model": "m", "messages": USER})
    said = [record.getMessage() for record in caplog.records if record.name == "unspool.streams.wrong_format"]
    assert said == ["format 'hermes' read no call, and 'qwen3_coder' would; pass also='qwen3_coder'"]
