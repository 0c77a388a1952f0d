"""The playground's endpoint reports of every step what the parser reports."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import unspool
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from unspool.__main__ import cli
from unspool.serve.playground import create_playground_app
from unspool.serve.playground.run import MAX_STEPS, run
from unspool.serve.playground.run_request import MAX_TEXT_BYTES, read_request
from unspool.streams.tracing.held import why_held
from unspool.testing.cases import Case, shipped_cases

FORMATS = [file.name for file in unspool.formats()]
APP = create_playground_app()
CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'


def send(method: str, path: str, **options: Any) -> httpx.Response:
    async def talk() -> httpx.Response:
        transport = httpx.ASGITransport(app=APP)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, **options)

    return asyncio.run(talk())


def ask(**fields: Any) -> httpx.Response:
    return send("POST", "/playground/run", json=fields)


def refusal(**fields: Any) -> tuple[int, dict[str, Any]]:
    response = ask(**fields)
    return response.status_code, response.json()["error"]


def request_of(case: Case, chunk: int | str) -> dict[str, Any]:
    return {
        "format": case.format,
        "text": case.input,
        "tools": None if case.tools is None else list(case.tools),
        "options": case.options,
        "finish_reason": case.finish_reason,
        "chunk": chunk,
    }


def accumulated(steps: list[dict[str, Any]]) -> dict[str, Any]:
    content, reasoning, calls = "", "", []
    for delta in (delta for step in steps for delta in step["deltas"]):
        match delta["kind"]:
            case "content":
                content += delta["text"]
            case "malformed" if delta["is_content"]:
                content += delta["text"]
            case "reasoning":
                reasoning += delta["text"]
            case "tool_call_begin":
                calls.append([delta["name"], ""])
            case "tool_call_arguments":
                calls[delta["index"]][1] += delta["text"]
    return {"content": content, "reasoning": reasoning, "calls": calls}


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
def test_the_steps_add_up_to_the_message_of_one_shot(format: str) -> None:
    for number, case in enumerate(shipped_cases(format)):
        whole = unspool.parse(
            case.input, case.format, case.tools, finish_reason=case.finish_reason, **case.options
        )
        for chunk in ("tokens", 1, "bytes")[: 3 if number < 4 else 1]:
            answer = run(read_request(json.dumps(request_of(case, chunk)).encode()))
            steps, message = answer["steps"], answer["message"]
            assert accumulated(steps) == {
                "content": whole.content,
                "reasoning": whole.reasoning,
                "calls": [[call.name, call.arguments] for call in whole.tool_calls],
            }, case.name
            assert message["wire"]["finish_reason"] == whole.finish_reason == message["finish_reason"]
            assert [call["status"] for call in message["calls"]] == [call.status for call in whole.tool_calls]
            assert [item["text"] for item in message["malformed"]] == [item.text for item in whole.malformed]
            if chunk != "bytes":
                assert "".join(step["piece"] for step in steps) == case.input


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
def test_regions_are_the_text_and_steps_only_go_on(format: str) -> None:
    for case in shipped_cases(format):
        answer = run(read_request(json.dumps(request_of(case, "tokens")).encode()))
        units = len(case.input.encode("utf-16-le")) // 2
        assert "".join(region["text"] for region in answer["regions"]) == case.input
        emitted = [step["emitted"] for step in answer["steps"]]
        ends = [step["end"] for step in answer["steps"]]
        assert emitted == sorted(emitted)
        assert ends == sorted(ends)
        assert emitted[-1] == ends[-1] == units
        for step in answer["steps"]:
            assert step["emitted"] <= step["end"]
            assert (step["held"] is None) or step["held"]["why"]
        named = "".join(region["text"] for region in answer["regions"] if region["kind"] == "name")
        # A call that only the end of the output decides has no place of its own.
        late = json.dumps(answer["steps"][-1])
        for name, _, _ in case.calls:
            assert name in named or name not in case.input or f'"{name}"' in late, case.name


def test_regions_separate_names_and_arguments_from_what_is_around_them() -> None:
    text = f"<think>\nhm</think>Hi{CALL}"
    answer = ask(format="qwen3", text=text).json()
    assert [(region["kind"], region["text"]) for region in answer["regions"]] == [
        ("marker", "<think>"),
        ("whitespace", "\n"),
        ("reasoning", "hm"),
        ("marker", "</think>"),
        ("content", "Hi"),
        ("marker", "<tool_call>"),
        ("call", '{"name": "'),
        ("name", "f"),
        ("call", '", "arguments": '),
        ("arguments", '{"a": 1}'),
        ("call", "}"),
        ("marker", "</tool_call>"),
    ]


def test_a_step_says_what_is_held_and_why() -> None:
    steps = ask(format="hermes", text=f"é<b>{CALL}", chunk="bytes").json()["steps"]
    assert steps[0]["held"] == {
        "text": "\\xc3",
        "bytes": 1,
        "reason": "character",
        "why": "an unfinished character",
    }
    assert (steps[0]["piece"], steps[0]["end"], steps[0]["emitted"]) == ("\\xc3", 0, 0)
    assert (steps[1]["held"], steps[1]["end"], steps[1]["emitted"]) == (None, 1, 1)
    assert steps[2]["held"]["why"].startswith("may be the start of")
    assert "<tool_call>" in steps[2]["held"]["why"]
    assert steps[3]["deltas"] == [
        {"kind": "content", "text": "<b", "is_content": True, "wire": {"content": "<b"}}
    ]
    assert steps[20]["held"]["why"] == "a call whose name is not complete"
    assert steps[-1]["deltas"][-1] == {
        "kind": "finish",
        "text": "",
        "is_content": False,
        "wire": None,
        "finish_reason": "tool_calls",
    }


def test_why_names_the_markers() -> None:
    assert why_held("none", []) == ""
    assert why_held("marker", []) == "may be the start of a marker"
    assert (
        why_held("marker", ["\n<tool_call>", "<tool_call>"]) == "may be the start of the marker <tool_call>"
    )
    many = why_held("marker", [f"<{letter}>" for letter in "abcdefgh"])
    assert many.endswith("<a>  <b>  <c>  <d>  <e>  <f>  and 2 more")


def test_what_is_malformed_is_reported() -> None:
    answer = ask(format="hermes", text="<tool_call>{oops</tool_call>").json()
    (item,) = answer["message"]["malformed"]
    assert (item["text"], item["index"]) == ("<tool_call>{oops</tool_call>", None)
    assert [region["kind"] for region in answer["regions"]] == ["malformed"]


def test_options_reach_the_parser() -> None:
    text = "<tool_call>{'name': 'f', 'arguments': {}}</tool_call>" + CALL
    options = {"repair": True, "parallel_tool_calls": False, "reasoning_field": None}
    message = ask(format="hermes", text=text, options=options).json()["message"]
    assert [call["repairs"] for call in message["calls"]] == [["single quotes"]]
    assert [item["text"] for item in message["dropped"]] == [CALL]
    answer = ask(format="hermes", text=CALL, tools='[{"name": "g"}]', options={"unknown_tools": "content"})
    assert answer.json()["message"]["content"] == CALL


@pytest.mark.parametrize("also", ["hermes", ["mistral", "hermes"], "any"])
def test_calls_of_other_families_are_shown_with_their_format(also: Any) -> None:
    answer = ask(format="mistral", text=f"Hi {CALL}", tools='[{"name": "f"}]', options={"also": also})
    (call,) = answer.json()["message"]["calls"]
    assert (call["name"], call["written_as"]) == ("f", "hermes")


@pytest.mark.parametrize(("format", "hint"), [("mistral", "hermes"), ("hermes", None)])
def test_a_wrong_format_is_shown_with_a_hint(format: str, hint: str | None) -> None:
    message = ask(format=format, text=f"Hi {CALL}", tools='[{"name": "f"}]').json()["message"]
    assert message["hint"] == hint


def test_two_runs_give_the_same_ids() -> None:
    first, second = (ask(format="hermes", text=CALL).json() for _ in range(2))
    assert first == second
    assert first["message"]["calls"][0]["id"].startswith("call_")


@pytest.mark.parametrize(
    ("fields", "status", "where", "message"),
    [
        ({"text": "a"}, 422, "format", "must be a name"),
        ({"format": "nosuch", "text": "a"}, 422, "format", "nosuch"),
        ({"format": "hf", "text": "a"}, 422, "format", "hf"),
        ({"format": "hermes"}, 422, "text", "missing"),
        ({"format": "hermes", "text": 5}, 422, "text", "not a string"),
        ({"format": "hermes", "text": "a" * (MAX_TEXT_BYTES + 1)}, 413, "text", "200,000"),
        ({"format": "hermes", "text": "é" * 100_001}, 413, "text", "200,002 bytes"),
        ({"format": "hermes", "text": "a" * (MAX_STEPS + 1)}, 413, "chunk", "larger chunks"),
        ({"format": "hermes", "text": "a", "chunk": 0}, 422, "chunk", "above 0"),
        ({"format": "hermes", "text": "a", "chunk": True}, 422, "chunk", "above 0"),
        ({"format": "hermes", "text": "a", "chunk": "words"}, 422, "chunk", "tokens"),
        ({"format": "hermes", "text": "a", "color": 1}, 422, "color", "no field"),
        ({"format": "hermes", "text": "a", "tools": {"name": "f"}}, 422, "tools", "must be a list"),
        ({"format": "hermes", "text": "a", "tools": [5]}, 422, "tools", "tools[0]"),
        ({"format": "hermes", "text": "a", "tools": [{"function": 5}]}, 422, "tools", "pass a dict"),
        ({"format": "hermes", "text": "a", "tools": [{"name": "f", "parameters": "{"}]}, 422, "tools", "not valid JSON"),
        ({"format": "hermes", "text": "a", "options": []}, 200, "", ""),
        ({"format": "hermes", "text": "a", "options": [1]}, 422, "options", "object"),
        ({"format": "hermes", "text": "a", "options": {"trust": "id"}}, 422, "options.trust", "no option"),
        ({"format": "hermes", "text": "a", "options": {"repair": 1}}, 422, "options.repair", "true or false"),
        ({"format": "hermes", "text": "a", "options": {"start_in": "x"}}, 422, "options.start_in", "auto"),
        ({"format": "hermes", "text": "a", "options": {"start_in": []}}, 422, "options.start_in", "auto"),
        ({"format": "hermes", "text": "a", "options": {"reasoning": "nosuch"}}, 422, "options", "nosuch"),
        ({"format": "hermes", "text": "a", "tools": [{"name": "f"}], "options": {"tool_choice": "g"}},
         422, "options", "tool_choice is 'g'"),
        ({"format": "hermes", "text": "a", "finish_reason": "tired"}, 422, "finish_reason", "stop, length"),
    ],
)  # fmt: skip
def test_a_bad_request_says_what_is_wrong_and_where(
    fields: dict[str, Any], status: int, where: str, message: str
) -> None:
    response = ask(**fields)
    assert response.status_code == status
    if status != 200:
        error = response.json()["error"]
        assert error["where"] == where
        assert message in error["message"]


def test_bad_json_says_its_line_and_column() -> None:
    status, error = refusal(format="hermes", text="a", tools='[\n  {"name": f}\n]')
    assert status == 422
    assert (error["where"], error["line"], error["column"]) == ("tools", 2, 12)
    response = send("POST", "/playground/run", content=b"{\n,", headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert response.json()["error"]["line"] == 2


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"format": "hermes", "text": "a"}', "text/plain", 415),
        (b'{"format": "hermes", "text": "a"}', "application/json; charset=utf-8", 200),
        (b'{"format": "hermes", "text": "\\ud83d"}', "application/json", 422),
        (b"\xff\xfe", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b" " * 2_000_001, "application/json", 413),
        (b"[]", "application/json", 422),
        (b"", "application/json", 400),
    ],
)
def test_a_body_that_is_no_request(content: bytes, kind: str, status: int) -> None:
    response = send("POST", "/playground/run", content=content, headers={"Content-Type": kind})
    assert response.status_code == status
    assert ("error" in response.json()) == (status != 200)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
tool_like = st.lists(
    st.fixed_dictionaries(
        {"name": st.text(min_size=1, max_size=4)},
        optional={"function": json_values, "parameters": json_values},
    )
)
option_like = st.dictionaries(
    st.sampled_from(["repair", "prompt", "reasoning", "tool_choice", "start_in", "unknown_tools"]),
    json_values,
)


@given(
    text=st.text(alphabet='<tool_call>{"name": 1}/é🎉\n', max_size=80),
    format=st.sampled_from(FORMATS),
    tools=st.none() | tool_like | json_values,
    options=option_like,
    chunk=st.sampled_from([1, 3, "tokens", "bytes"]),
)
def test_any_request_is_answered_or_refused(
    text: str, format: str, tools: Any, options: Any, chunk: Any
) -> None:
    body = {"format": format, "text": text, "tools": tools, "options": options, "chunk": chunk}
    response = ask(**body)
    assert response.status_code in (200, 422)
    if response.status_code == 200:
        assert "".join(region["text"] for region in response.json()["regions"]) == text
    else:
        assert response.json()["error"]["where"].split(".")[0] in body


def test_a_long_text_is_read_in_time() -> None:
    text = '<tool_call>{"name": "f", "arguments": {"a": "' + "x" * 190_000 + '"}}</tool_call>'
    answer = ask(format="hermes", text=text, chunk=100).json()
    assert len(answer["steps"]) > 1_900
    assert answer["message"]["calls"][0]["status"] == "complete"
    nested = ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="f">]<]minimax[>[<a>' + "x" * 100_000
    steps = ask(format="minimax_m3", text=nested, tools=[{"name": "f"}], chunk=50).json()["steps"]
    assert max(len(step["held"]["text"]) for step in steps if step["held"]) <= 401


def test_formats_and_examples_are_whole() -> None:
    formats = send("GET", "/playground/formats").json()["formats"]
    assert sorted(item["name"] for item in formats) == sorted(FORMATS)
    groups = [item["group"] for item in formats]
    assert len(set(groups)) == sum(a != b for a, b in zip(groups, [None, *groups], strict=False)), (
        "in one piece"
    )
    examples = send("GET", "/playground/examples/hermes").json()["examples"]
    assert [item["name"] for item in examples] == [case.name for case in shipped_cases("hermes")]
    assert send("GET", "/playground/examples/nosuch").status_code == 404


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
def test_every_example_is_a_request(format: str) -> None:
    examples = send("GET", f"/playground/examples/{format}").json()["examples"]
    for case, example in zip(shipped_cases(format), examples, strict=True):
        assert example.pop("name") == case.name
        assert example.pop("calls") == len(case.calls)
        request = read_request(json.dumps({"format": format, **example}).encode())
        assert (request.text, request.options) == (case.input, case.options)
    assert ask(format=format, **examples[0]).status_code == 200


def test_markup_in_a_text_stays_text() -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    response = ask(format="hermes", text=text)
    assert response.headers["Content-Type"] == "application/json"
    assert response.json()["message"]["content"] == text
    response = send("GET", "/playground/<script>alert(1)")
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "path", ["/", "/playground/playground.js", "/playground/formats", "/playground/nosuch"]
)
def test_every_answer_has_a_strict_policy(path: str) -> None:
    headers = send("GET", path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert policy["require-trusted-types-for"] == "'script'"
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/playground/../run.py", "/playground/%2e%2e%2frun.py", "/playground/run.py"]
)
def test_only_the_pages_files_are_served(path: str) -> None:
    assert send("GET", path).status_code == 404


def test_the_page_names_no_other_host_and_writes_no_html() -> None:
    folder = Path(sys.modules["unspool.serve.playground"].__file__ or "").parent / "static"
    names = {file.name for file in folder.iterdir()}
    for file in folder.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", text), file.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), (
            file.name
        )
        for name in re.findall(r'(?:playground/|\./)(\w+\.\w+)"', text):
            assert name in names
        assert send("GET", f"/playground/{file.name}").status_code == 200
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*src=)|<style|style=|\son\w+=", page)
    for field in re.findall(r"<(?:input|select|textarea)[^>]*\sid=\"(\w+)\"", page):
        labels = rf'for="{field}"|<label[^>]*><input[^>]*id="{field}"|id="{field}"[^>]*aria-label'
        assert re.search(labels, page), f"{field} has no label"


def test_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(cli, ["playground"])
    assert result.exit_code != 0
    assert "pip install 'unspool[serve]'" in str(result.exception)  # `main` prints it


def test_the_command_serves_the_playground(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    served: list[dict[str, Any]] = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: served.append({"app": app, **options}))
    assert CliRunner().invoke(cli, ["playground", "--port", "1234", "--host", "::1"]).exit_code == 0
    (call,) = served
    assert (call["host"], call["port"]) == ("::1", 1234)
    assert "/playground/run" in {route.path for route in call["app"].routes}


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        ({"format": "\ud800", "text": "x"}, "format"),
        ({"format": "hermes", "text": "x", "\ud800": 1}, "body"),
        ({"format": "hermes", "text": "x", "options": {"reasoning": "\ud800"}}, "options.reasoning"),
        ({"format": "hermes", "text": "x", "tools": [{"name": "\ud800"}]}, "tools[0].name"),
        ({"format": "hermes", "text": "x", "finish_reason": "\ud800"}, "finish_reason"),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_anywhere(request_: dict[str, Any], where: str) -> None:
    headers = {"content-type": "application/json"}
    answer = send("POST", "/playground/run", content=json.dumps(request_), headers=headers)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["where"] == where
