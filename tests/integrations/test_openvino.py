"""OpenVINO GenAI, run with small models: what its pipelines stream through us is what one-shot parsing gives."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openvino_genai", reason="openvino-genai is missing: pip install '.[test-openvino]'")
pytest.importorskip("gguf", reason="gguf is missing: pip install '.[test-openvino]'")

import numpy as np
import openvino
import openvino_genai as genai
import unspool
from openvino_genai import StreamingStatus
from unspool import Message, TokenStreamer
from unspool.errors import ArgumentError, ChannelTimeoutError, ContextLengthError, StreamError, StreamTimeout
from unspool.generation.worker import active_workers
from unspool.integrations.openvino import (
    ContinuousBatching,
    DeltaStreamer,
    MessageParser,
    TextGeneration,
    pipeline,
    structured_output,
)
from unspool.testing import shipped_cases

from .openvino_models import SPECIAL, write_model
from .test_embedding import byte_vocabulary, encode

pytestmark = pytest.mark.timeout(300)

CHAT = [{"role": "user", "content": "Weather in Zürich?"}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    }
]
ANSWER = 'Let me look 🚀.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich", "days": 3}}\n</tool_call>'
ARGUMENTS = '{"city": "Zürich", "days": 3}'


def plain(message: Message) -> tuple[Any, ...]:
    """A message without its ids."""
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    return message.content, message.reasoning, calls, message.finish_reason, message.malformed


def added(deltas: list[Any]) -> tuple[str, str]:
    """The content and the arguments of a stream."""
    contents = [delta.text for delta in deltas if delta.kind == "content"]
    return "".join(contents), "".join(delta.text for delta in deltas if delta.kind == "tool_call_arguments")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A model's file, and the ids of its answer."""
    return write_model(tmp_path_factory.mktemp("openvino") / "model.gguf", ANSWER)


@pytest.fixture(scope="session")
def host(model: tuple[Path, list[int]]) -> genai.LLMPipeline:
    return genai.LLMPipeline(model[0], "CPU")


@pytest.fixture(scope="session")
def pipe(host: genai.LLMPipeline) -> TextGeneration:
    return pipeline(host)


@pytest.fixture(scope="session")
def batching(model: tuple[Path, list[int]]) -> ContinuousBatching:
    return ContinuousBatching(genai.ContinuousBatchingPipeline(model[0], genai.SchedulerConfig(), "CPU"))


@pytest.fixture
def long_model(tmp_path: Path) -> Path:
    """It writes 1,000 words."""
    return write_model(tmp_path / "long.gguf", " ".join(f"word{number}" for number in range(1000)))[0]


class Counted(genai.StreamerBase):
    """What GenAI itself gives a streamer, passed on."""

    def __init__(self, inner: DeltaStreamer | None = None) -> None:
        super().__init__()
        self.inner = inner
        self.ids: list[int] = []
        self.ends = 0

    def write(self, tokens: Any) -> StreamingStatus:
        self.ids += tokens if isinstance(tokens, list) else [tokens]
        return StreamingStatus.RUNNING if self.inner is None else self.inner.write(tokens)

    def end(self) -> None:
        self.ends += 1
        if self.inner is not None:
            self.inner.end()


def generate(host: genai.LLMPipeline, streamer: Any, **options: Any) -> Any:
    return host.generate(genai.ChatHistory(CHAT), streamer=streamer, **{"max_new_tokens": 200, **options})


# --- pipeline -----------------------------------------------------------------------------------------------------


def test_a_message_and_a_stream(pipe: TextGeneration, model: tuple[Path, list[int]]) -> None:
    assert pipe.model.format == "hermes"
    wanted = unspool.parse(model[1], "hermes", TOOLS, tokenizer=pipe.model.vocabulary)
    message = pipe(CHAT, tools=TOOLS, max_new_tokens=200)
    assert plain(message) == plain(wanted)
    assert message.content == "Let me look 🚀."
    assert message.tool_calls[0].arguments == ARGUMENTS
    stream = pipe(CHAT, tools=TOOLS, stream=True, max_new_tokens=200)
    deltas = list(stream)
    assert added(deltas) == (message.content, ARGUMENTS)
    assert len(deltas) > 15
    assert plain(stream.message) == plain(wanted)
    assert list(stream) == []


