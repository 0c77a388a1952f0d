"""/tokenize and /detokenize in vLLM's shapes, /v1/models, and the API's description."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from unspool.serve.models.demo_model import DemoModels

from .conftest import TOOL, USER, Script, ScriptedModel

pytestmark = pytest.mark.anyio


def say_hi(script: Script) -> None:
    script.put("Hi")


async def test_tokenize_and_detokenize_as_vllm_has_them(make_client: Any, generator: Any) -> None:
    client = make_client({"m": generator})
    tokenizer = generator.tokenizer
    ids = tokenizer("Hello")["input_ids"]
    answer = await client.post("/tokenize", json={"model": "m", "prompt": "Hello"})
    assert answer.json() == {"count": len(ids), "max_model_len": 1024, "tokens": ids, "token_strs": None}
    body = {"prompt": "Hello", "add_special_tokens": False, "return_token_strs": True}
    answer = (await client.post("/tokenize", json=body)).json()
    assert answer["tokens"] == tokenizer("Hello", add_special_tokens=False)["input_ids"]
    assert answer["token_strs"] == tokenizer.convert_ids_to_tokens(answer["tokens"])
    back = await client.post("/detokenize", json={"model": "m", "tokens": answer["tokens"]})
    assert back.json() == {"prompt": "Hello"}
    chat = (await client.post("/tokenize", json={"messages": USER, "tools": [TOOL]})).json()
    text = (await client.post("/detokenize", json={"tokens": chat["tokens"]})).json()["prompt"]
    assert "look_up" in text
    assert text.endswith("<|im_start|>assistant\n")


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("/tokenize", {}, 422, "'prompt' is missing"),
        ("/tokenize", {"prompt": 5}, 422, "'prompt'"),
        ("/tokenize", {"prompt": "x", "nonsense": 1}, 422, "'nonsense'"),
        ("/tokenize", {"messages": USER, "chat_template": "{{ 1 }}"}, 400, "'chat_template'"),
        ("/tokenize", {"messages": USER, "add_generation_prompt": False}, 400, "'add_generation_prompt'"),
        ("/detokenize", {}, 422, "'tokens' is missing"),
        ("/detokenize", {"tokens": ["x"]}, 422, "'tokens'"),
        ("/detokenize", {"tokens": [True]}, 422, "'tokens'"),
        ("/detokenize", {"tokens": [-1]}, 400, "token id -1"),
        ("/detokenize", {"tokens": [10**30]}, 400, "token id 1"),
        ("/detokenize", {"model": "other", "tokens": [1]}, 404, "'other'"),
    ],
)
async def test_what_cannot_be_tokenized(
    make_client: Any, llama: Any, tokenizer: Any, path: str, body: Any, status: int, told: str
) -> None:
    from unspool import StreamGenerator

    client = make_client({"m": StreamGenerator(llama, tokenizer, format="hermes")}, strict_requests=True)
    answer = await client.post(path, json=body)
    assert answer.status_code == status
    assert told in answer.json()["error"]["message"]


async def test_a_model_without_a_tokenizer_cannot(make_client: Any) -> None:
    client = make_client({"m": ScriptedModel(say_hi)})
    answer = await client.post("/detokenize", json={"tokens": [1]})
    assert answer.status_code == 400
    assert "cannot detokenize" in answer.json()["error"]["message"]


async def test_the_model_has_to_be_named_among_several(make_client: Any) -> None:
    client = make_client({"m": ScriptedModel(say_hi), "o": ScriptedModel(say_hi)})
    answer = await client.post("/detokenize", json={"tokens": [1]})
    assert answer.status_code == 422
    assert "has 2 models" in answer.json()["error"]["message"]


async def test_models_say_how_long_a_prompt_may_be(make_client: Any, generator: Any) -> None:
    client = make_client({"m": generator, "s": ScriptedModel(say_hi)})
    entries = (await client.get("/v1/models")).json()["data"]
    assert {entry["id"]: entry["max_model_len"] for entry in entries} == {"m": 1024, "s": None}
    assert (await client.get("/v1/models/m")).json()["max_model_len"] == 1024


async def test_the_description_is_what_the_server_does(make_client: Any) -> None:
    """Each path with its methods; each field with its type; a field that it does not list is unknown."""
    client = make_client(DemoModels())
    described = (await client.get("/openapi.json")).json()
    assert described["openapi"] == "3.1.0"
    routes = {
        (route.path.replace("{name:path}", "{name}"), method.lower())
        for route in client.app.routes
        for method in route.methods - {"HEAD"}
        if not route.path.startswith(("/playground", "/docs", "/openapi")) and route.path != "/"
    }
    assert {(path, method) for path, item in described["paths"].items() for method in item} == routes
    for path, operations in described["paths"].items():
        if "post" not in operations:
            continue
        for schema in bodies_of(described, path):
            assert set(schema["required"]) <= set(schema["properties"])
            base = dict.fromkeys(schema["required"], 5)
            for name in schema["required"]:
                rest = {key: value for key, value in base.items() if key != name}
                answer = await client.post(path, json=rest)
                assert answer.status_code == 422
    (chat,) = bodies_of(described, "/v1/chat/completions")
    properties = chat["properties"]
    assert properties["temperature"]["anyOf"] == [{"type": "number", "minimum": 0}, {"type": "null"}]
    assert properties["stream"]["type"] == "boolean"
    options = resolved(described, properties["stream_options"]["anyOf"][0])
    assert options["properties"]["include_usage"]["type"] == "boolean"
    assert (
        properties["verbosity"]["description"] == "Accepted; changes nothing: the model has no such switch."
    )
    assert properties["modalities"]["enum"] == [["text"]]
    assert "not supported" in properties["modalities"]["description"].lower()
    assert properties["user"]["description"] == "Accepted; changes nothing."
    roles = resolved(described, properties["messages"])["items"]["discriminator"]["mapping"]
    assert set(roles) == {"system", "developer", "user", "assistant", "tool"}
    text, messages = bodies_of(described, "/tokenize")
    assert "tools" in messages["properties"]
    assert "tools" not in text["properties"]


def resolved(described: Any, schema: Any) -> Any:
    """The schema that a reference names."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return described["components"]["schemas"][name] if name else schema


def bodies_of(described: Any, path: str) -> list[Any]:
    """The schemas of a path's bodies; one of them is enough."""
    content = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    return [resolved(described, schema) for schema in content["schema"].get("anyOf", [content["schema"]])]


async def test_every_reference_of_the_description_is_there(make_client: Any) -> None:
    text = (await make_client(DemoModels()).get("/openapi.json")).text
    described = json.loads(text)
    names = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert names == set(described["components"]["schemas"])
    assert "$defs" not in text


async def test_the_page_has_every_path_and_no_script(make_client: Any) -> None:
    client = make_client(DemoModels())
    page = await client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "script" not in page.text
    assert "http://" not in page.text
    for path in (await client.get("/openapi.json")).json()["paths"]:
        assert path in page.text
