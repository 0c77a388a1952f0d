"""Log-probabilities over the wire, as OpenAI's client reads them: each id's once, in order, in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from unspool import SamplingParams, StreamGenerator

from .conftest import USER, running

openai = pytest.importorskip("openai")

SAMPLING: dict[str, Any] = {"temperature": 1.0, "seed": 5}
COUNT = 40


@pytest.fixture(params=["transformers", "native"])
def generator(request: pytest.FixtureRequest, llama: Any, tokenizer: Any) -> StreamGenerator:
    """Those whose scores do not depend on what else is in a step, to the last bit."""
    return StreamGenerator(llama, tokenizer, format="hermes", backend=request.param)


@pytest.fixture
def client(generator: StreamGenerator) -> Iterator[Any]:
    with (
        running({"m": generator}) as server,
        openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none") as client,
    ):
        yield client


def expected(generator: StreamGenerator, prompt: Any, top: int, n: int = 1, **options: Any) -> Any:
    """What the generator itself says of the same request."""
    sampling = SamplingParams(max_tokens=COUNT, n=n, logprobs=top, **SAMPLING)
    return generator.generate(prompt, sampling=sampling, **options).choices


def flat(entry: Any) -> tuple[Any, ...]:
    """One entry of chat or Responses, or of the generator's."""
    name = bytes(entry.token if isinstance(entry.token, bytes) else entry.bytes)
    rivals = getattr(entry, "top_logprobs", None)
    rivals = getattr(entry, "top", None) if rivals is None else rivals
    return name, pytest.approx(entry.logprob, abs=1e-6), [flat(rival)[:2] for rival in rivals or ()]


def flat_all(entries: Any) -> list[Any]:
    return [flat(entry) for entry in entries]


def check_in_time(text: str, names: list[bytes]) -> None:
    """All that the client has of the text comes from ids that it has received."""
    shown = b"".join(name for name in names if not name.startswith(b"<")).decode("utf-8", "replace")
    assert shown.startswith(text.rstrip("�"))


@pytest.mark.parametrize("n", [1, 2])
def test_chat(client: Any, generator: StreamGenerator, n: int) -> None:
    wanted = expected(generator, USER, 3, n)
    request = {
        "model": "m", "messages": USER, "max_tokens": COUNT, "n": n, "logprobs": True, "top_logprobs": 3, **SAMPLING,
    }  # fmt: skip
    whole = client.chat.completions.create(**request)
    for choice, own in zip(whole.choices, wanted, strict=True):
        assert choice.message.content == own.message.content
        assert flat_all(choice.logprobs.content) == flat_all(own.logprobs)
        assert all(len(entry.top_logprobs) == 3 for entry in choice.logprobs.content)
    entries: list[list[Any]] = [[] for _ in range(n)]
    texts = [""] * n
    for chunk in client.chat.completions.create(**request, stream=True):
        choice = chunk.choices[0]
        if choice.logprobs is not None:
            entries[choice.index] += choice.logprobs.content
        texts[choice.index] += choice.delta.content or ""
        check_in_time(texts[choice.index], [bytes(entry.bytes) for entry in entries[choice.index]])
    for index, own in enumerate(wanted):
        assert texts[index] == own.message.content
        assert flat_all(entries[index]) == flat_all(own.logprobs)
        raw = generator.tokenizer.decode(own.token_ids, skip_special_tokens=False)
        assert b"".join(bytes(entry.bytes) for entry in entries[index]).decode("utf-8", "replace") == raw


def test_chat_without_rivals(client: Any, generator: StreamGenerator) -> None:
    own = expected(generator, USER, 0)[0]
    request = {"model": "m", "messages": USER, "max_tokens": COUNT, "logprobs": True, **SAMPLING}
    choice = client.chat.completions.create(**request).choices[0]
    assert flat_all(choice.logprobs.content) == flat_all(own.logprobs)
    plain = client.chat.completions.create(**{**request, "logprobs": False}).choices[0]
    assert plain.logprobs is None
    assert plain.message == choice.message


@pytest.mark.parametrize("top", [0, 2, 20])
def test_completions(client: Any, generator: StreamGenerator, top: int) -> None:
    own = expected(generator, "abc", top, raw=True)[0]
    names = [entry.token.decode("utf-8", "replace") for entry in own.logprobs]
    request = {"model": "m", "prompt": "abc", "max_tokens": COUNT, "logprobs": top, **SAMPLING}
    whole = client.completions.create(**request).choices[0]
    assert whole.text == own.message.content
    told = [chunk.choices[0] for chunk in client.completions.create(**request, stream=True)]
    assert "".join(choice.text for choice in told) == own.message.content
    parts = [choice.logprobs for choice in told if choice.logprobs is not None]
    for tokens, values, rivals, offsets in (
        (whole.logprobs.tokens, whole.logprobs.token_logprobs, whole.logprobs.top_logprobs, whole.logprobs.text_offset),
        tuple(
            [item for part in parts for item in getattr(part, name)]
            for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")
        ),
    ):  # fmt: skip
        assert tokens == names
        assert values == pytest.approx([entry.logprob for entry in own.logprobs], abs=1e-6)
        assert offsets == [len("".join(names[:at])) for at in range(len(names))]
        for shown, entry in zip(rivals, own.logprobs, strict=True):
            assert set(shown) == {rival.token.decode("utf-8", "replace") for rival in (*entry.top, entry)}
    text, seen = "", []
    for choice in told:
        text += choice.text
        seen += [] if choice.logprobs is None else choice.logprobs.tokens
        assert len(text.rstrip("�")) <= len("".join(seen))


