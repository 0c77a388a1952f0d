"""The runtime of MLServer, in this process: every case, every setting, every error."""

from __future__ import annotations

import asyncio
import importlib
import json
import random
import sys
import threading
from typing import Any

import pytest

pytest.importorskip("mlserver", reason="mlserver is not installed; pip install 'unspool[mlserver]'")

import unspool
from mlserver import MLModel, ModelSettings
from mlserver.errors import MLServerError
from unspool.errors import ArgumentError
from unspool.generation.delta_stream import DeltaStream
from unspool.testing import Case, shipped_cases
from unspool.testing.splits import pieces_of
from unspool.testing.wire import read_open_inference

from .mlserver_host import HERE, RUNTIME, body, collect, make_payload, make_runtime, sse
from .mlserver_models import Script, Scripted, byte_tokenizer, llama

pytestmark = pytest.mark.anyio

TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("unspool.integrations.mlserver")
    monkeypatch.setattr(module, "_loaded", [])


def runtime_of(model: Any, **extra: Any) -> Any:
    runtime = make_runtime(**extra)
    runtime.model = model
    return runtime


def cuts_of(case: Case) -> list[list[bytes]]:
    """Whole, byte by byte, and cut at random."""
    data = case.input.encode()
    random_cuts = sorted(random.Random(str(case)).choices(range(len(data) + 1), k=5))
    return [[data], pieces_of(data, range(1, len(data))), pieces_of(data, random_cuts)]


@pytest.mark.parametrize("format", [file.name for file in unspool.formats()])
async def test_a_client_assembles_what_parse_says(format: str) -> None:
    """Every case of every format, however its output is cut; whole answers and streams."""
    for case in shipped_cases(format):
        tools = None if case.tools is None else list(case.tools)
        wanted = unspool.parse(
            case.input, format, tools, finish_reason=case.finish_reason, **{**case.options, "id_seed": 7}
        )
        calls = [(call.id, call.name, call.arguments or "{") for call in wanted.tool_calls]
        for pieces in cuts_of(case):

            def puts(script: Script, pieces: list[bytes] = pieces) -> None:
                for piece in pieces:
                    script.put(piece)

            options = {"tools": tools, **case.options, "id_seed": 7}
            runtime = runtime_of(Scripted(puts, format, case.finish_reason, options))
            (answer,) = read_open_inference(
                sse(await collect(runtime, make_payload(body()))), include_usage=True
            )
            assert (answer.content, answer.reasoning) == (wanted.content, wanted.reasoning), case
            assert [(call.id, call.name, call.arguments) for call in answer.calls] == calls, case
            assert answer.finish_reason == wanted.finish_reason, case
            whole = await runtime.predict(make_payload(body()))
            output, message = (tensor.data[0] for tensor in whole.outputs)
            assert output == wanted.content
            assert (json.loads(message).get("content") or "") == wanted.content
            assert len(json.loads(message).get("tool_calls", ())) == len(calls)
            assert whole.parameters.finish_reason == wanted.finish_reason


async def test_the_shape_of_a_stream() -> None:
    """All of its members; MLServer adds its headers and puts in the request's id."""

    def puts(script: Script) -> None:
        script.put('A<tool_call>{"name": "look_up", "arguments": {}}</tool_call>')

    runtime = runtime_of(Scripted(puts, parser_options={"id_seed": 1}), version="v3")
    first, second, last = [
        json.loads(response.model_dump_json()) for response in await collect(runtime, make_payload(body()))
    ]

    def tensor(name: str, kind: str, text: str) -> dict[str, Any]:
        parameters = {"content_type": kind}
        return {
            "name": name, "shape": [1, 1], "datatype": "BYTES", "parameters": parameters, "data": [text],
        }  # fmt: skip

    assert first == {
        "model_name": "m",
        "model_version": "v3",
        "id": "r",
        "parameters": {"event": "content", "index": 0},
        "outputs": [tensor("output", "str", "A"), tensor("delta", "json", '{"content":"A"}')],
    }
    (call,) = json.loads(second["outputs"][1]["data"][0])["tool_calls"]
    assert second["parameters"] == {"event": "tool_call", "index": 0}
    assert second["outputs"][0]["data"] == [""]
    assert call == {
        "index": 0, "id": call["id"], "type": "function", "function": {"name": "look_up", "arguments": "{}"},
    }  # fmt: skip
    assert last["outputs"] == [tensor("output", "str", ""), tensor("delta", "json", "{}")]
    told = last["parameters"]
    assert (told["event"], told["index"], told["finish_reason"]) == ("finish", 0, "tool_calls")
    assert (told["prompt_tokens"], told["completion_tokens"], told["total_tokens"]) == (3, 1, 4)


