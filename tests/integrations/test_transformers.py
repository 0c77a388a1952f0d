"""transformers: what its pipeline, streamer and batch manager stream is what one-shot parsing gives."""

from __future__ import annotations

import asyncio
import functools
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is missing: pip install 'unspool[transformers]'")
transformers = pytest.importorskip("transformers", reason="pip install 'unspool[transformers]'")

import unspool  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from unspool.errors import ArgumentError, ChannelTimeoutError, StreamError  # noqa: E402
from unspool.integrations.transformers import (  # noqa: E402
    ContinuousBatching,
    DeltaIteratorStreamer,
    TextGeneration,
    pipeline,
)

from ..outputs import TOOLS, outputs  # noqa: E402
from ..scripts import load_script  # noqa: E402
from ..tiny_models import TEMPLATE, make_byte_tokenizer, make_llama  # noqa: E402

ROOT = Path(__file__).parents[2]
in_checkout = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="runs in a checkout")
has_batching = pytest.mark.skipif(
    int(transformers.__version__.split(".")[0]) < 5, reason="continuous batching needs transformers 5"
)
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>'
CHAT = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return make_byte_tokenizer(chat_template=TEMPLATE, model_input_names=["input_ids", "attention_mask"])


@pytest.fixture(scope="session")
def model(tokenizer: Any) -> Any:
    return make_llama(tokenizer)


