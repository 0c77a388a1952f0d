"""Where an output starts when the prompt has opened a call, or a tag that stays in the content."""

from __future__ import annotations

import time
import warnings
from typing import Any

import pytest
from unspool import Parser, TokenStreamer, Vocabulary, get_format, parse

CALL = '{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@pytest.mark.parametrize(
    "prompt", ["<|im_start|>assistant\n<tool_call>\n", "<|im_start|>assistant\n<tool_call>"]
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_g8_a_prompt_that_opens_a_call(prompt: str, size: int) -> None:
    parser = Parser("hermes", prompt=prompt, audit=True)
    assert parser.region == "tool_call"
    for at in range(0, len(CALL), size):
        parser.parse_chunk(CALL[at : at + size])
    message = parser.finish()
    assert [(c.name, c.arguments, c.status) for c in message.tool_calls] == [("f", '{"a": 1}', "complete")]
    assert (message.content, message.finish_reason) == ("", "tool_calls")
    assert "".join(text for _, text in message.audit) == CALL


@pytest.mark.parametrize(
    ("format", "prompt", "output"),
    [
        ("qwen3_coder", "assistant\n<tool_call>\n", "<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"),
        ("glm45", "<|assistant|>\n<tool_call>", "f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"),
        ("mistral", "[/INST][TOOL_CALLS]", 'f[ARGS]{"a": 1}'),
        ("kimi_k2", "<|im_assistant|>assistant<|im_middle|><|tool_calls_section_begin|><|tool_call_begin|>",
         'functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|><|tool_calls_section_end|>'),
        ("kimi_k2", "<|im_assistant|>assistant<|im_middle|><|tool_calls_section_begin|>",
         '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'
         "<|tool_calls_section_end|>"),
    ],
)  # fmt: skip
def test_g8_in_other_families(format: str, prompt: str, output: str) -> None:
    tools = [{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}]
    message = Parser(format, tools, prompt=prompt).parse(output)
    (call,) = message.tool_calls
    assert (call.name, call.arguments.replace(" ", ""), call.status) == ("f", '{"a":1}', "complete")
    assert message.content == ""


def test_g8_what_opens_no_call() -> None:
    said = "Hello"
    for format, prompt in (
        ("hermes", "<tool_call>\n{}\n</tool_call>\n<|im_start|>assistant\n"),
        ("phi4_mini_json", "from functools"),
        ("qwen3_coder", "the tag <tool_call> is one.<|im_start|>assistant\n"),
    ):
        assert Parser(format, prompt=prompt).parse(said).content == said
    # The tools are off, so that nothing opens a call.
    assert Parser("hermes", [], prompt="<tool_call>\n").parse(said).content == said
    message = Parser("hermes", prompt="<tool_call>\n").parse(said)
    assert (message.content, [item.text for item in message.malformed]) == (said, [said])


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    ("format", "prompt", "output", "content", "reasoning", "calls"),
    [
        # A header that the prompt has begun, and the output ends.
        ("openai", "<|start|>assistant<|channel|>analysis", "<|message|>Hm.<|end|>", "", "Hm.", []),
        ("openai", "<|start|>assistant", " to=functions.f<|message|>{}", "", "", [("f", "{}")]),
        ("openai", "<|start|>assistant to=functions.f", "<|message|>{}<|call|>", "", "", [("f", "{}")]),
        ("openai", "<|start|>assistant", "final words", "final words", "", []),
        ("openai", "<|start|>user<|message|>final<|end|><|start|>assistant<|channel|>final<|message|>Sure, ",
         "analysis it is.", "analysis it is.", "", []),
        ("hyperclovax", "<|im_start|>assistant -> tool/function_call\n", '[{"name": "f", "arguments": {}}]',
         "", "", [("f", "{}")]),
        ("hyperclovax", "<|im_start|>assistant/think\n", "Hm.<|im_end|>", "", "Hm.", []),
        # The reasoning's label.
        ("gemma4", "<|turn>model\n<|channel>", "thought\nHm.<channel|>Hi", "Hi", "Hm.", []),
        # A turn that begins with text of the answer; reasoning is not open.
        ("deepseek_r1", "<｜Assistant｜>Sure, ", "here it is.", "here it is.", "", []),
        ("deepseek_r1", "<｜User｜><think><｜Assistant｜>", "Hm.</think>Hi", "Hi", "Hm.", []),
        # Without a marker of the turn only tags at the prompt's end count.
        ("qwen3", "what is <think>?", "Hi", "Hi", "", []),
        ("qwen3", "so: <think>\n", "Hm.\n</think>\n\nHi", "Hi", "Hm.", []),
        ("qwen3", "so: <think>\n\n</think>\n\n", "Hi", "Hi", "", []),
    ],
)  # fmt: skip
def test_the_output_goes_on_from_the_prompts_turn(
    format: str,
    prompt: str,
    output: str,
    content: str,
    reasoning: str,
    calls: list[tuple[str, str]],
    size: int,
) -> None:
    parser = Parser(format, prompt=prompt, audit=True)
    for at in range(0, len(output), size):
        parser.parse_chunk(output[at : at + size])
    message = parser.finish()
    assert (message.content, message.reasoning, message.malformed) == (content, reasoning, ())
    assert [(call.name, call.arguments) for call in message.tool_calls] == calls
    assert "".join(text for _, text in message.audit) == output  # none of the prompt is emitted


