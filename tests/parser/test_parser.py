"""The parser's own API: options, ends, regions, ids beside text, bad arguments."""

from __future__ import annotations

import re
from typing import Any

import pytest
import unspool
from unspool import ArgumentError, Parser, StreamError, UnknownFormatError, parse

from ..outputs import TOOLS

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


def test_the_readme_loop() -> None:
    parser = Parser("hermes", tools=TOOLS)
    sent = [
        delta.to_openai() for chunk in ("Hi ", CALL[:30], CALL[30:]) for delta in parser.parse_chunk(chunk)
    ]
    sent = [wire for wire in sent if wire]
    assert sent[0] == {"content": "Hi "}
    (begin,) = sent[1]["tool_calls"]
    assert re.fullmatch(r"call_[0-9A-Za-z]{24}", begin.pop("id"))
    assert begin == {
        "index": 0,
        "type": "function",
        "function": {"name": "get_weather", "arguments": ""},
    }
    assert sent[2] == {"tool_calls": [{"index": 0, "function": {"arguments": '{"city": "Paris"}'}}]}
    message = parser.finish("stop")
    assert message.finish_reason == "tool_calls"
    assert message.to_openai()["tool_calls"][0]["function"]["arguments"] == '{"city": "Paris"}'


def test_an_empty_chunk_with_a_finish_reason_flushes_and_closes() -> None:
    parser = Parser("hermes")
    assert [d.text for d in parser.parse_chunk("a <tool_")] == ["a "]
    deltas = parser.parse_chunk("", [], "length")
    assert [(d.kind, d.text) for d in deltas] == [("content", "<tool_"), ("finish", "")]
    assert parser.finish().content == "a <tool_"
    assert parser.finish().deltas == ()
    with pytest.raises(StreamError, match="create a new Parser"):
        parser.parse_chunk("more")


def test_the_last_chunk_may_carry_everything() -> None:
    message = Parser("hermes", TOOLS).parse(CALL)
    kinds = [delta.kind for delta in message.deltas] or None
    assert kinds == ["tool_call_begin", "tool_call_arguments", "tool_call_end", "finish"]


def test_region_says_what_is_open() -> None:
    parser = Parser("qwen3")
    regions = []
    for piece in (
        "<think>",
        "a",
        "</think>",
        "b",
        '<tool_call>{"na',
        'me": "f", "arguments": {',
        "}}",
        "</tool_call>c",
    ):
        parser.parse_chunk(piece)
        regions.append(parser.region)
    assert regions == [
        "reasoning", "reasoning", "content", "content", "tool_call", "tool_call", "content", "content",
    ]  # fmt: skip


def test_finish_reasons() -> None:
    table = {
        ("hi", "stop"): "stop",
        ("hi", "length"): "length",
        (CALL, "stop"): "tool_calls",
        (CALL, "tool_calls"): "tool_calls",
        (CALL, "length"): "length",
        (CALL, "error"): "error",
        (CALL, "cancelled"): "cancelled",
        (CALL + "and text", "stop"): "tool_calls",
        (CALL + "<tool_call>{oops", "stop"): "tool_calls",
        (CALL + '<tool_call>{"name": "f", "arguments": {"x', "stop"): "stop",
    }
    for (output, reason), expected in table.items():
        assert parse(output, "hermes", finish_reason=reason).finish_reason == expected


def test_call_ids_by_format() -> None:
    nine = parse("[TOOL_CALLS]f[ARGS]{}", "mistral").tool_calls[0].id
    assert re.fullmatch(r"[0-9A-Za-z]{9}", nine)
    ids = {parse(CALL, "hermes").tool_calls[0].id for _ in range(200)}
    assert len(ids) == 200
    own = '<tool_call>{"id": "my-1", "name": "f", "arguments": {}}</tool_call>'
    assert parse(own, "hermes").tool_calls[0].id == "my-1"


def test_kimi_ids_from_a_format_of_ones_own() -> None:
    from unspool.formats.format_file import FormatFile

    file = FormatFile('name = "mine"\ncall = "<c>${object}</c>"\nid = "functions.${name}:${index}"\n')
    message = parse('<c>{"name": "f"}</c><c>{"name": "g"}</c>', file)
    assert [call.id for call in message.tool_calls] == ["functions.f:0", "functions.g:1"]


def test_ids_alone_and_counts(deepseek: Any) -> None:
    ids = deepseek.encode("<think>\nshort\n</think>\n\nHello!")
    parser = Parser("qwen3", tokenizer=deepseek.tokenizer)
    message = parser.parse(ids)
    assert (message.reasoning, message.content) == ("short", "Hello!")
    counts = message.token_counts
    assert counts.total == len(ids)
    assert counts.reasoning >= 3
    assert counts.content >= 2


