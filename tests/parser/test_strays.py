"""What belongs to nothing: text after whole arguments, quotes of another dialect, unknown headers, stray markers."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from unspool import Message, Parser, Vocabulary
from unspool.testing import Case, byte_splits, shipped_cases

BASH: list[dict[str, Any]] = [
    {
        "name": "Bash",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    }
]
REASON = "the marker belongs to nothing"


def read_text(format: str, output: str, tools: Any = None, **options: Any) -> Message:
    """The message, which is the same at every split, and whose audit is the output."""
    messages = []
    for pieces in byte_splits(output.encode()):
        parser = Parser(format, tools, id_seed=1, audit=True, **options)
        deltas = [delta for piece in pieces for delta in parser.parse_chunk(piece)]
        message = parser.finish("stop")
        deltas += message.deltas
        assert "".join(text for _, text in message.audit) == output
        assert "".join(delta.text for delta in deltas if delta.is_content) == message.content
        ends = [delta.index for delta in deltas if delta.kind == "tool_call_end"]
        assert ends == list(range(len(message.tool_calls)))
        messages.append(message)
    assert len({repr(shown(message)) for message in messages}) == 1
    return messages[0]


def read_ids(format: str, output: str, *more: str, tools: Any = None, **options: Any) -> Message:
    """The output with each marker token of the family, and `more`, as its token."""
    markers = sorted({*unspool.get_format(format).facts.marker_tokens, *more}, key=len, reverse=True)
    added = [(256 + number, marker, marker, True) for number, marker in enumerate(markers)]
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True)
    ids: list[int] = []
    rest = output
    while rest:
        marker = next((marker for marker in markers if rest.startswith(marker)), rest[0])
        ids += [256 + markers.index(marker)] if marker in markers else list(marker.encode())
        rest = rest[len(marker) :]
    messages = []
    for size in (1, len(ids)):
        parser = Parser(format, tools, tokenizer=vocabulary, id_seed=1, audit=True, **options)
        for begin in range(0, len(ids), size):
            parser.parse_chunk(tokens=ids[begin : begin + size])
            parser = parser.fork()
        message = parser.finish("stop")
        assert "".join(text for _, text in message.audit) == output
        messages.append(message)
    assert shown(messages[0]) == shown(messages[1])
    return messages[0]


def shown(message: Message) -> tuple[Any, ...]:
    calls = [(call.name, call.arguments, call.status, call.repairs) for call in message.tool_calls]
    return message.content, message.reasoning, calls, [(m.text, m.reason, m.index) for m in message.malformed]


def one_object_cases() -> list[Any]:
    """A case of each family whose arguments are one JSON object after a name."""
    found = []
    for file in unspool.formats():
        if not any(call.body == "json_arguments" for call in file.facts.calls):
            continue
        for case in shipped_cases(file.name):
            is_plain = case.format == file.name and len(case.calls) == 1 and not case.options
            is_plain = is_plain and '"name"' not in case.input
            if is_plain and case.calls[0][2] == "complete" and case.input.count(case.calls[0][1]) == 1:
                found.append(pytest.param(case, id=file.name))
                break
    return found


ONE_OBJECT = one_object_cases()


def test_all_families_with_one_object_have_a_case() -> None:
    assert len(ONE_OBJECT) >= 13


def after_arguments(case: Case, text: str) -> str:
    arguments = case.calls[0][1]
    return case.input.replace(arguments, arguments + text)


@pytest.mark.parametrize("case", ONE_OBJECT)
def test_a_second_object_is_a_second_call(case: Case) -> None:
    name, arguments, _ = case.calls[0]
    for other in ('{"entity": "Y"}', '\n{"entity": "Y"}'):
        message = read_text(case.format, after_arguments(case, other), case.tools)
        assert [(c.name, c.arguments, c.status) for c in message.tool_calls] == [
            (name, arguments, "complete"),
            (name, '{"entity": "Y"}', "complete"),
        ]
        assert message.content == case.content
        assert not message.malformed
        assert len({call.id for call in message.tool_calls}) == 2


@pytest.mark.parametrize("case", ONE_OBJECT)
def test_an_equal_object_is_an_echo_with_repair(case: Case) -> None:
    name, arguments, _ = case.calls[0]
    closers = [text for call in unspool.get_format(case.format).facts.calls for text in call.closers]
    if not any(closer in case.input for closer in closers):
        return
    message = read_text(case.format, after_arguments(case, arguments), case.tools, repair=True)
    assert shown(message) == (case.content, case.reasoning, [(name, arguments, "complete", ("markup",))], [])


@pytest.mark.parametrize("case", ONE_OBJECT)
def test_text_before_the_closer_is_reported(case: Case) -> None:
    closers = [text for call in unspool.get_format(case.format).facts.calls for text in call.closers]
    if not any(closer in case.input for closer in closers):
        return
    for text in (" and more", "\nand\nmore", " < x"):
        message = read_text(case.format, after_arguments(case, text), case.tools)
        assert [call.status for call in message.tool_calls] == ["malformed"]
        assert message.content == case.content
        assert "".join(item.text for item in message.malformed).strip() == text.strip()


@pytest.mark.parametrize("case", ONE_OBJECT)
def test_a_missing_closer_is_no_fault(case: Case) -> None:
    arguments = case.calls[0][1]
    begun = case.input[: case.input.index(arguments) + len(arguments)]
    for text in ("", "\n", "\n" + " " * 100):
        message = read_text(case.format, begun + text, case.tools)
        assert [call.status for call in message.tool_calls] == ["complete"]
    message = read_text(case.format, begun + "\nI have called it.", case.tools)
    assert [call.status for call in message.tool_calls] == ["complete"]
    assert message.content.endswith("I have called it.")


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("data_refs:['ds_1']", '{"data_refs":["ds_1"]}'),
        ("l:['x, y']", '{"l":["x, y"]}'),
        ("a:'x'", '{"a":"x"}'),
        ("'a':'x',\"b\":'it's',c:it's", '{"a":"x","b":"it\'s","c":"it\'s"}'),
        ("a:{'b': 'c'}", '{"a":{"b": "c"}}'),
    ],
)
def test_quotes_among_bare_text(written: str, arguments: str) -> None:
    for format, begin, end in (
        ("gemma4", "<|tool_call>call:f", "<tool_call|>"),
        ("functiongemma", "<start_function_call>call:f", "<end_function_call>"),
    ):
        output = f"{begin}{{{written}}}{end}"
        for message in (read_text(format, output), read_ids(format, output)):
            assert shown(message) == ("", "", [("f", arguments, "complete", ())], [])


@pytest.mark.parametrize("format", ["openai", "beam", "llm_jp_41"])
def test_all_is_header_between_its_markers(format: str) -> None:
    header = "commentary to=functions.bash <|constrain|>json"
    output = f'<|start|>assistant<|channel|>bash<|channel|>{header}<|message|>{{"command":"ls"}}<|call|>'
    for message in (read_text(format, output), read_ids(format, output)):
        assert message.content == ""
        assert not any(item.in_content for item in message.malformed)
        assert [call.arguments for call in message.tool_calls] == ['{"command":"ls"}']
    for message in (
        read_text(format, "<|channel|>Final<|message|>Four."),
        read_ids(format, "<|start|>assistant<|channel|>Final answer<|message|>Four.<|return|>"),
    ):
        assert message.content == "Four."
        assert not any(item.in_content for item in message.malformed)
    for broken in ("??", "commentary?commentary?"):
        output = f"<|channel|>{broken}<|end|><|start|>assistant<|channel|>final<|message|>Four.<|return|>"
        for message in (read_text(format, output), read_ids(format, output)):
            assert message.content == "Four."
            assert [(item.text, item.in_content) for item in message.malformed] == [(broken, False)]
    said = "The marker <|channel|> opens a header."
    assert shown(read_text(format, said)) == (said, "", [], [])


CLOSERS = [
    pytest.param(file.name, closer, id=f"{file.name} {closer}")
    for file in unspool.formats()
    if not file.facts.headers
    for closer in sorted(
        {
            *(file.facts.reasoning.closers if file.facts.reasoning else ()),
            *file.facts.section_closers,
            *(closer for call in file.facts.calls for closer in call.closers),
        }
        - {*file.facts.ends, *file.facts.dropped}
    )
    if not closer[0].isalpha() and not closer.startswith("```")
]


@pytest.mark.parametrize(("format", "closer"), CLOSERS)
def test_a_closer_with_nothing_open(format: str, closer: str) -> None:
    report = [(closer, REASON, None)]
    ended = read_text(format, f"Hello.{closer}", start_in="content")
    assert shown(ended) == ("Hello.", "", [], report)
    said = f"The tag {closer} closes it."
    assert shown(read_text(format, said, start_in="content")) == (said, "", [], [])
    if closer not in unspool.get_format(format).facts.marker_tokens:
        return
    by_ids = read_ids(format, f"Hello.{closer} More.", start_in="content")
    assert shown(by_ids) == ("Hello. More.", "", [], report)


def test_other_tokens_that_mean_nothing() -> None:
    message = read_ids("glm45", "Hi.</arg_value>\nyou<arg_key>", start_in="content")
    assert message.content == "Hi.\nyou"
    assert [item.text for item in message.malformed] == ["</arg_value>", "<arg_key>"]
    # What closes an opener that is text is text.
    said = "I write <tool_call> and then </tool_call>."
    assert shown(read_ids("hermes", said, start_in="content")) == (said, "", [], [])


NAMED = {
    "dots": '<invoke name="Bash">',
    "gigachat35": '<｜GCML｜invoke name="Bash">',
    "mimo": "<tool_call>\n<function=Bash>",
    "nanbeige": "<tool_call>\n<function=Bash>",
    "deepseek_v32": '<｜DSML｜invoke name="Bash">',
    "deepseek_v4": '<｜DSML｜invoke name="Bash">',
    "deepseek_v41": '<｜DSML｜ invoke name="Bash">',
    "minimax_m3": ']<]minimax[>[<invoke name="Bash">',
    "qwen3_coder": "<tool_call>\n<function=Bash>",
    "seed_oss": "<seed:tool_call>\n<function=Bash>",
}


@pytest.mark.parametrize("format", NAMED)
def test_an_opener_with_a_name_is_a_mention_by_ids_too(format: str) -> None:
    said = f"To run a tool I write {NAMED[format]} and then the parameters. No call is needed here."
    message = read_ids(format, said, "｜DSML｜", "｜GCML｜", tools=BASH, start_in="content")
    assert shown(message) == (said, "", [], [])
