"""Responses as agents use it: what is stored, what continues, tools of a namespace."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import USER, ScriptedModel, events_of

pytestmark = pytest.mark.anyio

PATH = "/v1/responses"
CALL = '<tool_call>\n{"name": "%s", "arguments": {"a": 1}}\n</tool_call>'


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(lambda script: script.put("Hi"))


@pytest.fixture
def client(make_client: Any, model: ScriptedModel) -> Any:
    return make_client({"m": model}, response_store_mb=1)


async def ask(client: Any, **fields: Any) -> dict[str, Any]:
    answer = await client.post(PATH, json={"model": "m", "input": "Hello", **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = (
        events_of(answer.text)[-1][1]["response"] if fields.get("stream") else answer.json()
    )
    return found


@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_is_continued_read_and_deleted(
    client: Any, model: ScriptedModel, stream: bool
) -> None:
    first = await ask(client, stream=stream, instructions="Be brief.")
    second = await ask(client, stream=stream, previous_response_id=first["id"], input="And?")
    third = await ask(client, stream=stream, previous_response_id=second["id"], input="So?")
    said = [("user", "Hello"), ("assistant", "Hi"), ("user", "And?"), ("assistant", "Hi"), ("user", "So?")]
    assert [(message["role"], message["content"]) for message in model.asked[2]["prompt"]] == said
    assert (third["previous_response_id"], third["store"]) == (second["id"], True)
    assert (await client.get(f"{PATH}/{second['id']}")).json() == second
    items = (await client.get(f"{PATH}/{second['id']}/input_items")).json()
    assert [item["content"] for item in items["data"]] == [[{"type": "input_text", "text": "And?"}]]
    deleted = await client.delete(f"{PATH}/{second['id']}")
    assert deleted.json() == {"id": second["id"], "object": "response", "deleted": True}
    for id in (second["id"], third["id"]):  # the third continues what is no longer there
        answer = await client.post(PATH, json={"model": "m", "input": "x", "previous_response_id": id})
        assert answer.status_code == 404
        assert second["id"] in answer.json()["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_whose_text_looks_like_an_event(make_client: Any, stream: bool) -> None:
    text = 'event: x\ndata: {"a": 1}\n\ndata: '
    client = make_client({"m": ScriptedModel(lambda script: script.put(text))}, response_store_mb=1)
    made = await ask(client, stream=stream)
    assert (await client.get(f"{PATH}/{made['id']}")).json() == made
    assert made["output"][0]["content"][0]["text"] == text


async def test_nothing_is_kept_unless_it_is_wanted(
    make_client: Any, client: Any, model: ScriptedModel
) -> None:
    unwanted = await ask(client, store=False)
    assert unwanted["store"] is False
    assert (await client.get(f"{PATH}/{unwanted['id']}")).status_code == 404
    off = make_client({"m": model})
    made = await ask(off)
    assert made["store"] is False
    for answer in (
        await off.get(f"{PATH}/{made['id']}"),
        await off.post(PATH, json={"model": "m", "input": "x", "previous_response_id": made["id"]}),
    ):
        assert answer.status_code == 404
        assert "--response-store-mb" in answer.json()["error"]["message"]


async def test_the_store_is_bounded(make_client: Any, model: ScriptedModel) -> None:
    client = make_client({"m": model}, response_store_mb=0.1)
    first = await ask(client)
    made = []
    for _ in range(20):
        made.append(await ask(client, input="x" * 20_000))
        assert (await client.get(f"{PATH}/{first['id']}")).status_code == 200  # it is used
    found = [(await client.get(f"{PATH}/{one['id']}")).status_code for one in made]
    assert found == [404] * found.count(404) + [200] * found.count(200)
    assert 1 <= found.count(200) <= 5
    store = client.app.state.server.responses
    assert store._size <= 0.1 * 1024 * 1024
    assert store._size == sum(kept.size for kept in store._kept.values())


async def test_age(make_client: Any, model: ScriptedModel) -> None:
    client = make_client({"m": model}, response_store_mb=1, response_store_age_s=1e-9)
    assert (await client.get(f"{PATH}/{(await ask(client))['id']}")).status_code == 404


async def test_a_response_is_seen_with_its_own_key_only(make_client: Any, model: ScriptedModel) -> None:
    client = make_client({"m": model}, response_store_mb=1, api_keys=["one", "two"])
    headers = {key: {"Authorization": f"Bearer {key}"} for key in ("one", "two")}
    made = (await client.post(PATH, json={"model": "m", "input": "x"}, headers=headers["one"])).json()
    for key, status in (("one", 200), ("two", 404)):
        assert (await client.get(f"{PATH}/{made['id']}", headers=headers[key])).status_code == status


async def test_an_item_is_named_by_its_id(client: Any, model: ScriptedModel) -> None:
    made = await ask(client)
    reference = {"type": "item_reference", "id": made["output"][0]["id"]}
    await ask(client, input=[*USER, reference, *USER])
    assert [message["content"] for message in model.asked[1]["prompt"]] == ["Hello", "Hi", "Hello"]
    answer = await client.post(PATH, json={"model": "m", "input": [{**reference, "id": "msg_none_0"}]})
    assert answer.status_code == 404


async def test_pages_of_input_items(client: Any) -> None:
    items = [{"role": "user", "content": str(index)} for index in range(5)]
    path = f"{PATH}/{(await ask(client, input=items))['id']}/input_items"
    page = (await client.get(path, params={"limit": 2})).json()
    assert ([item["content"][0]["text"] for item in page["data"]], page["has_more"]) == (["4", "3"], True)
    page = (await client.get(path, params={"limit": 3, "after": page["last_id"], "order": "desc"})).json()
    assert ([item["content"][0]["text"] for item in page["data"]], page["has_more"]) == (
        ["2", "1", "0"],
        False,
    )
    assert (await client.get(path, params={"limit": 0})).status_code == 422


SPACES = [
    {"type": "namespace", "name": "agents", "description": "Of agents.", "tools": [
        {"type": "function", "name": "wait", "parameters": {"type": "object"}},
        {"type": "function", "name": "run", "parameters": {"type": "object"}}]},
    {"type": "function", "name": "run", "parameters": {"type": "object"}},
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("shown", "said"),
    [("wait", ("agents", "wait")), ("agents__run", ("agents", "run")), ("run", (None, "run"))],
)
async def test_a_call_has_its_namespace(
    make_client: Any, shown: str, said: tuple[str | None, str], stream: bool
) -> None:
    model = ScriptedModel(lambda script: script.put(CALL % shown))
    client = make_client({"m": model})
    (item,) = (await ask(client, tools=SPACES, stream=stream))["output"]
    assert [tool["function"]["name"] for tool in model.asked[0]["tools"]] == ["wait", "agents__run", "run"]
    assert (item.get("namespace"), item["name"], item["arguments"]) == (*said, '{"a": 1}')
    output = {"type": "function_call_output", "call_id": item["call_id"], "output": "done"}
    await ask(client, tools=SPACES, input=[*USER, item, output])
    assert model.asked[1]["prompt"][1]["tool_calls"][0]["function"]["name"] == shown
    choice = {"type": "function", "name": said[1]} | ({"namespace": said[0]} if said[0] else {})
    await client.post(PATH, json={"model": "m", "input": "x", "tools": SPACES, "tool_choice": choice})
    assert model.asked[2]["tool_choice"] == shown