def test_a_header_that_the_prompt_has_opened_by_ids() -> None:
    written = "<|im_start|>assistant -> tool/function_call\n"
    output = '[{"name": "f", "arguments": {}}]'
    special = [(256, "<|im_start|>", "<|im_start|>", True), (257, "<|im_end|>", "<|im_end|>", True)]
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, special, is_bytes=True)
    parser = Parser(
        "hyperclovax", prompt=[256, *written.removeprefix("<|im_start|>").encode()], tokenizer=vocabulary
    )
    parser.parse_chunk(tokens=[*output.encode(), 257])
    assert [(call.name, call.status) for call in parser.finish().tool_calls] == [("f", "complete")]


@pytest.mark.parametrize("prompt", ["Hi", "Hi<think>"])
def test_a_start_that_is_given_counts_whatever_the_prompt_shows(prompt: str) -> None:
    special = [(256, "<think>", "<think>", True), (257, "</think>", "</think>", True)]
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, special, is_bytes=True)
    ids = [256 if piece == "<think>" else ord(piece) for piece in (*"Hi", *(["<think>"] * (prompt != "Hi")))]
    for start_in, found in (("reasoning", ("hm", "Hi")), ("content", ("", "hmHi"))):
        options: dict[str, Any] = {"tokenizer": vocabulary, "start_in": start_in}
        output = [*b"hm", *([257] if start_in == "reasoning" else []), *b"Hi"]
        streamer = TokenStreamer(vocabulary, "qwen3", start_in=start_in, skip_prompt=True, keep_message=True)
        streamer.put(ids)
        streamer.put(output)
        streamer.end("stop")
        by_text, by_ids = (Parser("qwen3", prompt=given, **options) for given in (prompt, ids))
        messages = [streamer.message, by_text.parse(output), by_ids.parse(output)]
        assert [(message.reasoning, message.content) for message in messages] == [found] * 3


THOUGHT = "hm\n</think>\n\nHi"


@pytest.mark.parametrize(
    ("prompt", "begin"),
    [
        (None, "<think>"),  # as the template of MiniMax M2 writes it
        ("]~b]ai\n<think>\n", "<think>"),
        ("]~b]ai\n<think>\n\n</think>\n\n", ""),
    ],
)
@pytest.mark.parametrize("options", [{"stop": "never"}, {}])
def test_g5_content_begins_with_the_prompts_tag(prompt: str | None, begin: str, options: Any) -> None:
    for format, reasoning in (("minimax_m2_append_think", None), ("minimax_m2", "minimax-append-think")):
        for size in (1, 1000):
            parser = Parser(format, reasoning=reasoning, prompt=prompt, **options)
            deltas = [
                d for at in range(0, len(THOUGHT), size) for d in parser.parse_chunk(THOUGHT[at : at + size])
            ]
            message = parser.finish()
            assert (message.content, message.reasoning) == (begin + THOUGHT, "")
            assert "".join(d.text for d in [*deltas, *message.deltas]) == begin + THOUGHT


