"""Requests of the Open Inference Protocol, formats by name for one request, models by a function's name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from unspool import StreamGenerator
from unspool.errors import ArgumentError
from unspool.serve.http.api_errors import ApiError
from unspool.serve.models.begin_answer import AnswerDefaults, begin_answer
from unspool.serve.models.call_factory import call_factory
from unspool.serve.models.demo_model import DemoModels
from unspool.serve.models.stream_adapter import as_served
from unspool.serve.wires.generation_request import GenerationRequest
from unspool.serve.wires.inference_request import read_inference_request
from unspool.writing.grammar.response import Response

from .conftest import TOOL, USER, ScriptedModel


def read(*inputs: tuple[str, Any], **parameters: Any) -> GenerationRequest:
    return read_inference_request("m", inputs, parameters)


@pytest.mark.parametrize(
    ("name", "data", "prompt"),
    [
        ("prompt", ["Hi"], "Hi"),
        ("prompt", [b"\xc3\x84"], "Ä"),
        ("prompt", [["Hi"]], "Hi"),
        ("prompt", "Hi", "Hi"),
        ("messages", [json.dumps(USER)], USER),
        ("messages", [json.dumps(USER).encode()], USER),
        ("messages", USER, USER),
        ("input_ids", [1, 2], [1, 2]),
        ("input_ids", [[1, 2]], [1, 2]),
    ],
)
def test_one_input_is_the_prompt(name: str, data: Any, prompt: Any) -> None:
    assert read((name, data)).prompt == prompt


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ([], "none"),
        ([("text", ["Hi"])], "'text'"),
        ([("prompt", ["a"]), ("prompt", ["b"])], "'prompt', 'prompt'"),
        ([("prompt", ["a", "b"])], "2 elements"),
        ([("prompt", [b"\xff"])], "UTF-8"),
        ([("prompt", [1])], "int"),
        ([("messages", ["["])], "JSON"),
        ([("messages", ["[" * 100_000])], "JSON"),
        ([("messages", ["{}"])], "not a list"),
        ([("messages", ["[]"])], "empty"),
        ([("input_ids", [True])], "integers"),
    ],
)
def test_what_is_no_prompt_is_refused(inputs: Any, told: str) -> None:
    with pytest.raises(ApiError, match=told) as raised:
        read(*inputs)
    assert raised.value.status == 400


def test_what_grpc_has_no_type_for_is_json() -> None:
    choice = {"type": "function", "function": {"name": "look_up"}}
    typed = read(
        ("prompt", ["x"]), temperature="0.5", tools=json.dumps([TOOL]), tool_choice=json.dumps(choice),
        stop='["a", "b"]', chat_template_kwargs='{"a": 1}', stream_timeout="2", tool_parser="hermes",
    )  # fmt: skip
    plain = read(
        ("prompt", ["x"]), temperature=0.5, tools=[TOOL], tool_choice=choice, stop=["a", "b"],
        chat_template_kwargs={"a": 1}, stream_timeout=2, tool_parser="hermes",
    )  # fmt: skip
    assert typed == plain
    assert plain.tools.choice == "look_up"
    assert plain.sampling.stop == ("a", "b")
    assert read(("prompt", ["x"]), stop="[").sampling.stop == ("[",)  # no JSON, and a text
    assert read(("prompt", ["x"]), stop="1").sampling.stop == ("1",)


def begin(model: Any, **options: Any) -> Any:
    request = GenerationRequest(protocol="open_inference", model="m", prompt="Hi", **options)
    defaults = AnswerDefaults(timeout_s=5.0, reasoning_field="reasoning")
    stream = begin_answer(as_served(model), request, defaults)
    for _ in stream:
        pass
    return stream


def test_the_answers_form_is_an_object_or_its_json() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}
    for value in (wanted, json.dumps(wanted)):
        assert read(("prompt", ["Hi"]), response_format=value).response == Response(schema)
    assert read(("prompt", ["Hi"])).response is None
    with pytest.raises(ApiError, match="response_format"):
        read(("prompt", ["Hi"]), response_format="json")


def test_another_format_for_one_request(llama: Any, tokenizer: Any) -> None:
    generator = StreamGenerator(llama, tokenizer, format="hermes", reasoning=False)
    other = generator.with_format("mistral")
    assert (other.format, other.reasoning, other.model) == ("mistral", False, llama)
    assert generator.format == "hermes"
    assert other.with_format(reasoning="qwen3").reasoning == "qwen3"
    assert (
        other.generate("Hi", max_new_tokens=3).token_ids
        == generator.generate("Hi", max_new_tokens=3).token_ids
    )
    demo = DemoModels()["hermes"]
    assert begin(demo, format="mistral").result.text
    assert demo.format_name() == "hermes"
    with pytest.raises(ArgumentError, match="as its format does"):
        begin(demo, reasoning="qwen3")


def test_a_format_that_is_not_there_is_the_clients_error() -> None:
    demo = DemoModels()["hermes"]
    for options in ({"format": "hermez"}, {"reasoning": "auto"}):
        with pytest.raises(ApiError) as raised:
            begin(demo, **options)
        assert raised.value.status == 400
    with pytest.raises(ArgumentError, match="one format"):
        begin(ScriptedModel(lambda script: script.put("x")), format="hermes")


def test_the_requests_own_patience_goes_before() -> None:
    model = ScriptedModel(lambda script: script.put("x"))
    begin(model)
    begin(model, timeout_s=1.0)
    assert [asked["timeout"] for asked in model.asked] == [5.0, 1.0]


def test_a_factory_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module may lie in a folder of its own, which is on the path for the call alone."""
    (tmp_path / "a_models_module.py").write_text(
        "class Model:\n    def stream(self): ...\ndef make():\n    return Model()\ndef seven():\n    return 7\n"
    )
    monkeypatch.delitem(sys.modules, "a_models_module", raising=False)
    path = list(sys.path)
    assert callable(call_factory("a_models_module:make", str(tmp_path)).stream)
    assert sys.path == path
    for bad, told in (
        ("a_models_module", "module:function"),
        ("a_models_module:", "module:function"),
        ("a_models_module:none", "has no none"),
        ("a_models_module:seven", "returns a int"),
    ):
        with pytest.raises(ArgumentError, match=told):
            call_factory(bad)
    del sys.modules["a_models_module"]