async def test_a_character_in_pieces_is_never_broken() -> None:
    text = "Ä👍🏽 中文 👩‍👩‍👧"

    def puts(script: Script) -> None:
        for byte in text.encode():
            script.put(bytes([byte]))

    runtime = runtime_of(Scripted(puts))
    for http in (True, False):
        responses = await collect(runtime, make_payload(body(), http=http))
        parts = [response.outputs[0].data[0] for response in responses[:-1]]
        whole = "".join(part if http else part.decode() for part in parts)  # bytes for gRPC
        assert whole == text


async def test_bytes_that_are_no_text_do_no_harm() -> None:
    """A random model over bytes: what it streams is what `generate` says."""
    generator = llama()
    wanted = generator.generate("Hello", max_new_tokens=40)
    runtime = runtime_of(generator)
    (answer,) = read_open_inference(
        sse(await collect(runtime, make_payload(body(max_tokens=40)))), include_usage=True
    )
    assert answer.content == wanted.text
    assert "\ufffd" in wanted.text
    assert answer.finish_reason == "length"
    whole = await runtime.predict(make_payload(body(max_tokens=40)))
    assert whole.outputs[0].data[0] == wanted.text
    assert whole.parameters.prompt_tokens == wanted.usage.prompt_tokens == len("Hello")
    assert (whole.parameters.completion_tokens, whole.parameters.total_tokens) == (40, 45)


async def test_messages_and_ids_are_prompts_too() -> None:
    generator = llama()
    runtime = runtime_of(generator)
    messages = [{"role": "user", "content": "Hi"}]
    wanted = generator.generate(messages, max_new_tokens=5)
    ids = generator.tokenizer.encode("Hello", add_special_tokens=False)
    for request, prompt_tokens in (
        (body(json.dumps(messages), name="messages", max_tokens=5), wanted.usage.prompt_tokens),
        (body(messages, name="messages", max_tokens=5), wanted.usage.prompt_tokens),
        (body(ids, name="input_ids", max_tokens=5), len(ids)),
        (body([ids], name="input_ids", max_tokens=5), len(ids)),
    ):
        answer = await runtime.predict(make_payload(request))
        assert answer.parameters.prompt_tokens == prompt_tokens
    assert answer.outputs[0].data[0] == generator.generate("Hello", max_new_tokens=5).text


async def test_parameters_reach_the_model() -> None:
    """As they are, and as gRPC has to send them: what is no text, flag or integer, as JSON."""
    model = Scripted(lambda script: script.put("x"))
    runtime = runtime_of(model)
    plain = {
        "max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "seed": 3, "stop": ["a", "b"], "tools": [TOOL],
        "tool_choice": "auto", "stream_timeout": 1.5, "parallel_tool_calls": False,
        "chat_template_kwargs": {"enable_thinking": False},
    }  # fmt: skip
    typed = {
        name: value if isinstance(value, (bool, int, str)) else json.dumps(value)
        for name, value in plain.items()
    }
    await collect(runtime, make_payload(body(**plain)), make_payload(body(**typed), http=False))
    first, second = model.asked
    assert first == second
    sampling = first["sampling"]
    assert (sampling.max_tokens, sampling.temperature, sampling.top_p, sampling.seed) == (5, 0.5, 0.9, 3)
    assert sampling.stop == ("a", "b")
    assert first["tools"] == [TOOL]
    assert (first["timeout"], first["parallel_tool_calls"]) == (1.5, False)
    assert first["chat_template_kwargs"] == {"enable_thinking": False}
    await collect(runtime, make_payload(body(stop="</s>")))
    assert model.asked[-1]["sampling"].stop == ("</s>",)