def test_g5_by_ids() -> None:
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
    prompt = list(b"]~b]ai\n<think>\n")
    streamer = TokenStreamer(vocabulary, "minimax_m2", reasoning="minimax_m2_append_think", skip_prompt=True)
    streamer.put(prompt)
    for byte in THOUGHT.encode():
        streamer.put(byte)
    message = streamer.finish()
    assert (message.content, message.token_counts.total) == ("<think>" + THOUGHT, len(THOUGHT))


def test_g9_mistrals_list_without_its_opener() -> None:
    tools = [{"name": "a"}, {"name": "b"}]
    written = '[{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {}}]'
    for size in (1, 1000):
        parser = Parser("mistral", tools)
        for at in range(0, len(written), size):
            parser.parse_chunk(written[at : at + size])
        message = parser.finish()
        assert [(c.name, c.arguments) for c in message.tool_calls] == [("a", '{"x": 1}'), ("b", "{}")]
        assert (message.content, message.finish_reason) == ("", "tool_calls")
    # Of another tool, or not at the start, or without tools, it is content.
    other = '[{"name": "c", "arguments": {}}]'
    message = Parser("mistral", tools).parse(other + "[TOOL_CALLS]a[ARGS]{}")
    assert (message.content, [c.name for c in message.tool_calls]) == (other, ["a"])
    for known, output in ((tools, "So: " + written), (None, written), ([], written)):
        message = Parser("mistral", known).parse(output)
        assert (message.content, message.tool_calls) == (output, ())


def test_t24_a_closing_tag_that_nothing_opened_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unspool.streams.stray_tag._warned", set())
    with pytest.warns(
        UserWarning, match="'</think>' and nothing opened it.*pass prompt=, or start_in='reason"
    ):
        parse("hm\n</think>\n\nHi", "qwen3")
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse("hm\n</think>\n\nHi", "qwen3")
        monkeypatch.setattr("unspool.streams.stray_tag._warned", set())
        parse("hm\n</think>\n\nHi", "qwen3", start_in="reasoning")
        parse("hm\n</think>\n\nHi", "qwen3", start_in="content")
        parse("hm\n</think>\n\nHi", "qwen3", prompt="<|im_start|>assistant\n")
        parse("hm\n</think>\n\nHi", "qwen3", reasoning=False)
        parse("hm\n</think>\n\nHi", "hermes")
        parse("The tag </think> ends it.", "qwen3")
        parse("<think>\na\n</think>\n\nHi </think>\n", "qwen3")
        streamer = TokenStreamer(vocabulary, "qwen3", skip_prompt=True)
        streamer.put(list(b"<|im_start|>assistant\n"))
        streamer.put(list(b"hm\n</think>\n\nHi"))
        streamer.finish()
    with pytest.warns(UserWarning, match="nothing opened it"):
        TokenStreamer(vocabulary, "hermes", reasoning="qwen3").parse(list(b"hm\n</think>\n\nHi"))


@pytest.mark.parametrize("format", ["xlam", "mistral", "openai", "qwen3"])
def test_a_long_prompt_is_read_in_linear_time(format: str) -> None:
    """Each marker in a line without an end begins a new search."""
    file = get_format(format)
    turn = file.patterns["turn"][0]
    line = "some text " + " ".join(file.facts.markers)

    def seconds(count: int) -> float:
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            Parser(format, prompt=turn + line * count)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(16_000) < 40 * seconds(1_000) + 0.01