FAMILIES = {
    "hermes": "No markup at all.",
    "qwen3": '<think>\nHm, Zürich.\n</think>\n\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Ur"}}\n</tool_call>',
    "qwen3_coder": (
        "I look.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n"
        "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
    ),
    "deepseek_r1": "<think>\nHm.\n</think>\n\nThe answer is 42.",
    "llama3_json": '{"name": "get_weather", "parameters": {"city": "Zürich", "days": 3}}',
    "pythonic": '[get_weather(city="Zürich", days=3), get_weather(city="Ur")]',
    "mistral": '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Zürich"}}]',
    "glm45": (
        "<think>Hm.</think>Well.\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Ur</arg_value>\n</tool_call>"
    ),
}


@pytest.mark.parametrize("format", FAMILIES)
def test_families(tmp_path: Path, format: str) -> None:
    """Whole and streamed, by `LLMPipeline` and in a batch: what parsing the ids in one go gives."""
    markers = [*SPECIAL[3:], "<think>", "</think>", "[TOOL_CALLS]"]
    special = (*SPECIAL[:3], *(marker for marker in markers if marker in FAMILIES[format]))
    path, ids = write_model(tmp_path / "model.gguf", FAMILIES[format], special)
    run = pipeline(path, format=format)
    wanted = plain(unspool.parse(ids, format, TOOLS, tokenizer=run.model.vocabulary, prompt=prompt_of(run)))
    assert plain(run(CHAT, tools=TOOLS, max_new_tokens=300)) == wanted
    with run(CHAT, tools=TOOLS, max_new_tokens=300, stream=True) as stream:
        contents = added(list(stream))[0]
    assert plain(stream.message) == wanted
    assert contents == wanted[0]
    assert wanted[2] or format in ("hermes", "deepseek_r1")
    scheduler = genai.SchedulerConfig()
    batch = ContinuousBatching(genai.ContinuousBatchingPipeline(path, scheduler, "CPU"), format=format)
    streams = [batch.stream(CHAT, tools=TOOLS, max_new_tokens=300) for _ in range(3)]
    for stream in streams:
        assert added(list(stream))[0] == wanted[0]
        assert plain(stream.message) == wanted


def prompt_of(run: TextGeneration) -> list[int]:
    return run.model.encode(CHAT, TOOLS, None, True)


def test_a_limit(pipe: TextGeneration) -> None:
    message = pipe(CHAT, tools=TOOLS, max_new_tokens=25)
    assert message.finish_reason == "length"
    assert [call.status for call in message.tool_calls] == ["incomplete"]
    config = pipe.pipe.get_generation_config()
    config.max_new_tokens = 3
    assert pipe(CHAT, config=config).finish_reason == "length"


def test_stop_strings(pipe: TextGeneration) -> None:
    """Ours cut to the letter; GenAI's drop, or keep, each token that holds some of the string."""
    for options, text in (
        ({"stop": "look"}, "Let me "),
        ({"stop": "look", "include_stop": True}, "Let me look"),
        ({"stop_strings": {"look"}}, "Let me"),
        ({"stop_strings": {"look"}, "include_stop_str_in_output": True}, "Let me look "),
    ):
        message = pipe(CHAT, max_new_tokens=200, **options)
        assert (message.content, message.finish_reason) == (text, "stop")