def test_responses(client: Any, generator: StreamGenerator) -> None:
    """Those of the text alone: the end token is in no part."""
    own = expected(generator, USER, 2)[0]
    names = [entry.token for entry in own.logprobs]
    request = {
        "model": "m", "input": USER[0]["content"], "max_output_tokens": COUNT, "temperature": 1.0,
        "include": ["message.output_text.logprobs"], "top_logprobs": 2, "extra_body": {"seed": 5},
    }  # fmt: skip
    whole = client.responses.create(**request)
    entries = [entry for item in whole.output for part in item.content for entry in part.logprobs]
    told = [bytes(entry.bytes) for entry in entries]
    assert whole.output_text == own.message.content
    assert whole.top_logprobs == 2
    shown = [flat(entry) for entry, name in zip(own.logprobs, names, strict=True) if name in told]
    assert [flat(entry) for entry in entries if bytes(entry.bytes) in names] == shown
    check_in_time(whole.output_text, told)
    deltas, text = [], ""
    for event in client.responses.create(**request, stream=True):
        if event.type == "response.output_text.delta":
            deltas += event.logprobs
            text += event.delta
            check_in_time(text, [_bytes_of(entry) for entry in deltas])
        if event.type == "response.completed":
            final = event.response
        if event.type == "response.incomplete":
            final = event.response
    assert final.output[0].content[0].logprobs == whole.output[0].content[0].logprobs
    assert [entry.logprob for entry in deltas] == [entry.logprob for entry in entries]
    plain = client.responses.create(**{**request, "include": [], "top_logprobs": None})
    assert plain.output[0].content[0].logprobs == []


def _bytes_of(entry: Any) -> bytes:
    """The client's model of a delta's entry has no bytes of its own; they are there all the same."""
    return bytes(entry.bytes)


def test_a_call_and_its_thoughts(client: Any, generator: StreamGenerator) -> None:
    """Every id's, those of markup among them; none is lost where nothing is shown."""
    written = '<tool_call>\n{"name": "look_up", "arguments": {"word": "a"}}\n</tool_call>'
    forced = iter([])

    def force(_: Any, scores: Any) -> Any:
        out = scores.new_full(scores.shape, float("-inf"))
        out[:, next(forced)] = 0.0
        return out

    begin, options = generator.begin, {"logits_processor": [force]}
    generator.begin = lambda request: begin(replace(request, generate_options=options))  # type: ignore[method-assign]
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    for choice, content in (("auto", "Wait."), ("required", "")):
        ids = generator.tokenizer.encode(content + written, add_special_tokens=False)
        forced = iter([*ids, generator.tokenizer.eos_token_id])
        entries, called = [], ""
        for chunk in client.chat.completions.create(
            model="m",
            messages=USER,
            max_tokens=200,
            logprobs=True,
            stream=True,
            tools=tools,
            tool_choice=choice,
        ):
            if chunk.choices[0].logprobs is not None:
                entries += chunk.choices[0].logprobs.content
            for call in chunk.choices[0].delta.tool_calls or ():
                called += call.function.arguments or ""
        assert called == '{"word": "a"}'
        raw = generator.tokenizer.decode([*ids, generator.tokenizer.eos_token_id])
        assert "".join(entry.token for entry in entries) == raw
        assert len(entries) == len(ids) + 1


REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("/v1/chat/completions", {"top_logprobs": 2}, 400, "'logprobs': true"),
    ("/v1/chat/completions", {"logprobs": False, "top_logprobs": 2}, 400, "'logprobs': true"),
    ("/v1/chat/completions", {"logprobs": True, "top_logprobs": 21}, 422, "at most 20"),
    ("/v1/chat/completions", {"logprobs": True, "top_logprobs": -1}, 422, "at least 0"),
    ("/v1/chat/completions", {"logprobs": 3}, 422, "true or false"),
    ("/v1/completions", {"logprobs": 21}, 422, "pass 0 to 20"),
    ("/v1/completions", {"logprobs": -1}, 422, "pass 0 to 20"),
    ("/v1/completions", {"logprobs": True}, 422, "an integer"),
    ("/v1/responses", {"top_logprobs": 2}, 400, "message.output_text.logprobs"),
    ("/v1/responses", {"include": ["file_search_call.results"]}, 400, "include"),
    ("/v1/messages", {"logprobs": True}, 422, "unknown field"),
]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": USER},
    "/v1/completions": {"prompt": "abc"},
    "/v1/responses": {"input": "abc"},
    "/v1/messages": {"messages": USER, "max_tokens": 5},
}


@pytest.mark.anyio
@pytest.mark.parametrize(("path", "fields", "status", "says"), REFUSED)
async def test_what_is_refused(
    make_client: Any, llama: Any, tokenizer: Any, path: str, fields: Any, status: int, says: str
) -> None:
    client = make_client({"m": StreamGenerator(llama, tokenizer, format="hermes")}, strict_requests=True)
    answer = await client.post(path, json={"model": "m", **BODIES[path], **fields})
    assert answer.status_code == status
    assert says in answer.json()["error"]["message"]


@pytest.mark.anyio
async def test_a_demo_has_no_probabilities(make_client: Any) -> None:
    for path, fields in (
        ("/v1/chat/completions", {"logprobs": True}),
        ("/v1/completions", {"logprobs": 0}),
        ("/v1/responses", {"include": ["message.output_text.logprobs"]}),
    ):
        answer = await make_client().post(path, json={"model": "hermes", **BODIES[path], **fields})
        assert answer.status_code == 400
        assert "no probabilities" in answer.json()["error"]["message"]