def test_ids_without_a_tokenizer_are_passed_on() -> None:
    parser = Parser("hermes")
    deltas = parser.parse_chunk("Hello ", [5, 6]) + parser.parse_chunk("world", [7])
    deltas += parser.finish().deltas
    assert [(d.text, d.token_ids) for d in deltas] == [
        ("Hello ", (5, 6)),
        ("world", (7,)),
        ("", ()),
    ]


def test_ids_alone_after_text_and_ids_without_a_tokenizer() -> None:
    parser = Parser("hermes")
    parser.parse_chunk("a", [1])
    assert parser.parse_chunk(None, [2]) == []
    assert parser.parse_chunk("b", [3])[0].token_ids == (2, 3)
    assert parser.finish().token_counts.total == 3


def test_lone_ids_without_a_tokenizer_are_refused() -> None:
    with pytest.raises(ArgumentError, match="token ids need a tokenizer to become text; pass tokenizer="):
        parse([1, 2, 3], "hermes")
    parser = Parser("hermes")
    for chunk in ("", "a"):  # text alone changes nothing
        parser.parse_chunk(chunk)
        with pytest.raises(ArgumentError, match="pass tokenizer="):
            parser.parse_chunk(tokens=[1])
        parser.parse_chunk(tokens=[])
    message = parser.finish()
    assert (message.content, message.token_counts.total) == ("a", 0)
    beside = Parser("hermes")
    assert beside.parse_chunk("", [1]) == []
    assert beside.parse_chunk("a", [2])[0].token_ids == (1, 2)


def test_text_with_ids_whose_special_tokens_are_not_in_it(tekken: Any) -> None:
    """Serving stacks strip special tokens from the text; the ids still show them."""
    vocabulary = tekken.vocabulary
    open_, close = vocabulary.find_added("[TOOL_CALLS]"), vocabulary.find_added("</s>")
    body = tekken.encode('[{"name": "f", "arguments": {"a": 1}}]')
    ids = [*tekken.encode("Hi."), open_, *body, close]
    for skip in (True, False):
        shown = {True: "", False: "[TOOL_CALLS]"}[skip]
        end = {True: "", False: "</s>"}[skip]
        chunks = [
            ("Hi.", ids[:2]),
            (shown, ids[2:3]),
            ('[{"name": "f", "argu', ids[3:9]),
            ('ments": {"a": 1}}]', ids[9:-1]),
            (end, [close]),
        ]
        parser = Parser("mistral", tokenizer=vocabulary)
        for text, tokens in chunks:
            parser.parse_chunk(text, tokens)
        message = parser.finish()
        assert message.content == "Hi."
        assert [(c.name, c.arguments) for c in message.tool_calls] == [("f", '{"a": 1}')]


def test_text_that_a_stop_string_cut_off_is_not_added(deepseek: Any) -> None:
    """The host's word counts: ids of text that it dropped add nothing."""
    ids = deepseek.encode("Answer\nObservation: x")
    parser = Parser("hermes", tokenizer=deepseek.vocabulary)
    parser.parse_chunk("Answer", ids)
    assert parser.finish().content == "Answer"


def test_a_host_that_writes_other_text_than_its_ids_say(tekken: Any) -> None:
    """Its word counts; markers keep their places, and no character is cut."""
    vocabulary = tekken.vocabulary
    marker = vocabulary.find_added("[TOOL_CALLS]")
    ids = [*tekken.encode("é è"), marker, *tekken.encode('f{"a": 1}')]
    for host in ("世世世", "é  è", "éè", "", "a", "😀😀😀😀"):
        for text in (host + 'f{"a": 1}', host + '[TOOL_CALLS]f{"a": 1}'):
            for size in (1, 2, 50):
                parser = Parser("mistral", tokenizer=vocabulary)
                deltas = parser.parse_chunk("", ids)
                for begin in range(0, len(text), size):
                    deltas += parser.parse_chunk(text[begin : begin + size], [])
                message = parser.finish()
                said = message.content + "".join(c.name + c.arguments for c in message.tool_calls)
                # The marker may stand amid its own spelling.
                for _ in range(2):
                    said = said.replace(" ", "").replace("[TOOL_CALLS]", "")
                assert said == text.replace("[TOOL_CALLS]", "").replace(" ", "")


def test_own_stop_strings(deepseek: Any) -> None:
    ids = deepseek.encode("Answer\nObservation: x")
    for include, expected in ((False, "Answer\n"), (True, "Answer\nObservation")):
        parser = Parser("hermes", tokenizer=deepseek.vocabulary, stop="Observation", include_stop=include)
        for id in ids:
            parser.parse_chunk(tokens=[id])
        assert parser.is_stopped
        assert parser.finish().content == expected