def test_prompts(pipe: TextGeneration) -> None:
    """Messages, a history with its tools, one message, a text, ids in every shape."""
    history = genai.ChatHistory(CHAT)
    history.set_tools(TOOLS)
    ids = pipe.model.encode(CHAT, None, None, True)
    row = np.array([ids], dtype=np.int64)
    tensor = openvino.Tensor(row)
    for prompt in (
        CHAT, history, CHAT[0], "Weather?", ids, [ids], row, tensor, genai.TokenizedInputs(tensor, openvino.Tensor(np.ones_like(row))),
    ):  # fmt: skip
        assert pipe(prompt, max_new_tokens=200).tool_calls[0].name == "get_weather"
    assert pipe.model.encode("a", None, None, False) == [97]
    assert pipe.model.encode("a", None, None, True) == pipe.model.encode(
        [{"role": "user", "content": "a"}], None, None, True
    )
    text = pipe.model.vocabulary
    stream = unspool.Detokenizer(text, skip_special_tokens=False)
    with_tools = stream.put(pipe.model.encode(history, history.get_tools(), None, True)) + stream.end()
    assert '"get_weather"' in with_tools


@pytest.mark.parametrize(
    ("prompt", "options", "problem"),
    [
        ("", {}, "the prompt is empty"),
        ([], {}, "the prompt is empty"),
        ([[1], [2]], {}, "2 rows"),
        ([True], {}, "integers from 0"),
        ([-1], {}, "integers from 0"),
        (["a", "b"], {}, "several prompts"),
        (3, {}, "none"),
        (CHAT, {"max_tokens": 3}, "there is no option 'max_tokens'"),
        (CHAT, {"num_return_sequences": 2}, "must be 1"),
        (CHAT, {"num_beams": 2}, "must be 1"),
        (CHAT, {"echo": True}, "echo is set"),
        (CHAT, {"config": genai.GenerationConfig(), "max_new_tokens": 3}, "set max_new_tokens in the config"),
        (CHAT, {"timeout": -1}, "timeout is -1"),
        (CHAT, {"trust": "me"}, "trust is 'me'"),
        (CHAT, {"tool_choice": "f", "tools": TOOLS}, "tool_choice is 'f'"),
    ],
)
def test_what_is_refused(
    pipe: TextGeneration, batching: ContinuousBatching, prompt: Any, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ArgumentError, match=problem):
        pipe(prompt, **options)
    with pytest.raises(ArgumentError, match=problem):
        batching.stream(prompt, **options)


def test_a_prompt_that_the_tokenizer_cuts(pipe: TextGeneration) -> None:
    """A GGUF's tokenizer keeps 8,192 ids, silently: the system's message and the tools would be gone."""
    assert len(pipe.pipe.get_tokenizer().encode("ab" * 5000).input_ids.data[0]) == 8192
    with pytest.raises(ContextLengthError, match="drops all but the last 8192 tokens"):
        pipe("ab" * 5000)
    whole = "ab" * 4096
    assert len(pipe.model.encode(whole, None, None, False)) == 8192


def test_what_pipeline_refuses(host: genai.LLMPipeline, batching: ContinuousBatching) -> None:
    with pytest.raises(ArgumentError, match="ContinuousBatching takes"):
        pipeline(batching.pipe)
    with pytest.raises(ArgumentError, match="leave out properties"):
        pipeline(host, properties={"a": 1})
    with pytest.raises(unspool.UnknownFormatError):
        pipeline(host, format="hermess")
    with pytest.raises(TypeError, match="trusts"):
        pipeline(host, trusts="id")
    with pytest.raises(ArgumentError, match="pass a ContinuousBatchingPipeline"):
        ContinuousBatching(host)


def test_attention_without_paging(model: tuple[Path, list[int]]) -> None:
    """There `write` runs in the caller's thread."""
    run = pipeline(model[0], properties={"ATTENTION_BACKEND": "SDPA"})
    assert run(CHAT, tools=TOOLS, max_new_tokens=200).tool_calls[0].arguments == ARGUMENTS


def test_several_tokens_a_step(model: tuple[Path, list[int]]) -> None:
    run = pipeline(model[0], properties={"prompt_lookup": True})
    echo = [{"role": "user", "content": ANSWER}]
    message = run(echo, tools=TOOLS, max_new_tokens=200, num_assistant_tokens=5, max_ngram_size=3)
    assert message.tool_calls[0].arguments == ARGUMENTS