@pytest.fixture
def writes(model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The model, made to write a text: the logits of its ids, one after the other, after the prompt."""

    def make(text: str) -> Any:
        ids = [*tokenizer(text)["input_ids"], tokenizer.eos_token_id]
        forward = type(model).forward
        left = iter(ids)

        def scripted(self: Any, *args: Any, **kwargs: Any) -> Any:
            out = forward(self, *args, **kwargs)
            out.logits = torch.full_like(out.logits, -1e9)
            out.logits[..., next(left, tokenizer.eos_token_id)] = 0.0
            return out

        monkeypatch.setattr(type(model), "forward", scripted)
        return model

    return make


def key(message: unspool.Message) -> tuple[Any, ...]:
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    return message.content, message.reasoning, calls, message.malformed, message.finish_reason


# the pipeline


@pytest.mark.parametrize(
    "text", ["Hello.", f"<think>\nHm.\n</think>\n\nI look. {CALL}", CALL + "\n" + CALL, ""]
)
def test_a_pipeline_streams_and_gives_what_parsing_gives(writes: Any, tokenizer: Any, text: str) -> None:
    expected = key(unspool.parse(text, "qwen3", TOOLS))
    pipe = pipeline("text-generation", writes(text), tokenizer, format="qwen3", prefill=False)
    assert key(pipe(CHAT, tools=TOOLS, max_new_tokens=300, do_sample=False)) == expected
    pipe = pipeline("text-generation", writes(text), tokenizer, format="qwen3", prefill=False)
    with pipe(CHAT, tools=iter(TOOLS), stream=True, max_new_tokens=300, do_sample=False) as deltas:
        content = "".join(delta.to_openai().get("content", "") for delta in deltas)
    assert key(deltas.message) == expected
    assert content == expected[0]


def test_a_pipeline_of_several_prompts_and_of_transformers(model: Any, tokenizer: Any) -> None:
    theirs = transformers.pipeline("text-generation", model=model, tokenizer=tokenizer)
    pipe = pipeline("text-generation", theirs, format="none")
    options = {"max_new_tokens": 5, "do_sample": False}
    alone = [key(pipe(prompt, **options)) for prompt in ("a", "bc")]
    assert [key(message) for message in pipe(["a", "bc"], **options)] == alone
    ids = tokenizer("a")["input_ids"]
    assert key(pipe(ids, **options)) == alone[0]
    written = theirs("a", return_full_text=False, **options)[0]["generated_text"]
    assert alone[0][0] == written
    assert isinstance(pipe([CHAT, CHAT], **options), list)


def test_a_pipeline_from_a_folder(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    pipe = pipeline(model=str(tmp_path), device="cpu", model_kwargs={"torch_dtype": torch.float32})
    assert isinstance(pipe, TextGeneration)
    assert pipe(CHAT, max_new_tokens=3, do_sample=False).finish_reason == "length"


def test_a_pipeline_takes_the_arguments_of_transformers(
    model: Any, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    of_tokenizer: dict[str, Any] = {}
    load = transformers.AutoTokenizer.from_pretrained

    def load_tokenizer(name: Any, **options: Any) -> Any:
        of_tokenizer.update(options)
        return load(name, **options)

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", load_tokenizer)
    source = {"revision": "main", "trust_remote_code": True, "token": None}
    pipe = pipeline("text-generation", tmp_path, device=-1, torch_dtype=torch.bfloat16, **source)
    assert pipe.model.dtype == torch.bfloat16
    assert of_tokenizer == source
    options = {"max_new_tokens": 3, "do_sample": False}
    assert key(pipe(CHAT, return_full_text=False, **options)) == key(pipe(CHAT, **options))
    with pytest.raises(ArgumentError, match="return_full_text"):
        pipe(CHAT, return_full_text=True, **options)


def test_a_pipeline_gives_every_answer_that_was_asked_for(model: Any, tokenizer: Any) -> None:
    pipe = pipeline("text-generation", model, tokenizer, format="none")
    options = {"max_new_tokens": 6, "do_sample": True, "seed": 3}
    streamed = ["", ""]
    for delta in pipe("a", num_return_sequences=2, stream=True, **options):
        streamed[delta.choice] += delta.text
    assert len(set(streamed)) == 2
    assert [message.content for message in pipe("a", num_return_sequences=2, **options)] == streamed
    assert [message.content for message in pipe("a", n=2, **options)] == streamed
    assert [len(messages) for messages in pipe(["a", "b"], n=2, **options)] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"task": "fill-mask", "model": "x"}, "only 'text-generation'"),
        ({}, "model is None"),
        ({"model": object()}, "tokenizer is None"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(ArgumentError, match=what):
        pipeline(**arguments)


def test_several_prompts_are_no_stream(model: Any, tokenizer: Any) -> None:
    pipe = pipeline("text-generation", model, tokenizer)
    with pytest.raises(ArgumentError, match="one prompt"):
        pipe(["a", "b"], stream=True)
    with pytest.raises(ArgumentError, match="loaded already"):
        pipeline("text-generation", model, tokenizer, model_kwargs={"dtype": "auto"})


# the streamer


@settings(max_examples=40)
@given(text=outputs("qwen3"), data=st.data())
def test_a_streamer_at_any_split(tokenizer: Any, text: str, data: st.DataObject) -> None:
    ids = tokenizer(text)["input_ids"]
    streamer = DeltaIteratorStreamer(tokenizer, "qwen3", TOOLS)
    streamer.put(torch.tensor([[65, 66]]))  # as `generate` puts its prompt
    while ids:
        count = data.draw(st.integers(1, 8))
        streamer.put(torch.tensor(ids[:count]))
        ids = ids[count:]
    streamer.end()
    content = "".join(delta.to_openai().get("content", "") for delta in streamer)
    whole = unspool.parse(tokenizer(text)["input_ids"], "qwen3", TOOLS, tokenizer=tokenizer)
    assert key(streamer.message) == key(whole)
    assert content == whole.content


def test_a_streamer_in_generate(writes: Any, tokenizer: Any) -> None:
    text = f"I look. {CALL}"
    streamer = DeltaIteratorStreamer(tokenizer, "qwen3", TOOLS, timeout=30)
    ids = torch.tensor([tokenizer("hi")["input_ids"]])
    options = {"input_ids": ids, "streamer": streamer, "max_new_tokens": 300, "do_sample": False}
    thread = threading.Thread(target=writes(text).generate, kwargs=options)
    thread.start()

    async def read() -> list[unspool.Delta]:
        return [delta async for delta in streamer]

    deltas = asyncio.run(read())
    thread.join()
    assert key(streamer.message) == key(unspool.parse(text, "qwen3", TOOLS))
    assert deltas[-1].finish_reason == "tool_calls"


def test_a_streamer_waits_no_longer_than_its_timeout(tokenizer: Any) -> None:
    with pytest.raises(ChannelTimeoutError):
        list(DeltaIteratorStreamer(tokenizer, "qwen3", timeout=0.01))
    streamer = DeltaIteratorStreamer(tokenizer, "qwen3")
    streamer.put([72])
    streamer.fail(ValueError("out of memory"))
    seen = []
    with pytest.raises(ValueError, match="out of memory"):
        seen.extend(delta.text for delta in streamer)


# continuous batching


class Manager:
    """A manager whose requests write what the test says, step by step, as transformers' reports it."""

    def __init__(self, tokenizer: Any, texts: dict[int, str]) -> None:
        self.generation_config = SimpleNamespace(max_new_tokens=1000, eos_token_id=tokenizer.eos_token_id)
        self.cancelled: list[str] = []
        self.dies_after: int | None = None
        self._texts = {
            number: [*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for number, text in texts.items()
        }
        self._running: dict[str, tuple[list[int], int]] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._results = self._make()

    def is_running(self) -> bool:
        return self.dies_after is None or self._count < self.dies_after

    def add_request(self, ids: list[int], *, request_id: str, streaming: bool, **_: Any) -> str:
        assert streaming
        with self._lock:
            self._running[request_id] = (self._texts[ids[0] - ord("0")], 0)
        return request_id

    def cancel_request(self, request_id: str) -> None:
        with self._lock:
            self.cancelled.append(request_id)
            self._running.pop(request_id, None)

    def get_result(self, timeout: float) -> Any:
        assert timeout > 0
        return next(self._results)

    def _make(self) -> Iterator[Any]:
        while True:
            with self._lock:
                step = list(self._running)
            for request_id in step:
                with self._lock:
                    if not self.is_running() or request_id not in self._running:
                        continue
                    ids, seen = self._running[request_id]
                    seen += 1 + self._count % 3  # several at a time, as after an offload
                    self._running[request_id] = (ids, seen)
                    self._count += 1
                    done = seen >= len(ids)
                    if done:
                        del self._running[request_id]
                yield SimpleNamespace(
                    request_id=request_id,
                    generated_tokens=ids[:seen],
                    error=None,
                    is_finished=functools.partial(bool, done),
                )
            yield None


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(outputs("qwen3"), min_size=1, max_size=5))
def test_each_request_of_a_batch_is_as_if_alone(tokenizer: Any, texts: list[str]) -> None:
    batching = ContinuousBatching(Manager(tokenizer, dict(enumerate(texts))), tokenizer, format="qwen3")
    streams = [batching.stream([ord("0") + number], tools=TOOLS) for number in range(len(texts))]
    for text, stream in zip(texts, streams, strict=True):
        content = "".join(delta.to_openai().get("content", "") for delta in stream)
        ids = tokenizer(text)["input_ids"]
        whole = unspool.parse(
            [*ids, tokenizer.eos_token_id], "qwen3", TOOLS, tokenizer=tokenizer, prompt=[ord("0")]
        )
        assert key(stream.message) == key(whole)
        assert content == whole.content


def test_a_stop_string_and_a_reader_that_leaves(tokenizer: Any) -> None:
    manager = Manager(tokenizer, {0: "one STOP two" + "x" * 10_000, 1: "y" * 100_000})
    batching = ContinuousBatching(manager, tokenizer, format="qwen3")
    stopped = batching.stream([ord("0")], stop="STOP")
    with batching.stream([ord("1")]) as left:
        assert next(left).text
    assert list(left) == []
    assert "".join(delta.text for delta in stopped) == "one "
    assert stopped.message.finish_reason == "stop"
    assert set(manager.cancelled) >= {left.request_id, stopped.request_id}
    dropped = batching.stream([ord("1")])
    request_id = dropped.request_id
    next(dropped)
    del dropped
    assert request_id in manager.cancelled


def test_a_manager_that_dies_raises_in_every_loop(tokenizer: Any) -> None:
    manager = Manager(tokenizer, {0: "x" * 100_000, 1: "y" * 100_000})
    batching = ContinuousBatching(manager, tokenizer, format="qwen3")
    streams = [batching.stream([ord("0") + number]) for number in range(2)]
    for stream in streams:
        next(stream)
    manager.dies_after = 0
    for stream in streams:
        with pytest.raises(RuntimeError, match="stopped before"):
            list(stream)
    with pytest.raises(StreamError, match="not running"):
        batching.stream([ord("0")])


def test_bad_batches(tokenizer: Any) -> None:
    with pytest.raises(ArgumentError, match="init_continuous_batching"):
        ContinuousBatching(object(), tokenizer, format="qwen3")
    batching = ContinuousBatching(Manager(tokenizer, {}), tokenizer, format="qwen3")
    with pytest.raises(ArgumentError, match="empty"):
        batching.stream([])
    for prompt in (None, 5, b"abc", ["a", "b"], [[1], [2]], torch.tensor([[1], [2]])):
        with pytest.raises(ArgumentError, match=r"prompt|row"):
            batching.stream(prompt)
    for options, what in (
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"request_id": "mine"}, "request_id cannot be passed"),
        ({"streaming": False}, "streaming cannot be passed"),
    ):
        with pytest.raises(ArgumentError, match=what):
            batching.stream([65], **options)


