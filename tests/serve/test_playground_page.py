"""The playground's page in headless Chromium shows what the endpoint reports."""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import uvicorn
from unspool.serve.playground import create_playground_app


def _load(name: str) -> ModuleType:
    """A module beside this one; the tests are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


webdriver = _load("webdriver")

pytestmark = [
    pytest.mark.skipif(webdriver.MISSING is not None, reason=str(webdriver.MISSING)),
    pytest.mark.xdist_group("chromium"),
]

OPEN = '<tool_call>{"name": "f", "arguments": {"places": [{"city": "Oslo", "days": 3}], "note": "by the'
TEXT = '<think>\nhm</think>Hi <b>é🎉</b>\n<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
EVIL = "<img src=x onerror=document.title=1><script>document.title=2</script>\"'&lt;"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    port = webdriver.free_port()
    config = uvicorn.Config(create_playground_app(), port=port, log_level="error", lifespan="off")
    served = uvicorn.Server(config)
    thread = threading.Thread(target=served.run, daemon=True)
    thread.start()
    while not served.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    served.should_exit = True
    thread.join(10)


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    browser = webdriver.Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def page(window: Any, server: str) -> Iterator[Any]:
    """The page as it opens; after the test: no word on the console, no request to another host."""
    window.open("about:blank")
    window.requests()  # those of the browser's own first page
    window.logs("browser")
    window.emulate(1280, 900, "light")
    window.open(f"{server}/")
    wait_for_run(window)
    yield window
    assert [entry["message"] for entry in window.logs("browser")] == []
    asked = window.requests()
    assert asked
    assert [url for url in asked if not url.startswith((f"{server}/", "about:"))] == []


def wait_for_run(page: Any) -> None:
    page.wait("return document.getElementById('place').textContent.includes('/')")


def place(page: Any) -> tuple[int, int]:
    at, of = page.text("#place").split(" / ")
    return int(at), int(of)


def set_field(page: Any, field: str, value: str) -> None:
    """Set a field as typing does."""
    page.run(
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event('input', {bubbles: true}));"
        "field.dispatchEvent(new Event('change', {bubbles: true}))",
        field,
        value,
    )


def fill(page: Any, **fields: str) -> None:
    """Set fields, and wait for the run that follows."""
    page.run("document.getElementById('output').replaceChildren()")
    for field, value in fields.items():
        set_field(page, field, value)
    page.wait("return document.getElementById('output').childNodes.length > 0")


def slide(page: Any, to: int) -> None:
    page.run(
        "const step = document.getElementById('step'); step.value = String(arguments[0]);"
        "step.dispatchEvent(new Event('input'))",
        to,
    )


def ask(server: str, **fields: Any) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{server}/playground/run", json.dumps(fields).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as response:
        return dict(json.load(response))


def shown_regions(page: Any) -> list[list[str]]:
    found = page.run(
        "return [...document.querySelectorAll('#output > .region')]"
        ".map((span) => [span.classList[1], span.textContent])"
    )
    return [list(item) for item in found if item[1]]


def emitted_text(regions: list[list[str]]) -> str:
    return "".join(text for kind, text in regions if kind not in ("held", "later"))


def link_of(state: dict[str, Any]) -> str:
    """The fragment that stores a state."""
    return base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")


def shown_calls(page: Any) -> int:
    return int(page.run("return document.querySelectorAll('#message .status').length"))


def test_the_page_opens_at_the_first_step_of_an_example_with_a_call(page: Any) -> None:
    at, of = place(page)
    assert (at, of > 10) == (1, True)
    assert page.run("return document.getElementById('format').value") == "qwen3"
    assert page.run("return document.getElementById('play').getAttribute('aria-label')") == "Play"
    slide(page, of)
    assert shown_calls(page) >= 1
    assert page.run("return document.getElementById('text').value") == emitted_text(shown_regions(page))
    assert page.run("return document.getElementById('error').hidden")


@pytest.mark.rest  # it plays to the end, for nine seconds
def test_the_page_plays_if_motion_is_not_reduced(page: Any, server: str) -> None:
    page.emulate(1280, 900, "light", motion="no-preference")
    page.open(f"{server}/")
    page.wait("return document.getElementById('play').getAttribute('aria-label') === 'Pause'")
    begin = place(page)[0]
    page.wait("return Number(document.getElementById('step').value) > arguments[0]", begin)
    page.click("#play")
    at, of = place(page)
    assert at < of
    time.sleep(0.4)  # longer than a step
    assert place(page) == (at, of)
    page.click("#play")
    page.wait(
        "return Number(document.getElementById('step').value) === Number(document.getElementById('step').max)",
        timeout_s=60,
    )
    assert shown_calls(page) >= 1


def test_another_example_begins_at_its_first_step(page: Any) -> None:
    slide(page, 5)
    page.run(
        "const example = document.getElementById('example'); example.selectedIndex = 3;"
        "example.dispatchEvent(new Event('change'))"
    )
    page.wait("return document.getElementById('step').value === '1'")


def test_every_step_shows_what_the_endpoint_says(page: Any, server: str) -> None:
    fill(page, text=TEXT, tools="")
    answer = ask(server, format="qwen3", text=TEXT, chunk="tokens")
    steps = answer["steps"]
    assert place(page) == (len(steps), len(steps))
    raw = TEXT.encode("utf-16-le")
    for number in [*range(len(steps) + 1), *range(len(steps), -1, -1)]:  # on, and back
        slide(page, number)
        step = steps[number - 1] if number else {"emitted": 0, "end": 0, "held": None}
        regions = shown_regions(page)
        assert "".join(text for _, text in regions) == TEXT
        assert emitted_text(regions).encode("utf-16-le") == raw[: 2 * step["emitted"]]
        held = step["held"]
        assert "".join(text for kind, text in regions if kind == "held").encode("utf-16-le") == (
            raw[2 * step["emitted"] : 2 * step["end"]] if held else b""
        )
        assert page.text("#why") == (held["why"] if held else "Nothing is held back.")
        assert page.text("#held-bytes").split(" ")[0] == (str(held["bytes"]) if held else "")
        wires = [d["wire"] for step in steps[:number] for d in step["deltas"] if d["wire"]]
        rows = page.run(
            "return [...document.querySelectorAll('#wire li:not(.silent) code')].map((row) => row.textContent)"
        )
        assert [json.loads(row) for row in rows] == wires
        assert page.text("#wire-count").startswith(f"{len(wires)} delta")


def test_the_message_grows_to_the_whole(page: Any, server: str) -> None:
    fill(page, text=TEXT)
    message = ask(server, format="qwen3", text=TEXT, chunk="tokens")["message"]
    assert json.loads(page.text("#whole")) == message["wire"]
    assert page.text("#message .value.reasoning") == "hm"
    assert page.text("#message .value.content") == message["content"]
    assert page.text("#message .name") == "f"
    assert page.text("#message .arguments") == '{"a": 1}'
    assert page.text("#message .status") == "complete"
    slide(page, 0)
    assert page.text("#message") == "Nothing has been emitted yet."
    kinds = {kind for kind, _ in shown_regions(page)}
    assert kinds == {"later"}


def test_what_is_malformed_is_shown_as_the_message_has_it(page: Any, server: str) -> None:
    text = '<tool_call>{"name": "f", "arguments": {"a": bad}}</tool_call> <tool_call>{oops</tool_call>'
    fill(page, text=text, unit="bytes")
    malformed = ask(server, format="qwen3", text=text)["message"]["malformed"]
    assert len(malformed) == 2
    shown = "return [...document.querySelectorAll('#message .value.malformed')].map((e) => e.textContent)"
    assert page.run(shown) == [item["text"] for item in malformed]


def test_regions_have_the_colours_of_their_kinds(page: Any, server: str) -> None:
    fill(page, text=TEXT)
    expected = ask(server, format="qwen3", text=TEXT, chunk="tokens")["regions"]
    assert shown_regions(page) == [[region["kind"], region["text"]] for region in expected]
    colours = page.run(
        "return ['content', 'reasoning', 'marker', 'name', 'arguments', 'call'].map((kind) => "
        "getComputedStyle(document.querySelector(`#output .${kind}`)).backgroundColor)"
    )
    assert len(set(colours)) == len(colours)


def test_keys_and_buttons_step(page: Any) -> None:
    of = place(page)[1]
    page.run("document.activeElement.blur()")
    page.press("home")
    assert place(page) == (0, of)
    page.press("right", "right", "left")
    assert place(page) == (1, of)
    page.click("#next")
    assert place(page) == (2, of)
    page.click("#back")
    page.click("#last")
    assert place(page) == (of, of)
    assert page.run("return document.getElementById('next').disabled")
    page.click("#first")
    assert place(page) == (0, of)
    page.type("#step", webdriver.KEYS["right"])
    assert place(page) == (1, of), "the slider's own key counts once"


def test_keys_in_a_text_field_are_the_fields(page: Any) -> None:
    at = place(page)
    page.type("#text", webdriver.KEYS["left"] + webdriver.KEYS["home"])
    assert place(page) == at


def test_play_runs_to_the_end_and_stops(page: Any) -> None:
    fill(page, text="abc def", unit="tokens")
    page.click("#first")
    page.click("#play")
    assert page.run("return document.getElementById('play').getAttribute('aria-label')") == "Pause"
    page.wait("return document.getElementById('play').getAttribute('aria-label') === 'Play'")
    at, of = place(page)
    assert at == of


def test_a_link_shows_the_same_again(page: Any) -> None:
    fill(page, text=TEXT, tools='[{"name": "f"}]', unit="characters", size="3", prompt="x<think>\n")
    slide(page, 7)
    seen = [shown_regions(page), place(page), page.text("#message"), page.text("#why")]
    link = page.url
    page.open("about:blank")
    page.open(link)
    wait_for_run(page)
    assert [shown_regions(page), place(page), page.text("#message"), page.text("#why")] == seen
    values = (
        "return ['text', 'tools', 'unit', 'size', 'prompt'].map((id) => document.getElementById(id).value)"
    )
    assert page.run(values) == [TEXT, '[{"name": "f"}]', "characters", "3", "x<think>\n"]
    assert page.url == link


def test_an_examples_link_is_short_and_holds_the_step(page: Any) -> None:
    slide(page, 4)
    link = page.url
    assert len(link) < 200
    seen = [shown_regions(page), place(page)]
    page.open(link)
    wait_for_run(page)
    assert [shown_regions(page), place(page)] == seen


@pytest.mark.parametrize("fragment", ["%%%", "e30", "bnVsbA", "eyJmIjo1fQ", "x" * 50])
def test_a_broken_link_opens_the_page(page: Any, server: str, fragment: str) -> None:
    page.open(f"{server}/#{fragment}")
    wait_for_run(page)
    assert page.run("return document.getElementById('format').value") == "qwen3"


def test_formats_are_searched_by_name_and_model(page: Any) -> None:
    page.run("document.getElementById('format').focus()")
    assert page.run("return document.querySelectorAll('#format-list [role=group]').length") > 4
    page.type("#format", "cohere command")
    names = page.run(
        "return [...document.querySelectorAll('#format-list [role=option]')].map((o) => o.dataset.value)"
    )
    assert names
    assert all(name.startswith("cohere") for name in names)
    page.press("down", "up", "enter")
    page.wait("return document.getElementById('format').value === arguments[0]", names[0])
    assert page.run("return document.getElementById('format-list').hidden")
    page.wait("return document.getElementById('example').options.length > 1")
    page.wait("return document.getElementById('format-about').textContent.includes('Command')")


def test_markup_in_a_models_text_stays_text(page: Any) -> None:
    text = f"{EVIL}<think>{EVIL}</think><tool_call>{json.dumps({'name': 'f', 'arguments': {'a': EVIL}})}</tool_call>"
    title = page.run("return document.title")
    fill(page, text=text)
    for number in range(0, place(page)[1], 7):
        slide(page, number)
    slide(page, place(page)[1])
    assert emitted_text(shown_regions(page)) == text
    assert page.run("return document.title") == title
    assert page.run("return document.querySelectorAll('#result img, #result script').length") == 0
    assert EVIL in page.text("#message")
    refused = page.run("try { document.body.innerHTML = '<p>'; return false } catch { return true }")
    assert refused, "the policy lets no text become HTML"
    page.logs("browser")  # which the browser reports


def test_an_error_in_the_tools_keeps_the_result_and_is_shown_at_the_field(page: Any) -> None:
    fill(page, text=TEXT)
    slide(page, 6)
    seen = [shown_regions(page), page.text("#message"), page.text("#wire"), place(page)]
    set_field(page, "tools", "[\n{,]")
    page.wait("return document.getElementById('tools-error') !== null")
    assert page.text("#tools-error").startswith("line 2, column 2: not JSON")
    assert page.run(
        "return document.getElementById('tools-error').parentNode.contains(document.getElementById('tools'))"
    )
    assert page.run("return document.getElementById('tools').getAttribute('aria-invalid')") == "true"
    assert [shown_regions(page), page.text("#message"), page.text("#wire"), place(page)] == seen
    assert not page.run("return document.getElementById('stale').hidden")
    slide(page, 7)
    assert shown_regions(page) != seen[0], "the last valid result can still be stepped through"
    fill(page, tools="[]")
    page.wait("return document.getElementById('tools-error') === null")
    assert page.run("return document.getElementById('stale').hidden")
    assert page.run("return document.getElementById('tools').getAttribute('aria-invalid')") is None
    console = page.logs("browser")  # the browser's own report of the 422
    assert all("422" in entry["message"] for entry in console)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("reasoning", "nosuch", "nosuch"),
        ("tool_choice", "nosuch", "tool_choice is 'nosuch'"),
    ],
)
def test_an_option_that_is_refused_keeps_the_result(page: Any, field: str, value: str, message: str) -> None:
    fill(page, text=TEXT, tools='[{"name": "f"}]', unit="characters")
    seen = shown_regions(page)
    set_field(page, field, value)
    page.wait(
        "return [...document.querySelectorAll('.error')].some((e) => e.textContent.includes(arguments[0]))",
        message,
    )
    assert shown_regions(page) == seen
    assert not page.run("return document.getElementById('stale').hidden")
    page.logs("browser")


def test_a_link_with_an_error_shows_the_text_without_the_wrong_field(page: Any, server: str) -> None:
    state = {"f": "qwen3", "t": TEXT, "tools": "[{", "c": "tokens"}
    page.open(f"{server}/#{link_of(state)}")
    wait_for_run(page)
    assert emitted_text(shown_regions(page)) == TEXT
    assert "not JSON" in page.text("#tools-error")
    assert page.run("return document.getElementById('tools').value") == "[{"
    page.logs("browser")


def test_the_slider_is_in_view_on_a_phone(page: Any, server: str) -> None:
    page.emulate(360, 640, "light")
    page.open(f"{server}/")
    wait_for_run(page)
    bottoms = page.run(
        "return ['#step', '#play', '#output'].map((s) => document.querySelector(s).getBoundingClientRect().bottom)"
    )
    assert max(bottoms[:2]) < 400
    assert page.run("return document.getElementById('output').getBoundingClientRect().top") < 500
    page.run("window.scrollTo(0, document.getElementById('result').offsetTop + 300)")
    assert page.run("return document.getElementById('step').getBoundingClientRect().top") >= 0


@pytest.mark.parametrize("width", [360, 800, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_window_and_can_be_read(page: Any, width: int, scheme: str) -> None:
    page.emulate(width, 800, scheme)
    set_field(page, "tools", "x" * 100)
    page.wait("return document.getElementById('tools-error') !== null")
    assert page.run("return document.documentElement.scrollWidth") <= width
    page.logs("browser")
    fill(page, text=TEXT + "x" * 300, tools="")
    assert page.run("return document.documentElement.scrollWidth") <= width
    slide(page, 8)
    contrasts = page.run(_CONTRASTS)
    assert contrasts
    assert {name: ratio for name, ratio in contrasts.items() if ratio < 4.5} == {}


# The contrast of each kind of text that is seen, as WCAG counts it; 4.5 is what it asks for.
_CONTRASTS = """
const parse = (c) => c.match(/[\\d.]+/g).map(Number);
const light = (c) => c.slice(0, 3).map((v) => v / 255)
  .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (node) => {
  for (; node; node = node.parentElement) {
    const c = parse(getComputedStyle(node).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
const found = {};
for (const node of document.querySelectorAll('h1, label, .about, .region:not(.later):not(.whitespace), .why, code, h3, .id, .error:not([hidden])')) {
  if (!node.textContent.trim() || node.offsetParent === null) continue;
  const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
  const name = node.tagName + '.' + node.className;
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  found[name] = Math.min(found[name] ?? 99, ratio);
}
return found;
"""


def test_arguments_are_a_tree_that_says_what_is_final(page: Any) -> None:
    fill(page, format="hermes", text=OPEN)
    slide(page, 10_000)
    rows = page.run(
        "return [...document.querySelectorAll('.tree li')].map((row) => [row.querySelector(':scope > .key')?.textContent ?? '',"
        " row.querySelector(':scope > .shown').textContent, row.className])"
    )
    assert rows == [
        ["", "object", "open"],
        ["places", "array", "final"],
        ["0", "object", "final"],
        ["city", "Oslo", "final"],
        ["days", "3", "final"],
        ["note", "by the", "open"],
    ]


def test_in_a_frame_it_is_the_player_and_the_result(page: Any, server: str) -> None:
    page.emulate(640, 600, "light")
    page.open(f"{server}/?embedded#{link_of({'f': 'qwen3', 't': TEXT, 'k': 9, 'play': True})}")
    wait_for_run(page)
    assert place(page)[0] == 9, "motion is reduced, so it does not play"
    shown = "return arguments[0].filter((s) => document.querySelector(s).offsetParent !== null)"
    parts = [".top", "#input", "#format", "#play", "#output", "#why", "#message", "#wire"]
    assert page.run(shown, parts) == parts[2:]
    size = "const {scrollWidth, scrollHeight} = document.documentElement; return [scrollWidth, scrollHeight]"
    assert page.run(size) == [640, 600]
