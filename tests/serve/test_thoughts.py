"""A model's thoughts come back with the client's next request; one that was changed is not taken for ours."""

from __future__ import annotations

from typing import Any

import pytest
from unspool._core import sign_thought

from .conftest import USER, ScriptedModel, events_of

pytestmark = pytest.mark.anyio

THOUGHT = 'I should "look"\n\tat \\ é 😀 <b>, then\u2028 answer.'


@pytest.fixture
def model() -> ScriptedModel:
    def write(script: Any) -> None:
        for piece in ("<think>\n", *THOUGHT, "\n</think>\n\nHi"):
            script.put(piece)

    return ScriptedModel(write, format="qwen3")


@pytest.fixture
def client(make_client: Any, model: ScriptedModel) -> Any:
    return make_client({"m": model})


async def thinking_of(client: Any, is_streamed: bool) -> dict[str, Any]:
    """A thinking block, as a client of Messages assembles it."""
    body = {"model": "m", "messages": USER, "max_tokens": 500, "stream": is_streamed}
    answer = await client.post("/v1/messages", json=body)
    if not is_streamed:
        return answer.json()["content"][0]
    deltas = [data["delta"] for name, data in events_of(answer.text) if name == "content_block_delta"]
    return {
        "type": "thinking",
        "thinking": "".join(delta.get("thinking", "") for delta in deltas),
        "signature": "".join(delta.get("signature", "") for delta in deltas),
    }


async def item_of(client: Any, is_streamed: bool) -> dict[str, Any]:
    """A reasoning item of Responses."""
    answer = await client.post("/v1/responses", json={"model": "m", "input": "Hello", "stream": is_streamed})
    if not is_streamed:
        return answer.json()["output"][0]
    done = [data["item"] for name, data in events_of(answer.text) if name == "response.output_item.done"]
    assert done == events_of(answer.text)[-1][1]["response"]["output"]
    return done[0]


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_messages(client: Any, model: ScriptedModel, is_streamed: bool) -> None:
    block = await thinking_of(client, is_streamed)
    assert block == {"type": "thinking", "thinking": THOUGHT, "signature": sign_thought(THOUGHT)}
    trimmed = {**block, "thinking": f" {THOUGHT}\r\n"}
    changed = {**block, "thinking": THOUGHT.replace("look", "hide")}
    foreign = {**block, "thinking": "Else.", "signature": "EqQBCgIYAhIM"}
    for sent, kept in ((block, THOUGHT), (trimmed, trimmed["thinking"]), (changed, None), (foreign, "Else.")):
        history = [*USER, {"role": "assistant", "content": [sent, {"type": "text", "text": "Hi"}]}, *USER]
        answer = await client.post("/v1/messages", json={"model": "m", "messages": history, "max_tokens": 5})
        assert answer.status_code == 200
        said = "messages[1].content[0]" if kept is None else None
        assert answer.headers.get("x-unspool-ignored") == said
        assert (model.asked[-1]["prompt"][1].get("reasoning_content") or None) == kept


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_responses(client: Any, model: ScriptedModel, is_streamed: bool) -> None:
    item = await item_of(client, is_streamed)
    assert item["encrypted_content"] == sign_thought(THOUGHT)
    changed = {**item, "summary": [{"type": "summary_text", "text": "Hide."}]}
    for sent, kept in ((item, THOUGHT), (changed, None)):
        items = [*USER, sent, {"role": "assistant", "content": "Hi"}, *USER]
        answer = await client.post("/v1/responses", json={"model": "m", "input": items})
        assert answer.headers.get("x-unspool-ignored") == ("input[1]" if kept is None else None)
        assert (model.asked[-1]["prompt"][1].get("reasoning_content") or None) == kept


async def test_a_changed_thought_is_an_error_for_strict_requests(
    make_client: Any, model: ScriptedModel
) -> None:
    client = make_client({"m": model}, strict_requests=True)
    block = {"type": "thinking", "thinking": "Else.", "signature": sign_thought(THOUGHT)}
    history = [*USER, {"role": "assistant", "content": [block]}, *USER]
    answer = await client.post("/v1/messages", json={"model": "m", "messages": history, "max_tokens": 5})
    assert answer.status_code == 400
    assert "'messages[1].content[0]' is a thought that was changed" in answer.json()["error"]["message"]