async def test_another_format_for_one_request() -> None:
    """`tool_parser` and `reasoning_parser`, over the same model."""
    runtime = make_runtime(factory="demo", format="hermes")
    await runtime.load()
    request = body("one call", tool_parser="mistral", tools=[TOOL])
    (answer,) = read_open_inference(sse(await collect(runtime, make_payload(request))), include_usage=True)
    assert answer.calls
    generator = llama()
    runtime = runtime_of(generator)
    for parameters in ({"tool_parser": "qwen3_coder"}, {"reasoning_parser": "deepseek_r1"}):
        answer = await runtime.predict(make_payload(body(max_tokens=3, **parameters)))
        assert answer.parameters.completion_tokens == 3
    assert generator.format == "hermes"


BAD = [
    (body(max_token=3), "max_token"),
    (body(max_tokens=0), "max_tokens"),
    (body(max_tokens="many"), "max_tokens"),
    (body(temperature="NaN"), "temperature"),
    (body(temperature=-1), "temperature"),
    (body(stop=[1]), "stop"),
    (body(tools="[{]"), "tools"),
    (body(tools=[{"type": "function"}]), "tools[0]"),
    (body(tool_choice="look_up"), "tool_choice"),
    (body(tool_parser="hermez"), "hermez"),
    (body(reasoning_parser="auto"), "auto"),
    (body(stream_timeout=0), "stream_timeout"),
    (body(chat_template_kwargs={"sing": True}), "sing"),
    (body(["a", "b"]), "'prompt' has 2"),
    (body([]), "'prompt' has 0"),
    (body(3), "int"),
    (body("[", name="messages"), "JSON"),
    (body("{}", name="messages"), "list"),
    (body([{"role": "nobody", "content": ""}], name="messages"), "role"),
    (body(["a"], name="input_ids"), "integers"),
    (body(name="text_input"), "'text_input'"),
    ({"inputs": [], "parameters": {}}, "none"),
    ({**body(), "inputs": body()["inputs"] * 2}, "'prompt', 'prompt'"),
    ({**body(), "outputs": [{"name": "logits"}]}, "logits"),
]


@pytest.mark.parametrize(("request_", "told"), BAD, ids=[told for _, told in BAD])
async def test_a_bad_request_is_reported_before_the_model_runs(request_: Any, told: str) -> None:
    model = llama()
    runs: list[Any] = []
    model.model.register_forward_pre_hook(lambda *_: runs.append(1))
    runtime = runtime_of(model)
    for answer in (
        runtime.predict(make_payload(request_)),
        runtime.predict(make_payload(request_, http=False)),
        collect(runtime, make_payload(request_, http=False)),
    ):
        with pytest.raises(MLServerError) as raised:
            await answer
        assert raised.value.status_code == 400  # gRPC's INVALID_ARGUMENT
        assert told in str(raised.value)
    (response,) = await collect(runtime, make_payload(request_))  # in band
    assert response.parameters.event == "error"
    assert told in json.loads(response.outputs[0].data[0])["message"]
    assert not runs


async def test_a_prompt_that_is_no_text_is_refused() -> None:
    from mlserver.types import TensorData

    payload = make_payload(body())
    payload.inputs[0].data = TensorData([b"\xff\xfe"])
    with pytest.raises(MLServerError, match="UTF-8"):
        await runtime_of(llama()).predict(payload)


async def test_the_outputs_that_are_asked_for() -> None:
    runtime = runtime_of(Scripted(lambda script: script.put("x")))
    request = {**body(), "outputs": [{"name": "output"}]}
    first, _ = await collect(runtime, make_payload(request))
    assert [output.name for output in first.outputs] == ["output"]
    whole = await runtime.predict(make_payload({**body(), "outputs": [{"name": "message"}]}))
    assert [output.name for output in whole.outputs] == ["message"]