def test_leaving_stops_the_model(long_model: Path) -> None:
    run = pipeline(long_model, format="hermes")
    with run("x", stream=True) as stream:
        next(stream)
    streamer = stream._streamer
    while active_workers():
        time.sleep(0.001)
    count = streamer.token_count
    assert count < 500
    dropped = run("x", stream=True)
    streamer = dropped._streamer
    next(dropped)
    del dropped
    gc.collect()
    while active_workers():
        time.sleep(0.001)
    assert streamer.token_count < 500
    assert run("x").content.endswith("word999")  # the next answer is whole


def test_calls_wait_for_each_other(pipe: TextGeneration) -> None:
    streams = [pipe(CHAT, tools=TOOLS, stream=True, max_new_tokens=200) for _ in range(4)]
    streams[1].cancel()
    for index, stream in enumerate(streams):
        assert bool(list(stream)) == (index != 1)
        assert len(stream.message.tool_calls) == (index != 1)


def test_async_for(pipe: TextGeneration, batching: ContinuousBatching) -> None:
    async def read(stream: Any) -> str:
        return added([delta async for delta in stream])[1]

    async def run() -> list[str]:
        streams = [pipe(CHAT, tools=TOOLS, stream=True, max_new_tokens=200)]
        streams += [batching.stream(CHAT, tools=TOOLS, max_new_tokens=200) for _ in range(3)]
        return await asyncio.gather(*map(read, streams))

    assert asyncio.run(run()) == [ARGUMENTS] * 4


def test_the_models_error_arrives(pipe: TextGeneration) -> None:
    """A grammar that does not compile is found when the model runs."""
    with pytest.raises(RuntimeError, match="EBNF"):
        pipe(CHAT, max_new_tokens=5, structured_output_config=structured_output("root ::= ((("))
    stream = pipe(
        CHAT, max_new_tokens=5, stream=True, structured_output_config=structured_output("root ::= (((")
    )
    with pytest.raises(RuntimeError, match="EBNF"):
        list(stream)


def test_a_timeout(pipe: TextGeneration) -> None:
    with pipe._lock:  # another call has the model
        stream = pipe(CHAT, stream=True, max_new_tokens=5, timeout=0.05)
        with pytest.raises(StreamTimeout, match="gave nothing"):
            next(stream)
        assert list(stream) == []

    async def read() -> None:
        with pipe._lock:
            async for _ in pipe(CHAT, stream=True, max_new_tokens=5, timeout=0.05):
                pass

    with pytest.raises(StreamTimeout):
        asyncio.run(read())


# --- streamer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [file.name for file in unspool.formats()])
def test_every_case_through_write(format: str) -> None:
    """In lists of 1, 3 and 17 ids, as steps of GenAI: what parsing in one go gives."""
    vocabulary = byte_vocabulary(format)
    for case in shipped_cases(format):
        tools = None if case.tools is None else list(case.tools)
        if "only_reasoning" in case.options:
            continue
        ids = encode(vocabulary, case.input)
        options = {name: value for name, value in case.options.items() if name != "tokenizer"}
        wanted = TokenStreamer(vocabulary, format, tools, **options)
        wanted.put(ids)
        expected = plain(wanted.finish())
        for size in (1, 3, 17):
            streamer = DeltaStreamer(vocabulary, format, tools, **options)
            for start in range(0, len(ids), size):
                part = ids[start : start + size]
                assert streamer.write(part if size > 1 else part[0]) in (
                    StreamingStatus.RUNNING,
                    StreamingStatus.STOP,
                )
            streamer.end()
            streamer.end()
            deltas = list(streamer)
            assert plain(streamer.message) == expected, case
            if not expected[4]:
                assert added(deltas)[0] == expected[0], case


def test_a_streamer_in_a_thread(host: genai.LLMPipeline, model: tuple[Path, list[int]]) -> None:
    streamer = DeltaStreamer(host.get_tokenizer(), tools=TOOLS, maxsize=1)
    counted = Counted(streamer)
    thread = threading.Thread(target=generate, args=(host, counted))
    thread.start()
    deltas = list(streamer)
    thread.join()
    assert counted.ids == model[1]  # the end of the turn is among them
    assert counted.ends == 2
    assert added(deltas) == ("Let me look 🚀.", ARGUMENTS)
    assert streamer.message.finish_reason == "tool_calls"


