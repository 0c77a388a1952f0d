"""The official clients against the demo: what each assembles is the message that the parser gives in one shot."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import unspool
from unspool.testing.cases import Case, shipped_cases

from .conftest import TOOL, USER, running

FORMATS = [
    "hermes", "qwen3", "qwen3_coder", "mistral", "llama3_json", "openai", "gemma4", "deepseek_v31", "glm45",
    "kimi_k2", "minimax_m2", "lfm2", "granite", "step3",
]  # fmt: skip


def is_told(case: Case) -> bool:
    """Whether all of it has a place on the wire: a call that broke off has none for its rest."""
    return all(status != "malformed" for _, _, status in case.calls)


CASES = [case for name in FORMATS for case in shipped_cases(name) if is_told(case)]


def one_shot(case: Case) -> unspool.Message:
    tools = None if case.tools is None else list(case.tools)
    return unspool.parse(case.input, case.format, tools, finish_reason=case.finish_reason, **case.options)


def model_of(case: Case) -> str:
    return f"{case.format}:{case.name}"


# What each client found: content, reasoning, [(name, arguments)], finish reason.
Found = tuple[str, str, list[tuple[str, Any]], str]


def calls_of(message: unspool.Message) -> list[tuple[str, Any]]:
    """The calls on the wire: of one that was cut off before its arguments, an opening brace."""
    return [(call.name, call.arguments or "{") for call in message.tool_calls]


def expected(case: Case) -> Found:
    message = one_shot(case)
    return message.content, message.reasoning, calls_of(message), str(message.finish_reason)


def expected_objects(case: Case) -> Found:
    """Arguments as objects, for clients that show no text; None for those of a call that was cut off."""
    content, reasoning, _, reason = expected(case)
    calls = [
        (call.name, json.loads(call.arguments) if call.is_complete else None)
        for call in one_shot(case).tool_calls
    ]
    return content, reasoning, calls, reason


@pytest.fixture(scope="module")
def openai_client(demo_url: str) -> Iterator[Any]:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{demo_url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def anthropic_client(demo_url: str) -> Iterator[Any]:
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(base_url=demo_url, api_key="none", max_retries=0) as client:
        yield client


def read_choice(choice: Any) -> Found:
    message = choice.message
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    assert all(call.id for call in message.tool_calls or ())
    reasoning = getattr(message, "reasoning_content", None)
    return message.content or "", reasoning or "", calls, choice.finish_reason


@pytest.mark.parametrize("format", FORMATS)
def test_chat_streamed(openai_client: Any, format: str) -> None:
    import openai

    for case in (case for case in CASES if case.format == format):
        reasoning = ""
        with openai_client.chat.completions.stream(model=model_of(case), messages=USER) as stream:
            try:
                for event in stream:
                    if event.type == "chunk" and event.chunk.choices:
                        reasoning += getattr(event.chunk.choices[0].delta, "reasoning_content", None) or ""
                completion = stream.get_final_completion()
            except openai.LengthFinishReasonError as cut:  # how this helper reports a cut
                completion = cut.completion
            found = read_choice(completion.choices[0])
        assert (found[0], reasoning, *found[2:]) == expected(case), case


@pytest.mark.parametrize("format", FORMATS)
def test_chat_whole(openai_client: Any, format: str) -> None:
    for case in (case for case in CASES if case.format == format):
        answer = openai_client.chat.completions.create(model=model_of(case), messages=USER)
        assert read_choice(answer.choices[0]) == expected(case), case


def read_response(response: Any) -> Found:
    calls, reasoning = [], ""
    for item in response.output:
        if item.type == "function_call":
            calls.append((item.name, item.arguments))
        elif item.type == "reasoning":
            reasoning += "".join(part.text for part in item.summary)
    complete = all(item.status == "completed" for item in response.output if item.type == "function_call")
    reason = "tool_calls" if calls and complete else "stop"
    return response.output_text, reasoning, calls, reason if response.status == "completed" else "length"


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("streamed", [True, False])
def test_responses(openai_client: Any, format: str, streamed: bool) -> None:
    for case in (case for case in CASES if case.format == format):
        if streamed:
            with openai_client.responses.stream(model=model_of(case), input="Hello") as stream:
                for event in stream:
                    if event.type in ("response.completed", "response.incomplete"):
                        response = event.response
        else:
            response = openai_client.responses.create(model=model_of(case), input="Hello")
        assert read_response(response) == expected(case), case


_ANTHROPIC = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "stop_sequence": "stop"}


def read_message(message: Any) -> Found:
    content = "".join(block.text for block in message.content if block.type == "text")
    reasoning = "".join(block.thinking for block in message.content if block.type == "thinking")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    return content, reasoning, calls, _ANTHROPIC[message.stop_reason]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("streamed", [True, False])
def test_messages(anthropic_client: Any, format: str, streamed: bool) -> None:
    for case in (case for case in CASES if case.format == format):
        arguments = {"model": model_of(case), "messages": USER, "max_tokens": 4000}
        if streamed:
            with anthropic_client.messages.stream(**arguments) as stream:
                message = stream.get_final_message()
        else:
            message = anthropic_client.messages.create(**arguments)
        content, reasoning, calls, reason = expected_objects(case)
        if not streamed and reason != "length":  # a body has no words for a call that broke off
            calls = [call for call in calls if call[1] is not None]
        found = read_message(message)
        shown = [call if other[1] is not None else other for call, other in zip(found[2], calls, strict=True)]
        assert (found[0], found[1], shown, found[3]) == (content, reasoning, calls, reason), case


def test_the_cases_hold_what_is_to_be_shown() -> None:
    """Chat, tools, parallel tools, no arguments, reasoning, an end by length: each in ten formats or more."""
    kinds: dict[str, set[str]] = {}
    for case in CASES:
        found = {
            "chat": bool(case.content and not case.calls),
            "tools": bool(case.calls),
            "parallel": len(case.calls) > 1,
            "no arguments": any(arguments == "{}" for _, arguments, _ in case.calls),
            "reasoning": bool(case.reasoning),
            "length": case.finish_reason == "length",
        }
        for kind in (name for name, is_there in found.items() if is_there):
            kinds.setdefault(kind, set()).add(case.format)
    assert {name: len(formats) >= 10 for name, formats in kinds.items()} == dict.fromkeys(kinds, True)
    assert len(kinds) == 6


@pytest.mark.parametrize("format", FORMATS)
def test_cut_by_length(openai_client: Any, anthropic_client: Any, format: str) -> None:
    """Each prefix of an answer is what its parser says of that prefix."""
    from unspool.serve.models.demo_model import _PIECE

    case = next(case for case in CASES if case.format == format and len(_PIECE.findall(case.input)) > 12)
    for count in (1, 3, 7, 11):
        cut = "".join(_PIECE.findall(case.input)[:count])
        tools = None if case.tools is None else list(case.tools)
        message = unspool.parse(cut, format, tools, finish_reason="length", **case.options)
        answer = openai_client.chat.completions.create(model=model_of(case), messages=USER, max_tokens=count)
        wanted = (message.content, message.reasoning, calls_of(message), "length")
        assert read_choice(answer.choices[0]) == wanted
        assert answer.usage.completion_tokens == count
        told = anthropic_client.messages.create(model=model_of(case), messages=USER, max_tokens=count)
        assert told.stop_reason == "max_tokens"
        assert told.usage.output_tokens == count


@pytest.mark.parametrize("format", FORMATS)
def test_two_answers(openai_client: Any, format: str) -> None:
    """n = 2 gives what two requests with two seeds give."""
    with openai_client.chat.completions.stream(
        model=format, messages=USER, n=2, seed=1, temperature=1.0
    ) as stream:
        for _ in stream:
            pass
        both = stream.get_final_completion().choices
    for index, seed in enumerate((1, 2)):
        alone = openai_client.chat.completions.create(model=format, messages=USER, seed=seed)
        assert both[index].index == index
        assert both[index].message.content == alone.choices[0].message.content
        assert both[index].finish_reason == alone.choices[0].finish_reason


def test_completions(openai_client: Any) -> None:
    """The text as the model wrote it, markup and all."""
    case = next(case for case in CASES if str(case) == "hermes: one call")
    whole = openai_client.completions.create(model=model_of(case), prompt="Hello")
    assert whole.choices[0].text == case.input
    pieces = openai_client.completions.create(model=model_of(case), prompt="Hello", stream=True)
    assert "".join(piece.choices[0].text for piece in pieces if piece.choices) == case.input


def test_stop_strings(openai_client: Any, anthropic_client: Any) -> None:
    case = next(case for case in CASES if str(case) == "hermes: no call")
    stopped = openai_client.chat.completions.create(
        model=model_of(case), messages=USER, stop=["<tags>", "1."]
    )
    assert stopped.choices[0].message.content == "Just an answer with "
    assert stopped.choices[0].finish_reason == "stop"
    told = anthropic_client.messages.create(
        model=model_of(case), messages=USER, max_tokens=50, stop_sequences=["1."]
    )
    assert (told.stop_reason, told.stop_sequence) == ("stop_sequence", "1.")


def test_parallel_calls_can_be_forbidden(openai_client: Any) -> None:
    model = "hermes:three calls, the middle one without arguments"
    answer = openai_client.chat.completions.create(model=model, messages=USER, parallel_tool_calls=False)
    assert [call.function.name for call in answer.choices[0].message.tool_calls] == ["a"]


def has_one_parameter(file: unspool.FormatFile) -> bool:
    """Whether calls of the format have a value without a key: its tools have one parameter."""
    return any("${value}" in text and "${key}" not in text for text in file.patterns.get("call", ()))


@pytest.mark.parametrize(
    "format", [file.name for file in unspool.formats() if file.has_tools and not has_one_parameter(file)]
)
def test_the_clients_own_tools_are_called(openai_client: Any, format: str) -> None:
    """Every format that has calls: a call to what the request offers, with arguments of its schema's types."""
    answer = openai_client.chat.completions.create(model=format, messages=USER, tools=[TOOL])
    (call,) = answer.choices[0].message.tool_calls
    assert call.function.name == "look_up"
    assert json.loads(call.function.arguments) == {"word": "Paris", "count": 3}
    assert answer.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("format", [file.name for file in unspool.formats()])
