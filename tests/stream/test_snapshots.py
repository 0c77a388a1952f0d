"""`snapshot()` of a stream: how long it is, what it is bound to, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from unspool import ArgumentError, DeltaChannel, Parser, StreamError, TokenStreamer, Vocabulary

from ..outputs import TOOLS

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>'
BYTES = Vocabulary({bytes([i]): i for i in range(256)}, [], is_bytes=True)
STRICT = Vocabulary(
    {bytes([i]): i for i in range(256)}, [(256, "<tool_call>", "<tool_call>", True)], is_bytes=True
)
KEY = b"sixteen bytes or more"


def test_in_another_process() -> None:
    parser = Parser("hermes", TOOLS, id_seed=7)
    parser.parse_chunk("I look.\n" + CALL[:60])
    snapshot = parser.snapshot(key=KEY)
    code = (
        "import sys, unspool\n"
        f"parser = unspool.Parser.restore({snapshot!r}, 'hermes', {TOOLS!r}, key={KEY!r})\n"
        f"parser.parse_chunk({CALL[60:]!r}); sys.stdout.write(str(parser.finish().tool_calls))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    parser.parse_chunk(CALL[60:])
    assert done.stdout == str(parser.finish().tool_calls)
    assert "get_weather" in done.stdout


LONG = "All work and no play. " * 400
REGIONS = {
    "content": ("qwen3", LONG),
    "reasoning": ("qwen3", "<think>" + LONG),
    "string of a call in JSON": (
        "hermes",
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "' + LONG,
    ),
    "parameter between tags": (
        "qwen3_coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\n" + LONG,
    ),
    "final channel": ("harmony", "<|channel|>final<|message|>" + LONG),
}


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("by_id", [True, False])
def test_at_rest_it_is_short(region: str, by_id: bool) -> None:
    format, text = REGIONS[region]
    streamer = TokenStreamer(BYTES, format, TOOLS, keep_message=False, id_seed=1)
    sizes = []
    for begin in range(0, len(text), 97):
        piece = text[begin : begin + 97]
        _ = streamer.put(list(piece.encode())) if by_id else streamer.parse_chunk(piece)
        sizes.append(len(streamer.snapshot()))
    assert max(sizes) <= 1024, f"{region}: {max(sizes)} bytes"
    assert sizes[-1] <= sizes[len(sizes) // 2] + 16, "it does not grow with the text"


def test_a_class_and_its_options_are_kept() -> None:
    class Mine(Parser):
        pass

    parser = Mine("hermes", reasoning_field="reasoning")
    restored = Mine.restore(parser.snapshot(), "hermes", reasoning_field="reasoning")
    assert type(restored) is Mine
    assert restored.finish().reasoning_field == "reasoning"


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"format": "qwen3"}, "another format"),
        ({"tools": None}, "another list of tools"),
        ({"tools": [TOOLS[0]]}, "another list of tools"),
        ({"tokenizer": Vocabulary({b"a": 0, b"b": 1}, [], is_bytes=True)}, "another vocabulary"),
        ({"tokenizer": None}, "another vocabulary"),
        ({"audit": True}, "another choice of options"),
        ({"max_calls": 3}, "another choice of options"),
        ({"stop": ["."]}, "another choice of options"),
        ({"white_space": "trim"}, "another choice of options"),
        ({"incomplete_calls": "withhold"}, "another choice of options"),
        ({"labels": True}, "another choice of options"),
        ({"keep_message": False}, "another choice of options"),
        ({"repair": True}, "another choice of options"),
        ({"parallel_tool_calls": False}, "another choice of options"),
        ({"unknown_tools": "content"}, "another choice of options"),
        ({"strict_markers": True, "tokenizer": STRICT}, "another"),
        ({"only_reasoning": True}, "another"),
        ({"tool_choice": "none"}, "another"),
        ({"rollback_window": 4}, "without"),
    ],
)
def test_what_it_is_bound_to(given: dict[str, Any], match: str) -> None:
    made: dict[str, Any] = {"format": "hermes", "tools": TOOLS, "tokenizer": BYTES}
    snapshot = Parser(**made).snapshot()
    Parser.restore(snapshot, **made)
    with pytest.raises(ArgumentError, match=match):
        Parser.restore(snapshot, **{**made, **given})


def test_another_stop_string_is_refused() -> None:
    snapshot = Parser("hermes", stop=["one"]).snapshot()
    with pytest.raises(ArgumentError, match="another list of stop strings"):
        Parser.restore(snapshot, "hermes", stop=["two"])


def test_bytes_that_are_refused() -> None:
    snapshot = Parser("hermes").snapshot()
    assert len(snapshot) < 512
    for place in range(len(snapshot)):
        damaged = bytearray(snapshot)
        damaged[place] ^= 1
        with pytest.raises(ArgumentError):
            Parser.restore(bytes(damaged), "hermes")
        with pytest.raises(ArgumentError):
            Parser.restore(snapshot[:place], "hermes")
    with pytest.raises(ArgumentError, match="restore it where it was made"):
        Parser.restore(snapshot[:8] + b"\x09" + snapshot[9:], "hermes")
    with pytest.raises(ArgumentError, match="this is not a snapshot"):
        Parser.restore(b"something else that is long enough", "hermes")
    with pytest.raises(TypeError, match="pass the bytes"):
        Parser.restore("text", "hermes")  # type: ignore[arg-type]


def test_a_key() -> None:
    parser = Parser("hermes")
    snapshot = parser.snapshot(key=KEY)
    assert Parser.restore(snapshot, "hermes", key=KEY).snapshot(key=KEY) == snapshot
    for key in (b"", b"another key of some bytes"):
        with pytest.raises(ArgumentError, match="another key"):
            Parser.restore(snapshot, "hermes", key=key)
    for key in (b"k" * 65, b"k" * 15):
        with pytest.raises(ArgumentError, match="16 to 64 bytes"):
            parser.snapshot(key=key)


def test_deltas_that_wait_for_a_channel() -> None:
    channel = DeltaChannel(maxsize=1)
    streamer = TokenStreamer(BYTES, "hermes", channel=channel)
    streamer.put(list(b"Hello"))
    assert channel.get().text == "Hello"
    snapshot = streamer.snapshot()
    other = DeltaChannel()
    restored = TokenStreamer.restore(snapshot, BYTES, "hermes", channel=other)
    restored.put(list(b" there"))
    restored.end()
    assert [delta.text for delta in other][:1] == [" there"]


def test_a_window_is_refused() -> None:
    with pytest.raises(ArgumentError, match="rollback_window"):
        TokenStreamer(BYTES, "hermes", rollback_window=4).snapshot()


def test_a_stream_that_has_ended() -> None:
    parser = Parser("hermes", TOOLS, id_seed=3)
    parser.parse_chunk(CALL)
    message = parser.finish()
    restored = Parser.restore(parser.snapshot(), "hermes", TOOLS)
    assert restored.is_finished
    assert restored.message.tool_calls == message.tool_calls
    with pytest.raises(StreamError, match="has ended"):
        restored.parse_chunk("more")