def test_a_streamer_after_generate(host: genai.LLMPipeline) -> None:
    streamer = DeltaStreamer(host.get_tokenizer(), "hermes", TOOLS)
    generate(host, streamer)
    assert added(list(streamer))[1] == ARGUMENTS
    assert streamer.write([5]) == StreamingStatus.CANCEL  # it is for one answer
    assert streamer.message.tool_calls[0].arguments == ARGUMENTS


@pytest.mark.parametrize(
    ("limit", "reason"), [(200, "tool_calls"), (25, "length")]
)  # fmt: skip
def test_finish_knows_why(host: genai.LLMPipeline, limit: int, reason: str) -> None:
    streamer = DeltaStreamer(host.get_tokenizer(), "hermes", TOOLS, ends_with_generate=False)
    config = host.get_generation_config()
    config.max_new_tokens = limit
    ids = host.get_tokenizer().encode("x\n", add_special_tokens=False)
    streamer.finish(host.generate(ids, config, streamer))
    assert streamer.message.finish_reason == reason
    streamer.finish("stop")
    assert streamer.message.finish_reason == reason


@pytest.mark.parametrize("tokens", [-1, [-1], "a", None, [None], [2**70], 3.5, [[1], [2]], object()])
def test_nothing_escapes_write(host: genai.LLMPipeline, tokens: Any) -> None:
    streamer = DeltaStreamer(host.get_tokenizer(), "hermes")
    assert streamer.write(64) == StreamingStatus.RUNNING
    assert streamer.write(tokens) == StreamingStatus.CANCEL
    streamer.end()
    with pytest.raises((ArgumentError, TypeError, OverflowError)):
        list(streamer)