@pytest.mark.parametrize("http", [True, False])
@pytest.mark.parametrize("stream_errors", ["auto", "inband", "raise"])
async def test_a_failure_in_the_midst(http: bool, stream_errors: str) -> None:
    """What came before it stays; then it is sent in band or raised."""

    def breaks(script: Script) -> None:
        script.put("Some ")
        script.put("text")
        raise RuntimeError("the card has melted")

    runtime = runtime_of(Scripted(breaks), stream_errors=stream_errors)
    got: list[Any] = []

    async def sent() -> Any:
        yield make_payload(body(), http=http)

    async def read() -> None:
        async for response in runtime.predict_stream(sent()):
            got.append(response)

    if stream_errors == "inband" or (http and stream_errors == "auto"):
        await read()
        last = got.pop()
        assert last.parameters.event == "error"
        error = json.loads(last.outputs[0].data[0])
        assert "the card has melted" in error["message"]
        assert (error["type"], error["code"]) == ("server_error", "model_failed")
    else:
        with pytest.raises(MLServerError, match="the card has melted") as raised:
            await read()
        assert raised.value.status_code == 500
    data = [response.outputs[0].data[0] for response in got]
    assert "".join(part if http else part.decode() for part in data) == "Some text"


async def test_a_required_call_that_does_not_come_is_an_error() -> None:
    runtime = runtime_of(Scripted(lambda script: script.put("No.")))
    request = body(tools=[TOOL], tool_choice="required")
    last = (await collect(runtime, make_payload(request)))[-1]
    assert json.loads(last.outputs[0].data[0])["code"] == "no_tool_call"
    with pytest.raises(MLServerError, match="no call"):
        await runtime.predict(make_payload(request))


async def test_a_stuck_model_is_given_up() -> None:
    go_on = threading.Event()
    runtime = runtime_of(Scripted(lambda _: go_on.wait(20) and None))
    with pytest.raises(MLServerError, match="gave nothing") as raised:
        await runtime.predict(make_payload(body(stream_timeout=0.1)))
    go_on.set()
    assert raised.value.status_code == 504


async def test_too_many_wait() -> None:
    go_on = threading.Event()
    runtime = runtime_of(Scripted(lambda _: go_on.wait(20) and None), max_workers=1, max_queue=0)
    first = asyncio.ensure_future(runtime.predict(make_payload(body())))
    while not runtime.model.streams:
        await asyncio.sleep(0.005)
    with pytest.raises(MLServerError, match="busy") as raised:
        await runtime.predict(make_payload(body()))
    assert raised.value.status_code == 429
    go_on.set()
    await first


async def wait_for_the_end(runtime: Any) -> None:
    """Waits until the only model of the runtime has stopped."""
    (stream,) = runtime.model.streams
    for _ in range(400):
        if not stream.is_running:
            break
        await asyncio.sleep(0.005)
    assert not stream.is_running