def test_a_prompt_of_ids_in_every_shape(tokenizer: Any) -> None:
    batching = ContinuousBatching(Manager(tokenizer, {0: "yes"}), tokenizer, format="none")
    ids = [ord("0"), 65]
    row = torch.tensor([ids])
    for prompt in (ids, tuple(ids), row, row[0], row.numpy(), transformers.BatchEncoding({"input_ids": row})):
        stream = batching.stream(prompt)
        assert "".join(delta.text for delta in stream) == "yes"


def test_a_request_that_the_manager_refuses_leaves_nothing(tokenizer: Any) -> None:
    manager = Manager(tokenizer, {0: "yes"})
    batching = ContinuousBatching(manager, tokenizer, format="none")
    for refusal in (TimeoutError("the queue is full"), None):

        def refuse(*_: Any, refusal: Exception | None = refusal, **__: Any) -> None:
            if refusal is not None:
                raise refusal

        manager.add_request, add = refuse, manager.add_request  # type: ignore[method-assign]
        with pytest.raises((TimeoutError, StreamError)):
            batching.stream([ord("0")])
        manager.add_request = add  # type: ignore[method-assign]
    assert list(batching.stream([ord("0")]))
    reader = batching._reader
    if reader is not None:  # it ends with the last request
        reader.join(10)
    assert batching._reader is None


