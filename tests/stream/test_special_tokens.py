"""Special tokens are left out of content and reasoning; headers, names and calls read them."""

from __future__ import annotations

import functools

import pytest
from unspool import Message, Parser, Vocabulary, formats, get_format
from unspool.testing.cases import shipped_cases

EXTRA = "<|unknown_special|>"


@functools.cache
def vocabulary_of(format: str) -> tuple[Vocabulary, dict[str, int]]:
    """One id a byte, one for each marker, and a special token that the format does not know."""
    markers = [*get_format(format).facts.marker_tokens, EXTRA]
    ids = {marker: 256 + i for i, marker in enumerate(markers)}
    added = [(id, marker, marker, True) for marker, id in ids.items()]
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True), ids


def encode(text: str, ids: dict[str, int]) -> list[int]:
    tokens: list[int] = []
    markers = sorted(ids, key=len, reverse=True)
    while text:
        marker = next((m for m in markers if text.startswith(m)), None)
        tokens += [ids[marker]] if marker else list(text[0].encode())
        text = text[len(marker or text[0]) :]
    return tokens


def calls(message: Message) -> list[tuple[str, str, str]]:
    return [(call.name, call.arguments, call.status) for call in message.tool_calls]


def test_t1_a_special_token_ends_a_name_in_a_header() -> None:
    vocabulary, ids = vocabulary_of("openai")
    constrain = 256 + len(ids)
    added = [(id, text, text, True) for text, id in ids.items()]
    added.append((constrain, "<|constrain|>", "<|constrain|>", True))
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True)
    output = '<|channel|>commentary to=functions.f<|constrain|>json<|message|>{"a": 1}<|call|>'
    tokens = encode(output, {**ids, "<|constrain|>": constrain})
    for skip in (True, False):
        parser = Parser("openai", tokenizer=vocabulary, skip_special_tokens=skip)
        deltas = [delta for token in tokens for delta in parser.parse_chunk(None, [token])]
        message = parser.finish()
        assert calls(message) == [("f", '{"a": 1}', "complete")]
        assert message.content == ""
        spent = [id for delta in [*deltas, *message.deltas] for id in delta.token_ids]
        assert spent == tokens
    # A host that sends text beside the ids, with the special tokens' text or without it.
    for text in (output, output.replace("<|constrain|>", "")):
        message = Parser("openai", tokenizer=vocabulary)
        message.parse_chunk(text, tokens)
        assert calls(message.finish()) == [("f", '{"a": 1}', "complete")]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", [file.name for file in formats() if file.has_tools])
def test_t1_names_and_arguments_are_those_of_the_text(format: str) -> None:
    """A special token anywhere in an output: calls are those of its text, with skip_special_tokens or without."""
    vocabulary, ids = vocabulary_of(format)
    for case in shipped_cases(format):
        if not case.calls or len(case.input) > 400:
            continue
        tokens = encode(case.input, ids)
        for place in range(1, len(tokens), 1 + len(tokens) // 40):
            options = {**case.options, "id_seed": 1, "tokenizer": vocabulary}
            mixed = [*tokens[:place], ids[EXTRA], *tokens[place:]]
            tools = None if case.tools is None else list(case.tools)
            kept = Parser(format, tools, **options, skip_special_tokens=False).parse(
                mixed, case.finish_reason
            )
            left_out = Parser(format, tools, **options).parse(mixed, case.finish_reason)
            where = (case.name, place)
            assert EXTRA not in left_out.reasoning, where
            if calls(kept) != calls(left_out):
                # Content leaves the token out, so that a call without an opener may begin after it. Its last
                # byte may be an opener's.
                told = [kept.content, kept.reasoning, *(item.text for item in kept.malformed)]
                assert EXTRA[:-1] in "".join(told), where


def test_special_tokens_at_the_end_are_no_arguments() -> None:
    vocabulary, ids = vocabulary_of("hermes")
    begin = encode('<tool_call>{"name": "f", "arguments": {"a": "x', ids)
    message = Parser("hermes", tokenizer=vocabulary).parse([*begin, ids[EXTRA], ids[EXTRA]])
    assert calls(message) == [("f", '{"a": "x', "incomplete")]
    whole = [*begin, ids[EXTRA], *encode('"}}</tool_call>', ids), ids[EXTRA]]
    message = Parser("hermes", tokenizer=vocabulary).parse(whole)
    assert calls(message) == [("f", '{"a": "x' + EXTRA + '"}', "complete")]
    assert message.content == ""


def test_special_tokens_are_left_out_of_content_and_reasoning() -> None:
    vocabulary, ids = vocabulary_of("qwen3")
    extra = ids[EXTRA]
    output = [extra, *encode("<think>\na", ids), extra, *encode("b\n</think>\n\nc", ids), extra, *b"d", extra]
    message = Parser("qwen3", tokenizer=vocabulary).parse(output)
    assert (message.reasoning.strip(), message.content) == ("ab", "cd")
    message = Parser("qwen3", tokenizer=vocabulary, skip_special_tokens=False, start_in="content").parse(
        encode("c" + EXTRA + "d", ids)
    )
    assert message.content == "c" + EXTRA + "d"


def test_bare_json_that_is_no_call_leaves_them_out() -> None:
    vocabulary, ids = vocabulary_of("llama3_json")
    message = Parser("llama3_json", tokenizer=vocabulary).parse(
        [*b'{"nam', ids[EXTRA], *b'e": 1, "b', ids[EXTRA], *b'": 2} ok']
    )
    assert message.content == '{"name": 1, "b": 2} ok'


@pytest.mark.parametrize("host", ["text and ids", "ids"])
@pytest.mark.parametrize("skip", [True, False])
def test_t22_the_hosts_text_is_read_as_it_is(host: str, skip: bool) -> None:
    """`trust="text"`: markers that are special tokens are read in the text."""
    vocabulary, ids = vocabulary_of("qwen3")
    output = (
        "<think>\nhm\n</think>\n\nHi" + EXTRA + '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    )
    parser = Parser("qwen3", tokenizer=vocabulary, trust="text", skip_special_tokens=skip, audit=True)
    tokens = encode(output, ids)
    if host == "ids":
        for token in tokens:
            parser.parse_chunk(None, [token])
    else:
        names = {id: text for text, id in ids.items()}
        for token in tokens:
            parser.parse_chunk(names[token] if token in names else bytes([token]), [token])
    message = parser.finish()
    assert (message.reasoning.strip(), calls(message)) == ("hm", [("f", "{}", "complete")])
    assert message.content == ("Hi" if skip else "Hi" + EXTRA)
    assert "".join(text for _, text in message.audit) == (output.replace(EXTRA, "") if skip else output)


def test_t22_a_host_that_left_markers_out_has_none() -> None:
    vocabulary, ids = vocabulary_of("qwen3")
    parser = Parser("qwen3", tokenizer=vocabulary, trust="text", start_in="content")
    parser.parse_chunk("a b", encode("a<think> b", ids))
    assert parser.finish().content == "a b"