def test_prompt_as_ids(deepseek: Any) -> None:
    vocabulary = deepseek.vocabulary
    prompt = deepseek.encode("<｜User｜>what is </think>?<｜Assistant｜><think>\n")
    parser = Parser("deepseek_r1", tokenizer=vocabulary, prompt=prompt)
    assert parser.region == "reasoning"
    closed = deepseek.encode("<｜Assistant｜><think>\n\n</think>\n\n")
    assert Parser("deepseek_r1", tokenizer=vocabulary, prompt=closed).region == "content"
    with pytest.raises(ArgumentError, match="needs a tokenizer"):
        Parser("deepseek_r1", prompt=prompt)


def test_bytes_may_be_cut_anywhere_and_strings_may_not_have_surrogates() -> None:
    raw = "Zürich 👩‍👩‍👧".encode()
    parser = Parser("hermes")
    for byte in raw:
        parser.parse_chunk(bytes([byte]))
    assert parser.finish().content == "Zürich 👩‍👩‍👧"
    parser = Parser("hermes")
    parser.parse_chunk(bytearray(b"a"))
    parser.parse_chunk(memoryview(b"b"))
    with pytest.raises(ArgumentError, match="lone surrogate"):
        parser.parse_chunk("\ud800")
    assert parser.finish().content == "ab"


def test_a_large_text_in_one_chunk() -> None:
    big = "x" * (1 << 20)
    output = f'<tool_call>{{"name": "f", "arguments": {{"s": "{big}"}}}}</tool_call>{big}'
    message = parse(output, "hermes")
    assert message.content == big
    assert len(message.tool_calls[0].arguments) == len(big) + 9


def test_message_without_text() -> None:
    parser = Parser("hermes", keep_message=False)
    parser.parse_chunk("text" + CALL)
    message = parser.finish()
    assert message.content == ""
    assert [call.status for call in message.tool_calls] == ["complete"]


def test_tools_in_every_shape() -> None:
    from unspool.core.stream.tool_schemas import compile_tools

    chat = {"type": "function", "function": {"name": "a", "parameters": {"properties": {}}}}
    flat = {"type": "function", "name": "b", "parameters": {}}
    anthropic = {"name": "c", "input_schema": {"properties": {"x": {"type": "integer"}}}}

    class Model:
        def model_dump(self) -> dict[str, Any]:
            return {"type": "function", "function": {"name": "d"}}

    schemas = compile_tools([chat, flat, anthropic, Model()])
    assert schemas is not None
    assert len(schemas) == 4
    assert all(name in schemas for name in "abcd")
    assert compile_tools(schemas) is schemas


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"format": "hermez"}, UnknownFormatError, "did you mean 'hermes'"),
        ({"format": True}, TypeError, "format is of type bool; pass a format's name"),
        ({"format": "hermes", "tools": {"name": "x"}}, ArgumentError, "pass a list"),
        ({"format": "hermes", "tools": [{}]}, ArgumentError, r"tools\[0\] has no name"),
        ({"format": "hermes", "tools": ["f"]}, ArgumentError, r"tools\[0\] is a str"),
        ({"format": "hermes", "tools": [{"name": "\ud800"}]}, ArgumentError, "a lone surrogate"),
        (
            {"format": "hermes", "tools": [{"name": "f", "parameters": "oops"}]},
            ArgumentError,
            r"the parameters of tools\[0\] \(f\) are not valid JSON",
        ),
        (
            {"format": "hermes", "tool_choice": "zzz", "tools": TOOLS},
            ArgumentError,
            "name of one of the tools",
        ),
        ({"format": "hermes", "tool_choice": {"type": "function"}}, ArgumentError, "names no tool"),
        ({"format": "hermes", "reasoning": True}, ArgumentError, "no reasoning of its own"),
        ({"format": "qwen3", "reasoning": "hermes"}, ArgumentError, "has no reasoning"),
        ({"format": "hermes", "start_in": "middle"}, ArgumentError, "start_in is 'middle'"),
        ({"format": "hermes", "trust": "all"}, ArgumentError, "trust is 'all'"),
        ({"format": "hermes", "reasoning_field": "thoughts"}, ArgumentError, "reasoning_field"),
        (
            {"format": "hermes", "tokenizer": 7},
            ValueError,
            "no way to read a tokenizer of type builtins.int",
        ),
    ],
)
def test_bad_options_raise_at_once(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Parser(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((5,), TypeError, "text is of type int; pass a str, or bytes"),
        (("a", "b"), TypeError, "ids is of type str"),
        (("a", None, "eos"), ArgumentError, "finish_reason is 'eos'; use one of stop, length"),
        (("a", None, None, None), TypeError, "takes text, tokens and finish_reason"),
    ],
)
def test_bad_chunks_change_nothing(arguments: Any, error: type[Exception], message: str) -> None:
    parser = Parser("hermes")
    with pytest.raises(error, match=message):
        parser.parse_chunk(*arguments)
    with pytest.raises(TypeError, match="once each"):
        parser.parse_chunk("a", text="b")  # type: ignore[call-overload]
    assert parser.finish().content == ""


