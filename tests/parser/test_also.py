"""`also=`: calls in another family's way, which a model that was trained on its outputs writes."""

from __future__ import annotations

import pytest
import unspool
from unspool import ArgumentError, UnknownFormatError
from unspool.core.format.compile_format import compile_format

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
]
HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
QWEN = "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>"
MINIMAX = (
    '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>\n'
    "</minimax:tool_call>"
)
MIXED = f"First.\n\n{QWEN}\nThe tag <function=get_weather> is text.\n{MINIMAX}\n{HERMES}\nDone."


def told(message: unspool.Message) -> tuple[object, ...]:
    calls = [(call.name, call.arguments, call.status, call.written_as) for call in message.tool_calls]
    return calls, message.content, [item.text for item in message.malformed], message.finish_reason


def read(pieces: list[str], **options: object) -> unspool.Message:
    parser = unspool.Parser("hermes", TOOLS, also="any", **options)
    for piece in pieces:
        parser.parse_chunk(piece)
    return parser.finish()


def test_calls_of_three_families_are_read_in_order() -> None:
    message = read([MIXED])
    assert [(call.arguments, call.written_as) for call in message.tool_calls] == [
        ('{"city": "Rome"}', "qwen3_coder"),
        ('{"city": "Oslo"}', "minimax_m2"),
        ('{"city": "Paris"}', None),
    ]
    assert message.content == "First.\nThe tag <function=get_weather> is text.\nDone."
    assert message.finish_reason == "tool_calls"
    assert not message.malformed


def test_every_split_gives_the_same() -> None:
    whole = told(read([MIXED]))
    assert told(read(list(MIXED))) == whole
    for cut in range(len(MIXED)):
        assert told(read([MIXED[:cut], MIXED[cut:]])) == whole, cut


def test_snapshot_fork_and_audit_at_every_byte() -> None:
    whole = told(read([MIXED]))
    for cut in range(len(MIXED)):
        parser = unspool.Parser("hermes", TOOLS, also="any", audit=True, id_seed=1)
        parser.parse_chunk(MIXED[:cut])
        restored = unspool.Parser.restore(
            parser.snapshot(), "hermes", TOOLS, also="any", audit=True, id_seed=1
        )
        for stream in (parser.fork(), restored, parser):
            stream.parse_chunk(MIXED[cut:])
            message = stream.finish()
            assert told(message) == whole, cut
            assert "".join(text for _, text in message.audit) == MIXED, cut


def test_audit_says_what_is_a_call() -> None:
    message = unspool.parse(QWEN, "hermes", TOOLS, also="qwen3_coder", audit=True)
    own = unspool.parse(QWEN, "qwen3_coder", TOOLS, audit=True)
    assert message.audit == own.audit


@pytest.mark.parametrize(
    "text",
    [
        QWEN.replace("get_weather", "unknown"),
        QWEN.replace("parameter=city", "parameter=days"),
        MINIMAX.replace("city", "town"),
        MINIMAX.replace("</invoke>", ""),
        '{"name": "get_weather", "arguments": {}}',
    ],
    ids=["unknown tool", "missing parameter", "unknown parameter", "no closer", "bare, incomplete"],
)
def test_what_fits_no_tool_stays_text(text: str) -> None:
    without = unspool.parse(f"Hi.\n{text}\nBye.", "hermes", TOOLS)
    assert told(unspool.parse(f"Hi.\n{text}\nBye.", "hermes", TOOLS, also="any")) == told(without)
    assert not without.tool_calls


def test_without_tools_nothing_counts() -> None:
    for tools in (None, []):
        assert unspool.parse(QWEN, "mistral", tools, also="any").content == QWEN


def test_a_text_for_the_user_holds_no_call() -> None:
    text = f"<|channel|>final<|message|>The log says:\n{HERMES}\nDo not run it.<|return|>"
    assert not unspool.parse(text, "openai", TOOLS, also="any").tool_calls
    assert unspool.parse(HERMES, "openai", TOOLS, also="any").tool_calls


def test_the_order_of_the_list_decides() -> None:
    for first, second in (("hermes", "json"), ("json", "hermes")):
        call = unspool.parse(HERMES, "mistral", TOOLS, also=[first, second]).tool_calls[0]
        assert call.written_as == "hermes"
    bare = '{"name": "get_weather", "parameters": {"city": "Paris"}}'
    for names in (["json", "llama3_json"], ["llama3_json", "json"]):
        assert unspool.parse(bare, "qwen3_coder", TOOLS, also=names).tool_calls[0].written_as == names[0]


def test_special_tokens_of_another_family() -> None:
    markers = ["<|tool_call_start|>", "<|tool_call_end|>"]
    added = [(256 + number, marker, marker, True) for number, marker in enumerate(markers)]
    vocabulary = unspool.Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True)
    ids = [256, *b'[get_weather(city="Paris")]', 257, *b"Done."]
    message = unspool.parse(ids, "hermes", TOOLS, tokenizer=vocabulary, also="any")
    assert [call.written_as for call in message.tool_calls] == ["lfm2"]
    assert message.content == "Done."


def test_one_call_at_most() -> None:
    message = read([MIXED], parallel_tool_calls=False)
    assert len(message.tool_calls) == 1
    assert "Oslo" in message.dropped[0].text
    assert "Paris" in message.dropped[-1].text


def test_long_text_without_a_call_is_given_up() -> None:
    text = '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">' + "x" * 5000
    message = read([text, "y"], max_held_bytes=1000)
    assert message.content == text + "y"


@pytest.mark.parametrize("size", [1, 5, 40])
def test_what_is_held_follows_what_was_emitted(size: int) -> None:
    text = "Write <function=f, or <function=get_weather> and <parameter=city>: these are tags."
    parser = unspool.Parser("hermes", TOOLS, also="any")
    emitted = ""
    for begin in range(0, len(text), size):
        for delta in parser.parse_chunk(text[begin : begin + size]):
            emitted += delta.text
        assert emitted.encode() + parser.held[0] == text[: begin + size].encode()
    assert "<function=f," in emitted


@pytest.mark.parametrize(
    ("also", "error", "words"),
    [
        ("qwen9", UnknownFormatError, "unknown format"),
        (["hermes", 5], ArgumentError, "names of formats, or 'any'"),
        (7, ArgumentError, "names of formats, or 'any'"),
        ("deepseek_r1", ArgumentError, "has no calls"),
    ],
)
def test_wrong_values(also: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        unspool.Parser("hermes", TOOLS, also=also)


def test_options_that_contradict_it() -> None:
    vocabulary = unspool.Vocabulary(
        {bytes([byte]): byte for byte in range(256)},
        [(256, "<tool_call>", "<tool_call>", True)],
        is_bytes=True,
    )
    with pytest.raises(ArgumentError, match="choose one"):
        unspool.Parser("hermes", TOOLS, also="any", strict_markers=True, tokenizer=vocabulary)
    with pytest.raises(ArgumentError, match="compiled already"):
        unspool.Parser(compile_format("hermes"), TOOLS, also="any")