@pytest.mark.parametrize("unary", [True, False])
async def test_a_cancel_stops_the_model_within_two_steps(
    unary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = threading.Semaphore(0)
    begun: list[int] = []
    is_read = asyncio.Event()
    ready = DeltaStream.ready

    def read(stream: DeltaStream) -> Any:
        is_read.set()
        return ready(stream)

    monkeypatch.setattr(DeltaStream, "ready", read)

    def endless(script: Script) -> None:
        for number in range(10_000):
            step.acquire(timeout=20)
            begun.append(number)
            script.put(f"{number} ")

    runtime = runtime_of(Scripted(endless))
    answer = runtime.predict(make_payload(body())) if unary else collect(runtime, make_payload(body()))
    task = asyncio.ensure_future(answer)
    step.release(3)
    await is_read.wait()
    while len(begun) < 3:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    seen = len(begun)
    step.release(100)
    await wait_for_the_end(runtime)
    assert len(begun) - seen <= 2


async def test_a_cancel_while_an_answer_begins_stops_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("unspool.integrations.mlserver")
    begin, go_on = module.begin_answer, threading.Event()

    def begin_slowly(*args: Any, **options: Any) -> Any:
        stream = begin(*args, **options)
        go_on.wait(20)
        return stream

    monkeypatch.setattr(module, "begin_answer", begin_slowly)
    runtime = runtime_of(Scripted(lambda script: [script.put("x ") for _ in range(10_000_000)] and None))
    task = asyncio.ensure_future(runtime.predict(make_payload(body())))
    while not runtime.model.streams:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await wait_for_the_end(runtime)


async def test_a_consumer_that_stops_reading_stops_the_model() -> None:
    """`aclose` of the outermost generator is enough: the innermost ends with it."""
    runtime = runtime_of(Scripted(lambda script: [script.put("x ") for _ in range(10_000_000)] and None))

    async def sent() -> Any:
        yield make_payload(body())

    responses = runtime.predict_stream(sent())
    await anext(responses)
    await responses.aclose()
    await wait_for_the_end(runtime)
    assert runtime.app.state.server.limits.running_count == 0


async def test_several_requests_in_one_stream() -> None:
    """Answers in order, each with indices of its own; several answers to a request among them."""
    runtime = make_runtime(factory="demo", format="hermes")
    await runtime.load()
    requests = [body(n=2, temperature=1.0), body("one call"), body()]
    responses = await collect(runtime, *(make_payload(request, http=False) for request in requests))
    finished = [r.parameters.index for r in responses if r.parameters.event == "finish"]
    assert sorted(finished) == [0, 1, 2, 3]
    assert finished[2:] == [2, 3]
    order = [r.parameters.index for r in responses]
    assert order.index(2) > max(place for place, index in enumerate(order) if index < 2)


async def test_several_answers_in_one_response() -> None:
    runtime = make_runtime(factory="demo", format="hermes")
    await runtime.load()
    whole = await runtime.predict(make_payload(body(n=2, temperature=1.0)))
    assert [output.shape for output in whole.outputs] == [[2, 1], [2, 1]]
    assert whole.parameters.finish_reason == ["stop", "stop"]
    whole = await runtime.predict(make_payload(body(n=2, temperature=1.0), http=False))
    assert whole.parameters.finish_reason == '["stop", "stop"]'  # gRPC has no lists


async def test_what_mlserver_does_where_a_model_cannot_stream() -> None:
    """Its own `predict_stream`: one response, the whole answer."""

    class Whole(MLModel):
        async def predict(self, payload: Any) -> Any:
            return await runtime.predict(payload)

    runtime = runtime_of(Scripted(lambda script: script.put("x")))
    (response,) = await collect(Whole(runtime.settings), make_payload(body()))
    assert response.outputs[0].data[0] == "x"


async def test_metadata() -> None:
    runtime = make_runtime(factory="demo")
    await runtime.load()
    metadata = await runtime.metadata()
    assert {tensor.name: tensor.datatype for tensor in metadata.inputs} == {
        "prompt": "BYTES",
        "messages": "BYTES",
        "input_ids": "INT64",
    }
    assert [tensor.name for tensor in metadata.outputs] == ["output", "delta", "message"]


SETTINGS = [
    ({"max_new_tokens": 7}, {}, "max_new_tokens", 7),
    ({}, {"MLSERVER_MODEL_EXTRA": '{"max_new_tokens": 7}'}, "max_new_tokens", 7),
    ({"max_workers": 2}, {"MLSERVER_MODEL_EXTRA": '{"max_workers": 3, "max_queue": 4}'}, "max_queue", 4),
    ({"max_workers": 2}, {"MLSERVER_MODEL_EXTRA": '{"max_workers": 3}'}, "max_workers", 2),
    ({}, {"MLSERVER_MODEL_FORMAT": "mistral"}, "format", "mistral"),
    ({"format": "hermes"}, {"MLSERVER_MODEL_FORMAT": "mistral"}, "format", "hermes"),
    ({}, {"MLSERVER_MODEL_PARAMETERS": '{"extra": {"stream_errors": "raise"}}'}, "stream_errors", "raise"),
    ({}, {}, "format", "auto"),
]


@pytest.mark.parametrize(("extra", "variables", "name", "value"), SETTINGS)
def test_settings_come_from_the_file_and_from_the_environment(
    extra: Any, variables: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file goes before; what it leaves open, the environment says."""
    from unspool.integrations.mlserver import StreamRuntime

    for key, text in variables.items():
        monkeypatch.setenv(key, text)
    given = {"name": "m", "implementation": RUNTIME}
    if extra or "MLSERVER_MODEL_PARAMETERS" not in variables:
        given["parameters"] = {"extra": extra}
    runtime = StreamRuntime(ModelSettings.model_validate(given))
    assert getattr(runtime.options, name) == value


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ({"max_worker": 3}, "max_worker"),
        ({"max_workers": 0}, "max_workers"),
        ({"max_queue": "3"}, "max_queue"),
        ({"backend": "jax"}, "'transformers|native'"),
        ({"stream_errors": "never"}, "stream_errors"),
        ({"reasoning_field": "thoughts"}, "use 'reasoning_content' or 'reasoning'"),
        ({"max_queue": -1}, "max_queue is -1; it must be at least 0"),
        ({"stream_timeout_s": 0}, "stream_timeout_s"),
    ],
)
def test_a_bad_setting_is_reported(extra: Any, told: str) -> None:
    with pytest.raises((ArgumentError, TypeError), match=told.strip("'")):
        make_runtime(**extra)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "extra.factory"),
        ({"factory": "llama"}, "module:function"),
        ({"factory": "mlserver_models:nothing"}, "has no nothing"),
        ({"factory": "mlserver_models:is_no_model"}, "a int; return a StreamGenerator"),
        ({"factory": "demo", "format": "hermez"}, "hermez"),
    ],
)
async def test_a_model_that_is_not_there_is_reported_at_load(
    options: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(HERE)
    with pytest.raises(ValueError, match=told):
        await make_runtime(**options).load()


async def test_a_checkpoint_is_loaded_from_its_folder(tmp_path: Any) -> None:
    """`parameters.uri`; a path that is not absolute begins at the settings' folder."""
    from unspool.integrations.mlserver import StreamRuntime

    generator = llama()
    generator.model.save_pretrained(tmp_path / "tiny")
    byte_tokenizer().save_pretrained(tmp_path / "tiny")
    settings = {
        "name": "m",
        "implementation": RUNTIME,
        "parameters": {"uri": "./tiny", "extra": {"format": "hermes", "max_new_tokens": 9}},
        "_source": str(tmp_path / "model-settings.json"),
    }
    runtime = StreamRuntime(ModelSettings.model_validate(settings))
    assert await runtime.load()
    answer = await runtime.predict(make_payload(body()))
    assert answer.parameters.completion_tokens == 9
    assert answer.outputs[0].data[0] == generator.generate("Hello", max_new_tokens=9).text


async def test_a_reloaded_module_registers_once() -> None:
    """MLServer reloads it for each model; the routes still know every model that is loaded, once."""
    module: Any = importlib.import_module("unspool.integrations.mlserver")
    first = make_runtime(name="a", factory="demo", version="1")
    await first.load()
    for _ in range(2):
        module = importlib.reload(module)
    second = make_runtime(name="a", factory="demo", version="1")
    await second.load()  # as MLServer does it: the new one first
    await first.unload()
    third = make_runtime(name="b", factory="demo")
    await third.load()
    assert module._loaded == [second, third]
    assert list(first.app.state.server.models) == ["a", "a:1", "b"]
    await second.unload()
    await third.unload()
    assert not module._loaded


def test_workers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the server's process, where they are its children, and in one of them."""
    import multiprocessing

    from mlserver.parallel.worker import Worker

    worker = Worker.__new__(Worker)
    monkeypatch.setattr(multiprocessing, "active_children", lambda: [worker])
    with pytest.raises(ArgumentError, match="set parallel_workers to 0"):
        make_runtime(factory="demo")
    monkeypatch.setattr(multiprocessing, "active_children", list)
    monkeypatch.setattr(multiprocessing, "current_process", lambda: worker)
    with pytest.raises(ArgumentError, match="set parallel_workers to 0"):
        make_runtime(factory="demo")


def test_without_mlserver_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "mlserver"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mlserver", None)
    monkeypatch.delitem(sys.modules, "unspool.integrations.mlserver", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'unspool\[mlserver\]'"):
        importlib.import_module("unspool.integrations.mlserver")