def test_every_format_answers(openai_client: Any, format: str) -> None:
    answer = openai_client.chat.completions.create(model=format, messages=USER)
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"


def test_errors_are_the_clients_own_exceptions(openai_client: Any, anthropic_client: Any) -> None:
    import anthropic
    import openai

    with pytest.raises(openai.NotFoundError, match="no model 'gpt'"):
        openai_client.chat.completions.create(model="gpt", messages=USER)
    with pytest.raises(openai.BadRequestError, match="empty"):
        openai_client.chat.completions.create(model="hermes", messages=[])
    with pytest.raises(openai.UnprocessableEntityError, match="temperature"):
        openai_client.chat.completions.create(model="hermes", messages=USER, temperature=-1)
    with pytest.raises(anthropic.NotFoundError, match="no model 'claude'"):
        anthropic_client.messages.create(model="claude", messages=USER, max_tokens=5)


def test_models_and_counts(openai_client: Any, anthropic_client: Any) -> None:
    assert {model.id for model in openai_client.models.list()} == {file.name for file in unspool.formats()}
    assert openai_client.models.retrieve("hermes").id == "hermes"
    count = anthropic_client.messages.count_tokens(model="hermes", messages=USER).input_tokens
    told = anthropic_client.messages.create(model="hermes", messages=USER, max_tokens=500)
    assert told.usage.input_tokens == count


