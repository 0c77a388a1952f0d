"""What is checked before a model is loaded, and what a model cannot read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from unspool import ArgumentError, StreamGenerator, UnknownFormatError
from unspool.__main__ import main
from unspool.serve.models.demo_model import DemoModels
from unspool.serve.models.load_checkpoint import load_checkpoint

from .conftest import TEMPLATE, TOOL, USER, Script, ScriptedModel

CHAT = {"model": "m", "messages": USER, "max_tokens": 4}


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`serve(…)` runs the command, which has to fail, and returns the lines of standard error."""

    def run(*arguments: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["unspool", "serve", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        return capsys.readouterr().err.splitlines()

    return run


@pytest.fixture(scope="module")
def bare() -> Any:
    """A tokenizer whose tokens show no format."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({"<eos>": 0, "a": 1}, unk_token="<eos>"))
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", pad_token="<eos>")


@pytest.fixture
def checkpoint(tmp_path: Path, bare: Any) -> str:
    """A folder with a tokenizer and a config. Its weights are damaged, so that loading them raises."""
    bare.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    return str(tmp_path)


@pytest.mark.parametrize("option", ["--format", "--reasoning"])
def test_an_unknown_format_ends_the_command_at_once(option: str, checkpoint: str, serve: Any) -> None:
    assert serve(checkpoint, option, "qwenn") == [
        "unspool: unknown format 'qwenn'; did you mean 'qwen' or 'qwen3' or 'qwen38'? `unspool formats` lists all"
    ]


def test_an_unknown_format_is_raised_at_construction(llama: Any, tokenizer: Any) -> None:
    with pytest.raises(UnknownFormatError, match="did you mean 'qwen'"):
        StreamGenerator(llama, tokenizer, format="qwenn")
    with pytest.raises(UnknownFormatError, match="did you mean 'qwen'"):
        StreamGenerator(llama, tokenizer, reasoning="qwenn")
    with pytest.raises(UnknownFormatError, match="did you mean 'qwen'"):
        StreamGenerator(llama, tokenizer, format="hermes").with_format("qwenn")


def test_a_template_that_shows_no_format_is_an_error_before_the_weights_load(
    checkpoint: str, tmp_path: Path
) -> None:
    template = tmp_path / "plain.jinja"
    template.write_text("{{ messages[0].content }}")
    with pytest.raises(ArgumentError, match="name its format with --format"):
        load_checkpoint(checkpoint, chat_template=str(template))


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (None, "there is no folder"),
        ([], "has no config.json"),
        (["tiny.gguf"], "has only GGUF weights; try: unspool serve FOLDER --gguf-file tiny.gguf"),
    ],
)
def test_a_wrong_path_is_one_line_with_a_hint(
    serve: Any, tmp_path: Path, files: list[str] | None, told: str
) -> None:
    folder = tmp_path / "model"
    if files is not None:
        folder.mkdir()
    for name in files or ():
        (folder / name).write_bytes(b"")
    (line,) = serve(str(folder))
    assert told.replace("FOLDER", str(folder)) in line


def plain(llama: Any, tokenizer: Any, template: str | None) -> StreamGenerator:
    """A model with another template."""
    import copy

    other = copy.deepcopy(tokenizer)
    other.chat_template = template
    return StreamGenerator(llama, other, format="hermes")


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True])
async def test_messages_need_a_template(make_client: Any, llama: Any, tokenizer: Any, stream: bool) -> None:
    client = make_client({"m": plain(llama, tokenizer, None)})
    for path, body in (
        ("/v1/chat/completions", {**CHAT, "stream": stream}),
        ("/v1/responses", {"model": "m", "input": "Hello", "stream": stream}),
        ("/v1/messages", {**CHAT, "stream": stream}),
        ("/v1/messages/count_tokens", {"model": "m", "messages": USER}),
        ("/tokenize", {"model": "m", "messages": USER}),
        ("/v1/count_tokens", {"model": "m", "conversation": USER}),
    ):
        answer = await client.post(path, json=body)
        assert answer.status_code == 400, path
        assert "has no chat template" in answer.json()["error"]["message"]
    text = await client.post("/v1/completions", json={"model": "m", "prompt": "Hello", "max_tokens": 2})
    assert text.status_code == 200


@pytest.mark.anyio
async def test_tools_that_the_template_does_not_read_are_rejected(
    make_client: Any, llama: Any, tokenizer: Any
) -> None:
    without = TEMPLATE.replace("{% if tools %}{{ tools | tojson }}{% endif %}", "")
    client = make_client({"m": plain(llama, tokenizer, without)})
    assert (await client.post("/v1/chat/completions", json=CHAT)).status_code == 200
    answer = await client.post("/v1/chat/completions", json={**CHAT, "tools": [TOOL]})
    assert answer.status_code == 400
    assert "does not read tools" in answer.json()["error"]["message"]
    assert answer.json()["error"]["param"] == "tools"


def test_a_model_without_a_template_is_warned_of(checkpoint: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", "unspool.serve")
    with pytest.raises(Exception, match=r"(?i)header|safetensors|deserializ"):  # at the weights
        load_checkpoint(checkpoint)
    assert "the model has no chat template: chat requests get 400" in caplog.text


@pytest.mark.anyio
async def test_several_greedy_answers_are_rejected_by_models_and_by_the_demo(
    make_client: Any, generator: Any
) -> None:
    texts = []
    for models in ({"hermes": generator}, DemoModels()):
        client = make_client(models)
        body = {**CHAT, "model": "hermes", "n": 2}
        text = {"model": "hermes", "prompt": "x", "max_tokens": 4, "n": 2}
        for path, asked in (("/v1/chat/completions", body), ("/v1/completions", text)):
            answer = await client.post(path, json=asked)
            assert answer.status_code == 400
            texts.append(answer.json()["error"]["message"])
        sampled = await client.post("/v1/chat/completions", json={**body, "temperature": 1.0})
        assert len(sampled.json()["choices"]) == 2
    assert set(texts) == {
        "n is 2 and decoding is greedy, so all answers would be the same; set a temperature above 0"
    }


def test_an_unknown_option_is_raised_at_the_call(llama: Any, tokenizer: Any) -> None:
    for backend, error in (("transformers", TypeError), ("native", ArgumentError)):
        made = StreamGenerator(llama, tokenizer, format="hermes", backend=backend)
        with pytest.raises(error, match="typo"):
            made.stream("Hello", typo=1)
    made.stream("Hello", max_new_tokens=2, do_sample=True, temperature=0.5).cancel()


@pytest.mark.anyio
async def test_two_limits_that_differ_are_rejected(make_client: Any) -> None:
    model = ScriptedModel(say_hi)
    client = make_client({"m": model})
    body = {**CHAT, "max_tokens": 8}
    answer = await client.post("/v1/chat/completions", json={**body, "max_completion_tokens": 9})
    assert answer.status_code == 400
    assert "'max_completion_tokens' is 9, and 'max_tokens' is 8" in answer.json()["error"]["message"]
    answer = await client.post("/v1/chat/completions", json={**body, "max_completion_tokens": 8})
    assert answer.status_code == 200
    assert model.asked[0]["sampling"].max_tokens == 8


def say_hi(script: Script) -> None:
    script.put("Hi")


@pytest.mark.anyio
async def test_errors_have_no_advice_for_python(make_client: Any, llama: Any, bare: Any) -> None:
    """Clients read them: they cannot pass keyword arguments."""
    client = make_client({"m": plain(llama, bare, "{{ messages[0].content }}").with_format("auto")})
    for body in (CHAT, {**CHAT, "n": 2}):
        answer = await client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 400
        message = answer.json()["error"]["message"]
        assert "=" not in message
        assert "unspool.formats()" not in message