def test_aliases_resolve() -> None:
    for name in (
        "hermes3",
        "qwen25",
        "qwen3_json",
        "llama3",
        "llama4_json",
        "qwen3_xml",
        "deepseek-r1",
        "Hermes",
    ):
        assert unspool.get_format(name).name in {file.name for file in unspool.formats()}


def test_register_format(tmp_path: Any) -> None:
    path = tmp_path / "my.toml"
    path.write_text('name = "mine_only"\ncall = "<<${object}>>"\n')
    unspool.register_format(path)
    assert parse('<<{"name": "f"}>>', "mine_only").tool_calls[0].name == "f"
    with pytest.raises(unspool.FormatError, match="'mine_only' is taken"):
        unspool.register_format(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x"\ncal = "a"', r"my.toml:2:1: cal: unknown key; use one of name, models"),
        (
            'name = "x"\n\n[[example]]\ninpt = "a"',
            r"my.toml:4:1: example\[0\].inpt: unknown key; use one of input",
        ),
        (
            'name = "x"\ncall = "<a>${objct}</a>"',
            r"my.toml:2:1: call: there is no hole \$\{objct\}; use one of",
        ),
        (
            'name = "x"\ncall = ["<a>${object}</a>", ""]\n',
            r"my.toml:2:1: call: the value must be a text that is not",
        ),
        ('name = "x"\n  models = "y"\n', r"my.toml:2:3: models: the value must be a list of texts"),
        ('call = "<a>${object}</a>"\n', r"my.toml:1:1: name: the key is missing"),
        ('name = "x"\n', r"my.toml:1:1: name: the file has neither calls nor reasoning"),
        ("name = ", r"my.toml:1:8: not TOML"),
        ('name = "x"\n  [(]\n', r"my.toml:2:3: not TOML: the table's header has no key"),
        ('name = "x"\ncall = "<c>${name}</c>"\n', r"my.toml:2:1: call: .* no \$\{arguments\}"),
        ('name = "x"\nreasoning = "<r>${reasoning}"\n', r"reasoning: nothing ends the \$\{reasoning\}"),
        ('name = "x"\nend = 1979-05-27\n', r"my.toml:2:7: end is a date"),
        (
            'name = "x"\n[[call]]\nopen = "a"\n',
            r"my.toml:2:3: call: this key describes how to parse; .*call = \"<tool_call>\$\{object\}",
        ),
        ('name = "x"\nignore = "</s>"\n', r"my.toml:2:1: ignore: this key describes how to parse"),
    ],
)
def test_bad_format_files(tmp_path: Any, text: str, message: str) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(unspool.FormatError, match=message):
        unspool.register_format(path)


def test_live_objects_refuse_pickle() -> None:
    import pickle

    for live in (Parser("hermes"), unspool.DeltaChannel()):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            pickle.dumps(live)


def test_many_streams_do_not_touch_each_other() -> None:
    parsers = [Parser("hermes", TOOLS) for _ in range(50)]
    for letter in CALL:
        for parser in parsers:
            parser.parse_chunk(letter)
    ids = set()
    for parser in parsers:
        message = parser.finish()
        assert message.tool_calls[0].arguments == '{"city": "Paris"}'
        ids.add(message.tool_calls[0].id)
    assert len(ids) == 50


def test_a_label_that_ends_early_does_not_wait() -> None:
    """If the beginning of a marker shows that text is no label, the text is emitted at once."""
    parser = unspool.Parser("gemma4")
    deltas = parser.parse_chunk("<|channel>t<")
    assert [(delta.kind, delta.text) for delta in deltas] == [("reasoning", "t")]
    assert parser.held == (b"<", "marker")
    deltas = parser.parse_chunk("x")
    assert [(delta.kind, delta.text) for delta in deltas] == [("reasoning", "<x")]


def test_a_call_that_fails_before_it_is_announced_is_reported_once() -> None:
    """Where the tools are not known, a Python call waits for its first argument; found by fuzzing."""
    output = '[now(), get_weather(x"Paris")]'
    message = unspool.Parser("pythonic", audit=True).parse(output)
    assert [item.text for item in message.malformed] == [' get_weather(x"Paris")]']
    assert "".join(text for _, text in message.audit) == output