def test_a_request_has_end_tokens_of_its_own(tokenizer: Any) -> None:
    manager = Manager(tokenizer, {0: "abc"})
    batching = ContinuousBatching(manager, tokenizer, format="none")
    for options, reason in (({}, "stop"), ({"eos_token_id": [7, 8]}, "length")):
        stream = batching.stream([ord("0")], max_new_tokens=4, **options)
        assert list(stream)[-1].finish_reason == reason


@pytest.fixture
def manager(model: Any) -> Iterator[Any]:
    """transformers' own, on the CPU."""
    config = transformers.ContinuousBatchingConfig(num_blocks=16, max_batch_tokens=64)
    generation = transformers.GenerationConfig(
        max_new_tokens=8, do_sample=False, eos_token_id=model.config.eos_token_id, pad_token_id=0
    )
    made = model.init_continuous_batching(generation_config=generation, continuous_batching_config=config)
    made.start()
    yield made
    made.stop(block=True, timeout=30)
    made.destroy()


@has_batching
@pytest.mark.filterwarnings("ignore")
def test_transformers_own_manager_on_the_cpu(manager: Any, tokenizer: Any) -> None:
    """Six requests at a time: each message is what parsing the manager's own ids in one shot gives."""
    written: dict[str, list[int]] = {}
    get_result = manager.get_result

    def recorded(**options: Any) -> Any:
        result = get_result(**options)
        if result is not None:
            written[result.request_id] = list(result.generated_tokens)
        return result

    manager.get_result = recorded
    batching = ContinuousBatching(manager, tokenizer, format="qwen3", skip_special_tokens=False)
    prompts = ["hello", "bye you", "a", "b", "ab", "xyz" * 9]
    streams = [
        batching.stream(prompt, max_new_tokens=4 + number, tools=TOOLS)
        for number, prompt in enumerate(prompts)
    ]
    for number, (prompt, stream) in enumerate(zip(prompts, streams, strict=True)):
        deltas = list(stream)
        ids = written[stream.request_id]
        assert len(ids) == 4 + number or ids[-1] == tokenizer.eos_token_id
        reason = "stop" if ids[-1] == tokenizer.eos_token_id else "length"
        whole = unspool.parse(
            ids, "qwen3", TOOLS, finish_reason=reason, tokenizer=tokenizer,
            prompt=tokenizer(prompt)["input_ids"], skip_special_tokens=False,
        )  # fmt: skip
        assert key(stream.message) == key(whole)
        assert deltas[-1].kind == "finish"