@pytest.mark.parametrize("format", FORMATS)
def test_langchain(demo_url: str, format: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        langchain_openai = pytest.importorskip("langchain_openai")
    for case in (case for case in CASES if case.format == format and not one_shot(case).incomplete):
        chat = langchain_openai.ChatOpenAI(model=model_of(case), base_url=f"{demo_url}/v1", api_key="none")
        whole: Any = None
        for chunk in chat.stream("Hello"):
            whole = chunk if whole is None else whole + chunk
        wanted = expected_objects(case)
        assert whole.content == wanted[0], case
        assert [(call["name"], call["args"]) for call in whole.tool_calls] == wanted[2], case


@pytest.mark.parametrize("format", FORMATS)
def test_langchain_over_responses(demo_url: str, format: str) -> None:
    """Reasoning too, which it does not show over chat."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        langchain_openai = pytest.importorskip("langchain_openai")
    for case in (case for case in CASES if case.format == format and not one_shot(case).incomplete):
        chat = langchain_openai.ChatOpenAI(
            model=model_of(case), base_url=f"{demo_url}/v1", api_key="none", use_responses_api=True
        )
        whole: Any = None
        for chunk in chat.stream("Hello"):
            whole = chunk if whole is None else whole + chunk
        wanted = expected_objects(case)
        blocks = whole.content_blocks
        reasoning = "".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning")
        assert (str(whole.text), reasoning) == wanted[:2], case
        assert [(call["name"], call["args"]) for call in whole.tool_calls] == wanted[2], case


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_openai_agents(demo_url: str, format: str, api: str) -> None:
    """A whole run: the model calls the tool, the agent runs it, the model answers."""
    agents = pytest.importorskip("agents")
    from openai import AsyncOpenAI

    agents.set_tracing_disabled(True)
    called: list[tuple[str, int]] = []

    @agents.function_tool
    def look_up(word: str, count: int) -> str:
        """Looks up."""
        called.append((word, count))
        return "found"

    async def run() -> Any:
        async with AsyncOpenAI(base_url=f"{demo_url}/v1", api_key="none", max_retries=0) as client:
            kind = agents.OpenAIChatCompletionsModel if api == "chat" else agents.OpenAIResponsesModel
            agent = agents.Agent("a", model=kind(format, client), tools=[look_up], instructions="Be brief.")
            result = agents.Runner.run_streamed(agent, "Hello")
            async for _ in result.stream_events():
                pass
            return result.final_output

    output = asyncio.run(run())
    assert called == [("Paris", 3)]
    plain = unspool.parse(_first_plain(format).input, format, **_first_plain(format).options)
    assert output == plain.content


def _first_plain(format: str) -> Case:
    from unspool.serve.models.demo_model import _plain_cases

    return _plain_cases(format)[0]


def test_anthropics_tool_runner_calls_and_goes_on(anthropic_client: Any) -> None:
    """It begins with a thread, which the server holds none of, and has to fall back to all messages."""
    anthropic = pytest.importorskip("anthropic")
    if not hasattr(anthropic, "beta_tool"):
        pytest.skip("this anthropic has no tool runner")
    asked = []

    @anthropic.beta_tool
    def read_clock(zone: str) -> str:
        """The time.

        Args:
            zone: Where.
        """
        asked.append(zone)
        return "noon"

    runner = anthropic_client.beta.messages.tool_runner(
        model="hermes", max_tokens=500, tools=[read_clock], messages=USER
    )
    *_, last = runner
    assert asked == ["Paris"]
    assert last.stop_reason == "end_turn"


def test_stored_responses() -> None:
    openai = pytest.importorskip("openai")
    from unspool.serve import ServeOptions
    from unspool.serve.models.demo_model import DemoModels

    with running(DemoModels(), ServeOptions(response_store_mb=1)) as server:
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
        with client:
            first = client.responses.create(model="qwen3", input="Hello")
            with client.responses.stream(
                model="qwen3", input="And?", previous_response_id=first.id
            ) as stream:
                second = stream.get_final_response()
            assert second.previous_response_id == first.id
            assert client.responses.retrieve(second.id).output_text == second.output_text
            (item,) = client.responses.input_items.list(second.id)
            assert [part.text for part in item.content] == ["And?"]
            client.responses.delete(second.id)
            with pytest.raises(openai.NotFoundError, match="there is no response"):
                client.responses.retrieve(second.id)
            with pytest.raises(openai.NotFoundError, match="there is no response"):
                client.responses.create(model="qwen3", input="x", previous_response_id=second.id)
