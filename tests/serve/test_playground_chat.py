"""The playground's chat in headless Chromium: a served model's stream, shown as the parser's output is."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from unspool.serve import ServeOptions

from .conftest import ScriptedModel, running
from .webdriver import MISSING, Browser

pytestmark = [
    pytest.mark.skipif(MISSING is not None, reason=str(MISSING)),
    pytest.mark.xdist_group("chromium"),
]

TOOLS = [{"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}}]
PIECES = [
    "I look ", "it up.", "<tool_call>", '{"name": "get_weather", ', '"arguments": {"city": ', '"Oslo"}}', "</tool_call>",
]  # fmt: skip
EVIL = "<img src=x onerror=document.title=1>"


def weather(script: Any) -> None:
    for piece in PIECES:
        script.put(piece)


def in_turn(*bodies: Callable[[Any], None]) -> Callable[[Any], None]:
    """The first request gets the first of them, and so on."""
    left = list(bodies)

    def body(script: Any) -> None:
        left.pop(0)(script)

    return body


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    browser.emulate(1280, 900, "light")
    yield browser
    browser.close()


def open_chat(window: Any, port: int | None) -> None:
    window.open(f"http://127.0.0.1:{port}/")
    window.wait("return document.getElementById('place').textContent.includes('/')")
    window.click("#tab-chat")
    window.wait("return document.getElementById('model').options.length > 0")


def set_field(window: Any, field: str, value: str) -> None:
    window.run("document.getElementById(arguments[0]).value = arguments[1]", field, value)


def say(window: Any, text: str) -> None:
    set_field(window, "say", text)
    window.click("#send")


def wait_for_turns(window: Any, count: int) -> list[list[str]]:
    """The conversation, when it has so many turns and none is under way."""
    window.wait(
        "return document.querySelectorAll('#turns li').length === arguments[0]"
        " && document.getElementById('stop').disabled",
        count,
        timeout_s=30,
    )
    found = window.run(
        "return [...document.querySelectorAll('#turns li')].map((li) => [li.className, li.textContent])"
    )
    return [list(turn) for turn in found]


def shown_regions(window: Any) -> list[list[str]]:
    found = window.run(
        "return [...document.querySelectorAll('#output > .region')]"
        ".map((span) => [span.classList[1], span.textContent])"
    )
    return [list(item) for item in found if item[1]]


def test_an_empty_chat_says_what_to_do(window: Any) -> None:
    """Its example has a tool, and the hints go with the first message."""
    model = ScriptedModel(weather)
    with running({"m": model}) as server:
        open_chat(window, server.port)
        shown = "return ['chat-hint', 'output-hint'].filter((id) => document.getElementById(id).offsetParent !== null)"
        assert window.run(shown) == ["chat-hint", "output-hint"]
        window.click("#chat-example")
        window.click("#send")
        wait_for_turns(window, 2)
        window.wait("return document.getElementById('so-far').textContent === 'whole'")
        assert window.run(shown) == []
        assert [tool["function"]["name"] for tool in model.asked[0]["tools"]] == ["get_weather"]


def test_an_answer_is_shown_as_regions_and_can_be_stepped_through(window: Any) -> None:
    model = ScriptedModel(weather)
    with running({"m": model}) as server:
        open_chat(window, server.port)
        set_field(window, "chat-tools", json.dumps(TOOLS))
        say(window, "Weather in Oslo?")
        turns = wait_for_turns(window, 2)
        assert turns == [
            ["user", "youWeather in Oslo?"],
            ["assistant", 'modelI look it up.get_weather {"city": "Oslo"}'],
        ]
        window.wait("return document.getElementById('so-far').textContent === 'whole'")
        assert shown_regions(window) == [
            ["content", "I look it up."],
            ["call", "\n"],
            ["name", "get_weather"],
            ["call", " "],
            ["arguments", '{"city": "Oslo"}'],
        ]
        assert window.text("#message .status") == "complete"
        whole = json.loads(window.text("#whole"))
        assert whole["finish_reason"] == "tool_calls"
        assert whole["message"]["tool_calls"][0]["function"] == {
            "name": "get_weather",
            "arguments": '{"city": "Oslo"}',
        }
        window.click("#first")
        window.click("#next")
        assert window.text("#place").startswith("1 / ")
        assert [tool["function"]["name"] for tool in model.asked[0]["tools"]] == ["get_weather"]


def test_the_result_of_a_call_goes_back_to_the_model(window: Any) -> None:
    model = ScriptedModel(in_turn(weather, lambda script: script.put("It rains.")))
    with running({"m": model}) as server:
        open_chat(window, server.port)
        set_field(window, "chat-tools", json.dumps(TOOLS))
        say(window, "Weather in Oslo?")
        wait_for_turns(window, 2)
        assert window.text("#say-label") == "Result of get_weather"
        say(window, "rain")
        assert wait_for_turns(window, 4)[2:] == [["tool", "resultrain"], ["assistant", "modelIt rains."]]
        assert window.text("#say-label") == "Message"
        roles = [message["role"] for message in model.asked[1]["prompt"]]
        assert roles == ["user", "assistant", "tool"]


def test_the_stream_is_shown_as_it_arrives_and_stop_aborts_it(window: Any) -> None:
    goes_on = threading.Event()

    def wait(script: Any) -> None:
        script.put("<think>hm</think>One")
        while not goes_on.wait(0.05):
            script.put(" more")

    model = ScriptedModel(wait, format="qwen3")
    with running({"m": model}) as server:
        try:
            open_chat(window, server.port)
            say(window, "Hi")
            window.wait("return document.getElementById('message').textContent.includes('One more')")
            assert window.text("#message .value.reasoning") == "hm"
            assert not window.run("return document.getElementById('stop').disabled")
            window.click("#stop")
            turns = wait_for_turns(window, 2)
            assert turns[1][1].startswith("modelOne more")
            window.wait("return document.getElementById('message').textContent.includes('cancelled')")
            assert window.run("return document.getElementById('error').hidden")
            end = time.monotonic() + 10
            while not model.channels[0].is_cancelled:
                assert time.monotonic() < end, "the server generates on"
                time.sleep(0.05)
        finally:
            goes_on.set()


def test_an_error_is_shown_and_the_message_can_be_sent_again(window: Any) -> None:
    def fail(_: Any) -> None:
        raise RuntimeError("the device is lost")

    model = ScriptedModel(in_turn(fail, lambda script: script.put("Better.")))
    with running({"m": model}) as server:
        open_chat(window, server.port)
        say(window, "Hi")
        window.wait("return !document.getElementById('error').hidden", timeout_s=30)
        assert window.text("#error") != ""
        assert window.run("return document.getElementById('say').value") == "Hi"
        assert window.run("return document.querySelectorAll('#turns li').length") == 0
        window.click("#send")
        assert wait_for_turns(window, 2)[1] == ["assistant", "modelBetter."]
        assert window.run("return document.getElementById('error').hidden")
        window.logs("browser")


def test_tools_that_are_no_json_are_reported_at_their_field(window: Any) -> None:
    model = ScriptedModel(weather)
    with running({"m": model}) as server:
        open_chat(window, server.port)
        set_field(window, "chat-tools", "[{")
        say(window, "Hi")
        window.wait("return document.getElementById('chat-tools-error') !== null")
        assert "not JSON" in window.text("#chat-tools-error")
        assert model.asked == []


def test_the_key_is_asked_for_and_sent(window: Any) -> None:
    model = ScriptedModel(lambda script: script.put(f"Hello {EVIL}"))
    with running({"m": model}, ServeOptions(api_keys=["secret"])) as server:
        window.open(f"http://127.0.0.1:{server.port}/")
        window.wait("return document.getElementById('key-error') !== null")
        assert "API key" in window.text("#key-error")
        window.click("#tab-chat")
        window.wait("return document.getElementById('key-error') !== null")
        window.type("#key", "wrong")
        window.run("document.getElementById('key').dispatchEvent(new Event('change'))")
        window.wait("return document.getElementById('key-error')?.textContent.includes('missing or wrong')")
        set_field(window, "key", "secret")
        window.run("document.getElementById('key').dispatchEvent(new Event('change'))")
        window.wait("return document.getElementById('model').options.length > 0")
        title = window.run("return document.title")
        say(window, "Hi")
        assert wait_for_turns(window, 2)[1] == ["assistant", f"modelHello {EVIL}"]
        assert window.run("return document.title") == title
        assert window.run("return document.querySelectorAll('main img').length") == 0
        assert "secret" not in window.url
        window.click("#tab-parse")
        window.run("document.getElementById('key').dispatchEvent(new Event('change'))")
        window.wait("return document.getElementById('output').textContent.includes('tool_call')")
        window.logs("browser")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_chat_fits_a_phone(window: Any, scheme: str) -> None:
    with running({"m": ScriptedModel(weather)}) as server:
        window.emulate(360, 740, scheme)
        try:
            open_chat(window, server.port)
            say(window, "A" * 300)
            wait_for_turns(window, 2)
            assert window.run("return document.documentElement.scrollWidth") <= 360
            assert window.run("return document.getElementById('say').getBoundingClientRect().top") < 740
        finally:
            window.emulate(1280, 900, "light")


def test_what_the_server_ignored_is_shown(window: Any) -> None:
    with running({"m": ScriptedModel(weather)}) as server:
        open_chat(window, server.port)
        set_field(window, "chat-tools", json.dumps([*TOOLS, {"type": "web_search"}]))
        set_field(window, "chat-fields", json.dumps({"verbosity": "low"}))
        say(window, "Hi")
        wait_for_turns(window, 2)
        assert window.text("#ignored") == "The server ignored: verbosity, tools[1] (web_search)"
        set_field(window, "chat-tools", json.dumps(TOOLS))
        set_field(window, "chat-fields", "")
        window.click("#new-chat")
        say(window, "Hi")
        wait_for_turns(window, 2)
        assert window.run("return document.getElementById('ignored').hidden")
        set_field(window, "chat-fields", "[]")
        window.click("#new-chat")
        say(window, "Hi")
        window.wait("return document.body.textContent.includes('this must be an object')")