def test_nothing_escapes_end(host: genai.LLMPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    streamer = DeltaStreamer(host.get_tokenizer(), "hermes")

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(streamer._streamer, "end", fail)
    streamer.end()
    with pytest.raises(KeyboardInterrupt):
        list(streamer)


def test_a_reader_that_leaves_stops_the_model(long_model: Path) -> None:
    host = genai.LLMPipeline(long_model, "CPU")
    for leave in ("break", "cancel", "async"):
        streamer = DeltaStreamer(host.get_tokenizer(), "hermes", maxsize=1)
        counted = Counted(streamer)
        thread = threading.Thread(target=generate, args=(host, counted), kwargs={"max_new_tokens": 2000})
        thread.start()
        if leave == "async":

            async def read(streamer: DeltaStreamer = streamer) -> None:
                deltas = aiter(streamer)
                await anext(deltas)
                await deltas.aclose()

            asyncio.run(read())
        else:
            for delta in streamer:
                assert delta.text
                if leave == "break":
                    break
                streamer.cancel()
        thread.join(20)
        assert not thread.is_alive()
        assert len(counted.ids) < 50
        assert counted.ends == 2
        streamer.end()


def test_a_streamers_errors(host: genai.LLMPipeline) -> None:
    streamer = DeltaStreamer(host.get_tokenizer(), "hermes", timeout=0.01)
    with pytest.raises(ChannelTimeoutError):
        next(iter(streamer))
    streamer = DeltaStreamer(host.get_tokenizer(), "hermes")
    streamer.fail(RuntimeError("out of memory"))
    with pytest.raises(RuntimeError, match="out of memory"):
        list(streamer)
    assert streamer.write(64) == StreamingStatus.CANCEL


@pytest.mark.parametrize("kind", ["pipeline", "batch", "streamer"])
def test_the_interpreters_exit_in_mid_answer(long_model: Path, kind: str) -> None:
    """A status that is no exit by a signal: GenAI ends a process whose streamer fails."""
    code = {
        "pipeline": "from unspool.integrations.openvino import pipeline\n"
        "next(s := pipeline(sys.argv[1], format='hermes')('x', stream=True))",
        "batch": "import openvino_genai as g\nfrom unspool.integrations.openvino import ContinuousBatching\n"
        "p = g.ContinuousBatchingPipeline(sys.argv[1], g.SchedulerConfig(), 'CPU')\n"
        "next(s := ContinuousBatching(p, format='hermes').stream('x'))",
        "streamer": "import openvino_genai as g\nfrom unspool.integrations.openvino import DeltaStreamer\n"
        "p = g.LLMPipeline(sys.argv[1], 'CPU'); s = DeltaStreamer(p.get_tokenizer(), 'hermes')\n"
        "threading.Thread(target=p.generate, args=('x',), kwargs={'streamer': s, 'max_new_tokens': 500}).start()\n"
        "next(iter(s)); s.write(-1)",
    }[kind]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, threading\n{code}", long_model],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode()


# --- continuous batching ------------------------------------------------------------------------------------------


def test_several_requests_at_once(batching: ContinuousBatching, pipe: TextGeneration) -> None:
    wanted = plain(pipe(CHAT, tools=TOOLS, max_new_tokens=200))
    limits = [200, 10, 200, 1, 200]
    streams = [
        batching.stream("word " * index + "\n", apply_chat_template=False, tools=TOOLS, max_new_tokens=limit)
        for index, limit in enumerate(limits)
    ]
    streams[2].cancel()
    for index, stream in enumerate(streams):
        deltas = list(stream)
        if index in (0, 4):
            assert plain(stream.message) == wanted
            assert added(deltas) == (wanted[0], ARGUMENTS)
        elif index != 2:
            assert stream.message.finish_reason == "length"
            assert stream.message.token_counts.total == limits[index]
    assert wait_until_idle(batching)


def wait_until_idle(batching: ContinuousBatching) -> bool:
    end_s = time.monotonic() + 20
    while batching._worker is not None and time.monotonic() < end_s:
        time.sleep(0.001)
    return not batching.pipe.has_non_finished_requests() and not batching._requests


def test_requests_from_many_threads(batching: ContinuousBatching) -> None:
    seen: list[str] = []

    def run() -> None:
        for _ in range(4):
            with batching.stream(CHAT, tools=TOOLS, max_new_tokens=200) as stream:
                seen.append(added(list(stream))[1])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [ARGUMENTS] * 16
    assert wait_until_idle(batching)


def test_leaving_a_batch(long_model: Path) -> None:
    batching = ContinuousBatching(
        genai.ContinuousBatchingPipeline(long_model, genai.SchedulerConfig(), "CPU"), format="hermes"
    )
    stays = batching.stream("x", max_new_tokens=100)
    leaves, dropped = (batching.stream("x", max_new_tokens=2000) for _ in range(2))
    with leaves:
        next(leaves)
    next(dropped)
    del dropped
    gc.collect()
    assert list(leaves) == []
    assert stays.message.finish_reason is None or list(stays)
    list(stays)
    assert stays.message.finish_reason == "length"
    assert wait_until_idle(batching)
    assert leaves._streamer.token_count < 1000


def test_a_batchs_stop_string_and_error(batching: ContinuousBatching) -> None:
    stopped = batching.stream(CHAT, stop="look", max_new_tokens=200)
    whole = batching.stream(CHAT, tools=TOOLS, max_new_tokens=200)
    assert added(list(stopped))[0] == "Let me "
    assert stopped.message.finish_reason == "stop"
    assert added(list(whole))[1] == ARGUMENTS
    assert wait_until_idle(batching)


def test_a_cache_that_is_full(model: tuple[Path, list[int]]) -> None:
    """The pipeline ends such a request without a word."""
    scheduler = genai.SchedulerConfig()
    scheduler.cache_size, scheduler.num_kv_blocks, scheduler.enable_prefix_caching = 0, 2, False
    batching = ContinuousBatching(genai.ContinuousBatchingPipeline(model[0], scheduler, "CPU"))
    stream = batching.stream([*b"x" * 40, *b"\n"], max_new_tokens=200)
    text = ""
    with pytest.raises(StreamError, match="KV cache is full"):
        for delta in stream:
            text += delta.text or ""
    assert text
    too_long = batching.stream([64] * 500, max_new_tokens=5)
    with pytest.raises(StreamError, match="KV cache is full"):
        list(too_long)
    assert wait_until_idle(batching)


def test_a_pipeline_that_fails(batching: ContinuousBatching, monkeypatch: pytest.MonkeyPatch) -> None:
    """All its requests raise, and its thread ends."""

    class Broken:
        def __init__(self, pipe: Any) -> None:
            self.pipe = pipe

        def __getattr__(self, name: str) -> Any:
            return getattr(self.pipe, name)

        def step(self) -> None:
            raise RuntimeError("out of memory")

    working = batching.pipe
    monkeypatch.setattr(batching, "pipe", Broken(working))
    for stream in [batching.stream(CHAT, max_new_tokens=5) for _ in range(3)]:
        with pytest.raises(RuntimeError, match="out of memory"):
            list(stream)
    while batching._worker is not None:
        time.sleep(0.001)
    monkeypatch.setattr(batching, "pipe", working)
    assert added(list(batching.stream(CHAT, tools=TOOLS, max_new_tokens=200)))[1] == ARGUMENTS
    assert wait_until_idle(batching)


# --- whole answers ------------------------------------------------------------------------------------------------


def test_a_parser_of_whole_answers(tmp_path: Path) -> None:
    """Written inline: GenAI keeps no reference to it."""
    path, _ = write_model(tmp_path / "model.gguf", FAMILIES["llama3_json"], SPECIAL[:3])
    host = genai.LLMPipeline(path, "CPU")
    config = host.get_generation_config()
    config.max_new_tokens = 200
    config.parsers = [MessageParser("llama3_json", TOOLS)]
    gc.collect()
    (parsed,) = host.generate(["hi"], config).parsed
    (call,) = parsed.pop("tool_calls")
    assert parsed == {"content": ""}
    assert call.pop("id").startswith("call_")
    assert call == {"type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}


def test_a_parsers_reasoning_and_options() -> None:
    message = {"content": "<think>one</think>two"}
    MessageParser("deepseek_r1").parse(message)
    assert message == {"content": "two", "reasoning_content": "one"}
    message = {"content": 'See {"name": "f", "arguments": {}}'}
    MessageParser("llama3_json").parse(message)
    assert message == {"content": 'See {"name": "f", "arguments": {}}'}
    empty: dict[str, Any] = {}
    MessageParser("hermes").parse(empty)
    assert empty == {"content": ""}
    with pytest.raises(unspool.UnknownFormatError):
        MessageParser("hermess")
    with pytest.raises(ArgumentError, match="text alone"):
        MessageParser("hermes", tokenizer=object())


# --- structured output --------------------------------------------------------------------------------------------

CALL_TAG = {
    "type": "tag",
    "begin": '<tool_call>\n{"name": "get_weather", "arguments": ',
    "content": {"type": "regex", "pattern": '\\{"sunny": (true|false)\\}'},
    "end": "}\n</tool_call>",
}
CALL_EBNF = r'''root ::= "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"sunny\": " ("true" | "false") "}}\n</tool_call>"'''


@pytest.mark.parametrize(
    "grammar",
    [CALL_TAG, {"type": "structural_tag", "format": CALL_TAG}, CALL_EBNF],
    ids=["tag", "whole tag", "EBNF"],
)
@pytest.mark.parametrize("spells", [True, False], ids=["spelled", "token"])
def test_a_call_that_a_grammar_forces(tmp_path: Path, grammar: Any, spells: bool) -> None:
    """Its marker is the token, or spelled in ordinary ones, as the model likes: these are text by id alone."""
    path, _ = write_model(tmp_path / "model.gguf", "Hello there, friend." if spells else ANSWER)
    run = pipeline(path)
    options = {"structured_output_config": structured_output(grammar), "max_new_tokens": 300}
    (call,) = run(CHAT, tools=TOOLS, **options).tool_calls
    assert (call.name, call.status, set(json.loads(call.arguments))) == ("get_weather", "complete", {"sunny"})
    batching = ContinuousBatching(genai.ContinuousBatchingPipeline(path, genai.SchedulerConfig(), "CPU"))
    stream = batching.stream(CHAT, tools=TOOLS, **options)
    assert added(list(stream)) == ("", call.arguments)
    by_id = run(CHAT, tools=TOOLS, trust="id", **options)
    assert len(by_id.tool_calls) == (not spells)
    assert by_id.content.startswith("<tool_call>") == spells
    streamer = DeltaStreamer(run.pipe.get_tokenizer(), "hermes", TOOLS, trust="either")
    counted = Counted(streamer)
    generate(run.pipe, counted, **options)
    assert streamer.message.tool_calls[0].is_complete
    marker = {text: id for id, text in run.model.vocabulary.added_tokens.items()}["<tool_call>"]
    assert (marker in counted.ids) != spells


FEW = [{"name": "get_weather", "parameters": {"type": "object", "properties": {
    "city": {"enum": ["Paris", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 3}},
    "required": ["city"]}}, {"name": "now", "parameters": {}}]  # fmt: skip
NAMED = {"type": "function", "function": {"name": "get_weather"}}


@pytest.mark.parametrize("choice", ["required", "auto", "get_weather", NAMED], ids=str)
@pytest.mark.parametrize("family", ["hermes", "qwen3_coder", "mistral", "pythonic", "glm45"])
def test_a_formats_own_grammar_forces_its_calls(tmp_path: Path, family: str, choice: Any) -> None:
    """The model of the test wants a call of Hermes to a city that the schema forbids."""
    path, _ = write_model(tmp_path / "model.gguf", ANSWER)
    run = pipeline(path, format=family)
    config = structured_output(
        tools=FEW, format=run.model.format, tool_choice=choice, parallel_tool_calls=False, reasoning=False
    )
    message = run(CHAT, tools=FEW, structured_output_config=config, max_new_tokens=300)
    assert not message.malformed
    assert choice == "auto" or [call.name for call in message.tool_calls] == ["get_weather"]
    for call in message.tool_calls:
        arguments = json.loads(call.arguments)
        assert arguments.pop("city") in ("Paris", "Rome")
        assert arguments in ({}, {"days": 1}, {"days": 2}, {"days": 3})
    assert choice == "auto" or message.content == ""
    assert (family, choice) != ("hermes", "auto") or message.tool_calls


def test_an_answer_of_a_schema(tmp_path: Path) -> None:
    path, _ = write_model(tmp_path / "model.gguf", ANSWER)
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    message = pipeline(path)(
        CHAT, structured_output_config=structured_output(response_format=wanted), max_new_tokens=300
    )
    assert json.loads(message.content)["ok"] in (True, False)
    assert structured_output(response_format={"type": "json_object"}).grammar


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"grammar": 'root ::= "a"', "response_format": {"type": "json_object"}},
        {"tools": FEW},
        {"tools": FEW, "format": "hermes", "tool_choice": "nothing"},
        {"tools": FEW, "format": "hermes", "tool_choice": {"type": "function"}},
        {"response_format": {"type": "text"}},
        {"response_format": {"type": "json_schema"}},
        {"grammar": unspool.get_format("hermes").grammar(FEW)},
    ],
)
def test_what_names_no_grammar(arguments: Any) -> None:
    with pytest.raises(ArgumentError):
        structured_output(**arguments)


@pytest.mark.parametrize("grammar", ['start: "a"', "", 3, {"type": "tag", "begin": object()}])
def test_what_is_no_grammar(grammar: Any) -> None:
    with pytest.raises(ArgumentError):
        structured_output(grammar)


def test_a_wrong_grammar_in_a_batch(batching: ContinuousBatching) -> None:
    """The request fails, at once or in its stream; those that come after it are answered."""
    with pytest.raises(RuntimeError, match="EBNF"):
        list(
            batching.stream(
                CHAT, max_new_tokens=5, structured_output_config=structured_output("root ::= (((")
            )
        )
    assert added(list(batching.stream(CHAT, tools=TOOLS, max_new_tokens=200)))[1] == ARGUMENTS
    assert wait_until_idle(batching)
