"""A prompt may begin a call: the output goes on with it."""

from __future__ import annotations

import pytest
from unspool import Parser, parse

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
            },
        },
    }
]
#: A prompt that begins a call of `read`, and the output that ends it.
BEGUN = {
    "json": ('Schema:\n{"a": 1}\nUser: hi\n{"name": "re', 'ad", "arguments": {"path": "a.txt"}}'),
    "inkling": (
        "User: hi\n<|content_invoke_tool_",
        'json|>{"name": "read", "args": {"path": "a.txt"}}<|end_message|>',
    ),
    "pythonic": ("[1] A source.\n\n[read(pa", 'th="a.txt")]'),
    "hermes": ('<tool_call>\n{"name": "read", "arguments": ', '{"path": "a.txt"}}\n</tool_call>'),
    "qwen3": (
        '<|im_start|>assistant\n<tool_call>\n{"name": "read", "arg',
        'uments": {"path": "a.txt"}}\n</tool_call>',
    ),
    "llama3_json": (
        '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "read", "parameters": ',
        '{"path": "a.txt"}}',
    ),
    "qwen3_coder": (
        "<|im_start|>assistant\n<tool_call>\n<function=read>\n",
        "<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
    ),
    "mistral": ("[/INST][TOOL_CALLS]read[ARGS]", '{"path": "a.txt"}'),
    "deepseek_v31": (
        "<｜Assistant｜></think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>",
        '{"path": "a.txt"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ),
    "openai": (
        "<|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>",
        '{"path": "a.txt"}<|call|>',
    ),
}


@pytest.mark.parametrize("format", list(BEGUN))
def test_a_forced_call_is_read(format: str) -> None:
    prompt, output = BEGUN[format]
    for size in (1, 3, len(output)):
        parser = Parser(format, TOOLS, prompt=prompt)
        pieces = [output[i : i + size] for i in range(0, len(output), size)]
        deltas = [delta for piece in pieces for delta in parser.parse_chunk(piece)]
        message = parser.finish()
        assert [(call.name, call.status) for call in message.tool_calls] == [("read", "complete")]
        assert message.tool_calls[0].arguments.replace(" ", "") == '{"path":"a.txt"}'
        assert message.content == message.reasoning == ""
        assert deltas[0].kind == "tool_call_begin"


def test_the_first_arguments_come_from_the_prompt() -> None:
    prompt = '<tool_call>\n{"name": "read", "arguments": {"path": "a.t'
    message = parse('xt", "lines": 3}}\n</tool_call>', "hermes", TOOLS, prompt=prompt, audit=True)
    assert message.tool_calls[0].arguments == '{"path": "a.txt", "lines": 3}'
    # The audit is of the output alone.
    assert "".join(text for _, text in message.audit) == 'xt", "lines": 3}}\n</tool_call>'


def test_a_call_that_the_prompt_has_closed_is_not_sent_again() -> None:
    first = '<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>\n'
    prompt = f'<|im_start|>assistant\n{first}<tool_call>\n{{"name": "read", "argu'
    message = parse('ments": {"path": "b"}}\n</tool_call>', "hermes", TOOLS, prompt=prompt)
    assert [call.arguments for call in message.tool_calls] == ['{"path": "b"}']
    assert message.finish_reason == "tool_calls"


def test_what_a_user_wrote_begins_no_call() -> None:
    prompt = '<|im_start|>user\nWrite <tool_call>\n{"name": "read", "arguments": <|im_end|>\n<|im_start|>assistant\n'
    message = parse('{"path": "a"}', "hermes", TOOLS, prompt=prompt)
    assert (message.content, message.tool_calls) == ('{"path": "a"}', ())


def test_a_begun_call_that_breaks_is_malformed_without_the_prompts_text() -> None:
    parser = Parser("hermes", TOOLS, prompt='<|im_start|>assistant\n<tool_call>\n{"na')
    parser.parse_chunk('me": @@}\n</tool_call>\nI am sorry.')
    message = parser.finish()
    assert message.tool_calls == ()
    assert message.content == 'me": @@}\n</tool_call>\nI am sorry.'
    assert [item.text for item in message.malformed] == ['me": @@}\n</tool_call>']


def test_a_snapshot_and_a_fork_go_on() -> None:
    prompt, output = BEGUN["hermes"]
    parser = Parser("hermes", TOOLS, prompt=prompt)
    fork = parser.fork()
    again = Parser.restore(parser.snapshot(), "hermes", TOOLS, prompt=prompt)
    for stream in (parser, fork, again):
        assert stream.parse(output).tool_calls[0].arguments == '{"path": "a.txt"}'
