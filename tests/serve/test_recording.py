"""`serve --record`: what is kept of an answer, what is not, and that it never stands in an answer's way."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from unspool import ArgumentError
from unspool.serve import ServeOptions
from unspool.streams.recording.replay import load_record, replay

from .conftest import TOOL, Script, ScriptedModel
from .test_streaming import STREAMS

pytestmark = pytest.mark.anyio

SECRET = "sesame opens"
GOOGLE = ("/v1beta/models/m:streamGenerateContent", {"contents": [{"parts": [{"text": "Hello"}]}]})


def calls(script: Script) -> None:
    for text in ("Hi <tool_", 'call>\n{"name": "look_up", "arg', 'uments": {"word": "a"}}\n</tool_call>'):
        script.put(text)


def records_of(client: Any, folder: Path) -> list[Path]:
    client.app.state.server.recorder.close()
    return sorted(folder.iterdir())


@pytest.mark.parametrize(("path", "body"), [*STREAMS.items(), GOOGLE])
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_is_recorded_without_what_its_user_wrote(
    make_client: Any, tmp_path: Path, path: str, body: Any, stream: bool
) -> None:
    client = make_client({"m": ScriptedModel(calls)}, record=str(tmp_path), api_keys=("key-1",))
    secret: dict[str, Any] = {
        "messages": [{"role": "user", "content": SECRET}], "prompt": SECRET, "input": SECRET,
        "contents": [{"parts": [{"text": SECRET}]}],
    }  # fmt: skip
    request = {name: secret.get(name, value) for name, value in body.items()} | {"stream": stream}
    if "contents" in request:
        del request["stream"]
        path = path if stream else "/v1beta/models/m:generateContent"
    if path == "/v1/responses":
        request |= {"instructions": SECRET, "metadata": {"a": SECRET}}
    headers = {"authorization": "Bearer key-1", "x-request-id": "../../etc"}
    answer = await client.post(path, json=request, headers=headers)
    assert answer.status_code == 200
    (file,) = records_of(client, tmp_path)
    assert file.name.endswith("-etc.json")
    text = file.read_text()
    assert SECRET not in text
    assert "key-1" not in text
    record = json.loads(text)
    assert (record["path"], record["status"]) == (path, 200)
    assert record["request"].get("model", "m") == "m"
    sent = "\n".join(record["sent"])
    assert ("instructions" in answer.text) == ("instructions" in sent)
    assert sent if path == "/v1/responses" else "".join(answer.text.split()) == "".join(sent.split())
    (again,) = map(replay, load_record(file))
    assert again.differences == {}
    assert again.recorded["content"].startswith("Hi")


async def test_texts_are_recorded_on_demand(make_client: Any, tmp_path: Path) -> None:
    client = make_client({"m": ScriptedModel(calls)}, record=str(tmp_path), record_texts=True)
    body = {"model": "m", "messages": [{"role": "user", "content": SECRET}], "tools": [TOOL]}
    await client.post("/v1/chat/completions", json=body)
    (file,) = records_of(client, tmp_path)
    assert json.loads(file.read_text())["request"] == body


async def test_a_models_ids_are_recorded_and_read_again(
    make_client: Any, tmp_path: Path, generator: Any
) -> None:
    client = make_client({"m": generator}, record=str(tmp_path))
    body = {"model": "m", "messages": [{"role": "user", "content": SECRET}], "max_tokens": 30, "n": 2}
    for fields in ({"temperature": 1.0, "seed": 4, "tools": [TOOL]}, {"temperature": 2.0, "stream": True}):
        assert (await client.post("/v1/chat/completions", json={**body, **fields})).status_code == 200
    files = records_of(client, tmp_path)
    assert len(files) == 2
    for file in files:
        assert SECRET not in file.read_text()
        answers = load_record(file)
        assert len(answers) == 2
        for answer in answers:
            assert answer["prompt"] == "<|im_start|>assistant\n"
            assert len(answer["tokens"]) <= 30
            assert all(token.partition(" ")[0].isdecimal() for token in answer["tokens"])
            assert replay(answer).differences == {}


async def test_an_answer_that_breaks_off_is_recorded_as_far_as_it_came(
    make_client: Any, tmp_path: Path
) -> None:
    def fails(script: Script) -> None:
        script.put("Some <tool_")
        raise RuntimeError("the card has melted")

    client = make_client({"m": ScriptedModel(fails)}, record=str(tmp_path))
    await client.post("/v1/chat/completions", json=STREAMS["/v1/chat/completions"])
    (file,) = records_of(client, tmp_path)
    (again,) = map(replay, load_record(file))
    assert again.recorded["finish_reason"] is None
    assert (again.differences, again.input) == ({}, "Some <tool_")


async def test_a_full_disk_is_logged_once_and_disturbs_no_answer(
    make_client: Any, tmp_path: Path, caplog: Any, monkeypatch: Any
) -> None:
    client = make_client({"m": ScriptedModel(calls)}, record=str(tmp_path))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fdopen", full)
    with caplog.at_level(logging.WARNING, "unspool"):
        for _ in range(3):
            answer = await client.post("/v1/chat/completions", json=STREAMS["/v1/chat/completions"])
            assert answer.status_code == 200
        assert records_of(client, tmp_path) == []
    assert [line for line in caplog.messages if "No space left" in line] == [caplog.messages[0]]


def test_a_folder_that_cannot_be_made_is_refused_at_the_start(make_client: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="cannot record"):
        make_client({}, record=str(tmp_path / "file" / "records"))
    with pytest.raises(ArgumentError, match="1 MB"):
        make_client({}, record=str(tmp_path), record_mb=0.5)
    assert ServeOptions().record is None