@has_batching
@pytest.mark.filterwarnings("ignore")
def test_async_and_cancel_on_transformers_own(manager: Any, tokenizer: Any) -> None:
    batching = ContinuousBatching(manager, tokenizer, format="none")
    long = batching.stream("hello", max_new_tokens=500)

    async def read() -> unspool.Message:
        stream = batching.stream(CHAT, max_new_tokens=5)
        async for _ in stream:
            pass
        return stream.message

    assert asyncio.run(read()).finish_reason in ("length", "stop")
    next(long)
    long.cancel()
    assert list(long) == []


# the page and the example


@in_checkout
def test_the_pages_first_block(
    model: Any, tokenizer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it stands, but for the model's name."""
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    block = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "transformers.md").read_text(), re.S)
    assert block
    assert "Qwen/Qwen3-0.6B" in block.group(1)
    exec(compile(block.group(1).replace("Qwen/Qwen3-0.6B", str(tmp_path)), "page", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) > 2
    assert any("content" in line for line in printed)


@in_checkout
@pytest.mark.filterwarnings("ignore")
def test_the_pages_other_blocks(model: Any, tokenizer: Any, request: pytest.FixtureRequest) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "transformers.md").read_text(), re.S)
    names = {"model": model, "tokenizer": tokenizer, "messages": CHAT, "tools": TOOLS, "chats": [CHAT, CHAT]}
    exec(compile(blocks[1], "page", "exec"), names)
    if int(transformers.__version__.split(".")[0]) < 5:
        return
    manager = request.getfixturevalue("manager")
    names["manager"] = manager
    inside = blocks[2].replace("with model.continuous_batching_context_manager() as manager:", "if True:")
    exec(compile(inside, "page", "exec"), names)


@in_checkout
def test_the_example(model: Any, tokenizer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "examples" / "transformers" / "weather.py"
    example = load_script(path)
    example.one(pipeline("text-generation", model, tokenizer), "hi")
    assert "assistant" in capsys.readouterr().out.splitlines()[-1]


def test_without_transformers_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "unspool.integrations.transformers")
    with pytest.raises(ImportError, match=r"pip install 'unspool\[transformers\]'"):
        import unspool.integrations.transformers  # noqa: F401
