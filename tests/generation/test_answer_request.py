"""A request as one value: what it checks, and how the arguments of `stream` become one."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest
import torch
from unspool import AnswerRequest, ArgumentError, SamplingParams, ServedModel
from unspool.errors import UnknownOptionError
from unspool.generation.answer_request import read_answer_request
from unspool.generation.prepare_answer import Reading, parser_options, prepare_answer
from unspool.writing.grammar.response import Response


def look_up(word: str) -> None:
    """Look a word up."""


def test_stream_has_the_arguments_of_a_request() -> None:
    own, read = (
        inspect.signature(function).parameters for function in (ServedModel.stream, read_answer_request)
    )
    assert [(item.name, item.kind, item.default, item.annotation) for item in read.values()] == [
        (item.name, item.kind, item.default, item.annotation) for item in own.values() if item.name != "self"
    ]


def test_every_argument_has_one_place() -> None:
    ids = torch.tensor([[1, 2]])
    request = read_answer_request(
        input_ids=ids,
        attention_mask=torch.ones(1, 2),
        pad_token_id=torch.tensor([3]),
        max_new_tokens=5,
        repair=True,
        stop="end",
        sampling={"temperature": 0.5, "stop": ["other"]},
        choice=["a", "b"],
        stream_timeout=2.0,
    )
    assert request.model_inputs["input_ids"] is ids
    assert request.model_inputs.keys() == {"input_ids", "attention_mask"}
    assert request.parsing == {"repair": True}
    assert request.generate_options == {"pad_token_id": torch.tensor([3]), "max_new_tokens": 5}
    assert request.sampling == SamplingParams(temperature=0.5, stop="end")
    assert request.response == Response(choice=["a", "b"])
    assert request.timeout_s == 2.0
    assert read_answer_request(timeout=1.0, stream_timeout=2.0).timeout_s == 1.0


def test_a_request_converts_what_it_is_given() -> None:
    request = AnswerRequest(prompt="Hi", tools=[look_up], sampling={"n": 2})  # type: ignore[list-item, arg-type]
    assert request.tools is not None
    assert request.tools[0]["function"]["name"] == "look_up"
    assert request.sampling == SamplingParams(n=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.prompt = "Ho"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"flush_tokens": 0}, ArgumentError, "flush_tokens is 0"),
        ({"flush_ms": -1}, ArgumentError, "flush_ms is -1"),
        ({"timeout_s": -1.0}, ArgumentError, "timeout is -1"),
        ({"tools": "look_up"}, ArgumentError, "pass a list of tools"),
        ({"sampling": 3}, TypeError, "of type int"),
        ({"parsing": {"repairs": True}}, UnknownOptionError, "'repair'"),
        ({"grammar": "start: /a/", "response": Response(regex="a")}, ArgumentError, "regex and grammar are both"),
        ({"grammar": "start: /a/", "response": Response({})}, ArgumentError, "response_format and grammar are"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_refused_when_it_is_made(
    wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        AnswerRequest(**wrong)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"generate_options": {"top_a": 1}}, "no option 'top_a'"),
        ({"model_inputs": {"pixel_values": 1}}, "pixel_values is a model input"),
        ({"grammar": "start: /a/"}, "models in this process"),
    ],
)
def test_what_needs_a_model_in_this_process(given: dict[str, Any], message: str) -> None:
    AnswerRequest(prompt="Hi").check_needs_no_torch()
    with pytest.raises(ArgumentError, match=message):
        AnswerRequest(**given).check_needs_no_torch()


def test_the_requests_options_override_the_models() -> None:
    reading = Reading(format="hermes", options={"repair": True, "also": "any", "max_calls": 3})
    request = AnswerRequest(parsing={"max_calls": 7, "strict_markers": True})
    options = parser_options(request, reading, SamplingParams(stop="end", include_stop=True))
    assert (options["repair"], options["max_calls"], options["also"]) == (True, 7, "any")
    assert (options["stop"], options["include_stop"]) == (("end",), True)
    raw = parser_options(dataclasses.replace(request, raw=True), reading, SamplingParams())
    assert raw.keys().isdisjoint({"also", "strict_markers", "include_stop"})


def test_text_has_a_parser_for_each_answer() -> None:
    request = AnswerRequest(tools=[look_up], parsing={"parallel_tool_calls": False})  # type: ignore[list-item]
    answer = prepare_answer(request, Reading(format="hermes"), SamplingParams(n=2), lambda: None)
    assert answer.grammar is None
    assert len(answer.parsers) == len(answer.setups) == 2
    call = '<tool_call>\n{"name": "look_up", "arguments": {"word": "a"}}\n</tool_call>'
    for parser in answer.parsers:
        parser.parse_chunk(call * 2, None, "stop")
        assert [item.name for item in parser.message.tool_calls] == ["look_up"]
    with pytest.raises(ArgumentError, match="no grammars"):
        prepare_answer(
            dataclasses.replace(request, tool_choice="required"),
            Reading(format="hermes", syntax=None),
            SamplingParams(),
            lambda: None,
        )
