"""An engine of one's own, in this process: what it is asked for, and what becomes of what it gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("aiohttp")
from unspool import ArgumentError, get_format
from unspool.errors import ContextLengthError, EngineError
from unspool.serve.engines import Engine, EngineModel, EngineOutput, EngineRequest, Replicas
from unspool.testing.marker_tokenizer import marker_tokenizer

CALL = '<think>\nI must look.\n</think>\n\n<tool_call>\n{"name": "now", "arguments": {"zone": "é漢"}}\n</tool_call>'
TOOL = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}
USER = [{"role": "user", "content": "hi"}]


class Scripted(Engine):
    """Writes a text in pieces of so many ids."""

    grammar_syntax = "gbnf"

    def __init__(self, text: str = CALL, size: int = 1, end: str | None = "stop") -> None:
        self.tokenizer = marker_tokenizer(get_format("qwen3"))
        self.tokenizer.chat_template = None
        self._text, self._size, self._end = text, size, end
        self.asked: list[EngineRequest] = []
        self.closed_count = 0

    def ids_of(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:
        self.asked.append(request)
        try:
            ids = self.ids_of(self._text)
            for at in range(0, len(ids), self._size):
                await asyncio.sleep(0)
                some = ids[at : at + self._size]
                logprobs = [(-0.5, [(id, -0.5)]) for id in some]
                yield EngineOutput(token_ids=some, logprobs=logprobs)
            yield EngineOutput(finish_reason=self._end, cached_tokens=7)
        finally:
            self.closed_count += 1


def model_of(engine: Any, **options: Any) -> EngineModel:
    return EngineModel(engine, engine.tokenizer, **{"format": "qwen3", **options})


def read(engine: Any, prompt: Any = "hi", **options: Any) -> Any:
    with model_of(engine).stream(prompt, **options) as stream:
        for _ in stream:
            pass
        return stream.result


def test_a_request_has_the_prompt_once() -> None:
    """Text and ids of a long prompt would be twice the memory while the engine runs."""
    engine = Scripted()
    read(engine)
    assert [(request.prompt_text, len(request.prompt_ids or ())) for request in engine.asked] == [(None, 2)]
    engine.gives_ids = False
    read(engine)
    assert [(request.prompt_text, request.prompt_ids) for request in engine.asked[1:]] == [("hi", None)]


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_an_answer_is_the_same_in_pieces_of_any_size(size: int) -> None:
    result = read(Scripted(size=size), tools=[TOOL])
    (call,) = result.tool_calls
    assert (result.reasoning, json.loads(call.arguments)) == ("I must look.", {"zone": "é漢"})
    assert (result.finish_reason, result.usage.cached_tokens) == ("tool_calls", 7)
    engine = Scripted()
    assert list(result.token_ids) == engine.ids_of(CALL)
    assert result.usage.prompt_tokens == len(engine.ids_of("hi"))


def test_several_answers_are_requests_with_seeds_of_their_own() -> None:
    engine = Scripted("ab")
    result = read(engine, sampling={"n": 3, "seed": 2**64 - 1, "temperature": 1.0})
    assert [choice.message.content for choice in result.choices] == ["ab"] * 3
    assert sorted(request.sampling.seed for request in engine.asked) == [0, 1, 2**64 - 1]
    assert {request.sampling.n for request in engine.asked} == {1}


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("sampling", "content", "reason"),
    [
        ({"stop": "cd"}, "ab", "stop"),
        ({"stop_token_ids": ["d"]}, "abcd", "stop"),
        ({"max_tokens": 3}, "abc", "length"),
        ({"max_tokens": 4, "stop_token_ids": ["e"]}, "abcd", "length"),
    ],
)
def test_an_answer_ends_where_the_request_says(
    size: int, sampling: dict[str, Any], content: str, reason: str
) -> None:
    engine = Scripted("abcdefgh", size)
    ends = [engine.ids_of(text)[0] for text in sampling.get("stop_token_ids", ())]
    result = read(engine, sampling={**sampling, **({"stop_token_ids": ends} if ends else {})})
    assert (result.text, result.finish_reason) == (content, reason)
    assert engine.closed_count == 1
    assert result.usage.completion_tokens <= len(content) + len(sampling.get("stop", "")) + size


def test_the_reasoning_ends_where_its_budget_does_and_the_answer_goes_on() -> None:
    """The request that goes on has the prompt, what was written, and the closing marker."""

    class Thinking(Scripted):
        async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:
            self._text = "<think>\nabcdefgh" if not self.asked else "done"
            async for output in super().generate(request):
                yield output

    engine = Thinking()
    result = read(engine, sampling={"max_reasoning_tokens": 4, "max_tokens": 50, "min_tokens": 9})
    first, second = engine.asked
    closer = engine.ids_of("\n</think>\n\n")
    assert list(second.prompt_ids or ()) == [
        *(first.prompt_ids or ()),
        *engine.ids_of("<think>\nabc"),
        *closer,
    ]
    assert result.reasoning == "abc"
    assert result.text == "done"
    written = len(engine.ids_of("<think>\nabc")) + len(closer)
    assert second.sampling.max_tokens == 50 - written
    assert (second.sampling.min_tokens or 0) == max(0, 9 - written)
    assert engine.closed_count == 2


def test_a_model_that_thinks_again_and_again_ends_at_its_limit() -> None:
    """Each request has the prompt and all that was written, once."""
    engine = Scripted("<think>\nabcdefgh")
    result = read(engine, "hi", sampling={"max_reasoning_tokens": 4, "max_tokens": 40})
    assert (result.finish_reason, result.usage.completion_tokens >= 40) == ("length", True)
    prompt, *behind = [list(request.prompt_ids or ()) for request in engine.asked]
    written = [*prompt, *result.token_ids]
    assert len(behind) > 1
    assert all(ids == written[: len(ids)] for ids in behind)


def test_a_prompt_that_opens_reasoning_without_a_budget_is_closed_at_once() -> None:
    engine = Scripted("done")
    result = read(engine, "<|im_start|>assistant\n<think>\n", sampling={"max_reasoning_tokens": 0})
    (request,) = engine.asked
    assert engine.tokenizer.decode(list(request.prompt_ids or ()), skip_special_tokens=False).endswith(
        "</think>\n\n"
    )
    assert result.text == "done"


def test_a_grammar_comes_in_the_engines_syntax() -> None:
    engine = Scripted('<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>')
    read(engine, tools=[TOOL], tool_choice="required")
    grammar = engine.asked[0].grammar
    assert grammar is not None
    assert (grammar.syntax, "root ::=" in grammar.text) == ("gbnf", True)

    class Free(Scripted):
        grammar_syntax = None

    with pytest.raises(ArgumentError, match="has no grammars"):
        read(Free(), tools=[TOOL], tool_choice="required")
    assert read(Free(), tools=[TOOL]).tool_calls


def test_log_probabilities_have_the_bytes_of_their_ids() -> None:
    result = read(Scripted("é"), sampling={"logprobs": 1})
    entries = result.choices[0].logprobs
    assert b"".join(entry.token for entry in entries) == "é".encode()
    assert all(entry.logprob == -0.5 and len(entry.top) == 1 for entry in entries)


def test_an_engine_without_log_probabilities_is_an_error() -> None:
    class Silent(Scripted):
        async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:  # noqa: ARG002
            yield EngineOutput(token_ids=self.ids_of("a"), finish_reason="stop")

    with pytest.raises(EngineError, match="no log-probability for each token"):
        read(Silent(), sampling={"logprobs": 0})


@pytest.mark.parametrize("ids", [[-1], [2**40]])
def test_wrong_ids_are_the_engines_fault(ids: Sequence[int]) -> None:
    class Wrong(Scripted):
        async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:  # noqa: ARG002
            yield EngineOutput(token_ids=ids)

    with pytest.raises(EngineError, match="no answer") as raised:
        read(Wrong())
    assert raised.value.status == 502


def test_an_answer_without_an_end_is_no_answer() -> None:
    with pytest.raises(EngineError, match="without saying why"):
        read(Scripted("ab", end=None))


def test_the_consumer_that_leaves_closes_the_generator() -> None:
    class Endless(Scripted):
        async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:  # noqa: ARG002
            try:
                while True:
                    await asyncio.sleep(0.001)
                    yield EngineOutput(token_ids=self.ids_of("a"))
            finally:
                self.closed_count += 1

    engine = Endless()
    with model_of(engine).stream("hi", sampling={"max_tokens": 10**9}) as stream:
        next(stream)
    assert stream._worker.join(5)
    assert engine.closed_count == 1
    assert stream.result.finish_reason == "cancelled"


def test_a_reader_that_waits_holds_the_engine_up() -> None:
    """The engine is not asked for more than some deltas that no one has read."""

    class Fast(Scripted):
        given_count = 0

        async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:  # noqa: ARG002
            for _ in range(5000):
                self.given_count += 1
                yield EngineOutput(token_ids=self.ids_of("a"))
            yield EngineOutput(finish_reason="stop")

    engine = Fast()
    with model_of(engine).stream("hi", sampling={"max_tokens": 10_000}) as stream:
        assert not stream._worker.join(0.5)
        assert engine.given_count < 1000
        assert sum(len(delta.text or "") for delta in stream) == 5000


@pytest.mark.parametrize("drains", [False, True])
def test_a_slow_reader_of_several_answers_gets_all_of_each(drains: bool) -> None:
    """They wait for the same room."""

    class Fast(Scripted):
        async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:  # noqa: ARG002
            for at in range(1500):
                if at % 7 == 0:
                    await asyncio.sleep(0)
                yield EngineOutput(token_ids=self.ids_of("a"))
            yield EngineOutput(finish_reason="stop")

    sampling = {"n": 3, "temperature": 1.0, "max_tokens": 10_000}
    with model_of(Fast()).stream("hi", sampling=sampling, timeout=30) as stream:
        while drains and stream.is_running:
            stream._worker.join(0.002)
            stream.drain()
        for _ in stream:
            pass
        assert [len(choice.message.content) for choice in stream.result.choices] == [1500] * 3


def test_the_limit_is_what_the_context_leaves() -> None:
    engine = Scripted("ab")
    engine.context_length = 10
    read(engine, "abc")
    assert engine.asked[0].sampling.max_tokens == 7
    with pytest.raises(ContextLengthError, match="maximum context length is 10"):
        read(engine, "abc", sampling={"max_tokens": 8})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sampling": {"n": 2, "temperature": 0}}, "decoding is greedy"),
        ({"prefill": "a", "response_format": {"type": "json_object"}, "prompt": USER}, "leave one out"),
        ({"sampling": {"ignore_eos": True}, "response_format": {"type": "json_object"}}, "ignore_eos"),
        ({"prompt": []}, "empty"),
        ({"prompt": ""}, "empty"),
        (
            {"prompt": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "images",
        ),
    ],
)
def test_what_cannot_be_honoured_raises_at_once(options: dict[str, Any], told: str) -> None:
    engine = Scripted()
    with pytest.raises(ArgumentError, match=told):
        read(engine, **options)
    assert not engine.asked


class Failing(Scripted):
    """Fails as it is told, so many times."""

    def __init__(self, name: str, fail: Callable[[], Exception], times: int = 10**9, begun: str = "") -> None:
        super().__init__(name)
        self._fail, self._times, self._begun = fail, times, begun

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:
        if len(self.asked) < self._times:
            self.asked.append(request)
            if self._begun:
                yield EngineOutput(token_ids=self.ids_of(self._begun))
            raise self._fail()
        async for output in super().generate(request):
            yield output

    async def check_ready(self) -> None:
        if len(self.asked) < self._times:
            raise self._fail()


def gone() -> EngineError:
    return EngineError("gone", 503, is_retryable=True)


class Both(Replicas):
    """With a tokenizer for `model_of`."""

    def __init__(self, *engines: Any) -> None:
        super().__init__(engines)
        self.tokenizer = engines[0].tokenizer


def test_another_replica_answers_for_one_that_is_gone() -> None:
    a, b = Failing("a", gone), Failing("b", gone, times=0)
    for _ in range(3):
        assert read(Both(a, b)).text == "b"
        assert read(Both(b, a)).text == "b"


def test_the_same_engine_is_asked_once_more() -> None:
    engine = Failing("a", gone, times=1)
    assert read(Both(engine)).text == "a"
    assert len(engine.asked) == 2
    dead = Failing("a", gone)
    with pytest.raises(EngineError, match="gone"):
        read(Both(dead))
    assert len(dead.asked) == 2


def test_what_has_begun_is_not_begun_again() -> None:
    a, b = Failing("a", gone, begun="x"), Failing("b", gone, begun="x")
    with pytest.raises(EngineError, match="gone"):
        read(Both(a, b))
    assert len(a.asked) + len(b.asked) == 1


def test_a_refusal_is_not_asked_again() -> None:
    a, b = (Failing(name, lambda: EngineError("no such field", 400)) for name in "ab")
    with pytest.raises(EngineError, match="no such field"):
        read(Both(a, b))
    assert len(a.asked) + len(b.asked) == 1


def test_one_replica_that_answers_is_enough_and_comes_first() -> None:
    a, b = Failing("a", gone), Failing("b", gone, times=0)
    both = Both(a, b)
    asyncio.run(both.check_ready())
    assert {both._order(str(session))[0] for session in range(20)} == {1}
    with pytest.raises(EngineError, match="gone"):
        asyncio.run(Both(a).check_ready())


def test_a_conversation_stays_with_its_replica() -> None:
    replicas = Both(*(Failing(name, gone, times=0) for name in "abc"))
    first = [replicas._order(str(session))[0] for session in range(60)]
    assert first == [replicas._order(str(session))[0] for session in range(60)]
    assert all(first.count(place) > 5 for place in range(3))


def test_each_request_names_its_conversation() -> None:
    engine = Scripted("yes")
    for prompt in ("a text", "another text", "a text"):
        read(engine, prompt)
    first, second, third = (request.session for request in engine.asked)
    assert first == third != second
