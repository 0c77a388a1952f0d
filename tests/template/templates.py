"""Templates as checkpoints and trainers ship them, each with what its models write."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "x": {"type": "number"},
                    "ok": {"type": "boolean"},
                    "s": {"type": "string"},
                    "list": {"type": "array"},
                    "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                },
            },
        },
    }
]
_ARGUMENTS = {"n": 3, "s": 'a "b" \n é', "list": [1, {"k": None}], "ok": True}
_JSON = json.dumps(_ARGUMENTS, ensure_ascii=False)
_CALL = f'{{"name": "f", "arguments": {_JSON}}}'
_STRINGS = '{"name": "f", "arguments": {"n": "12", "x": "1.50", "ok": "True", "s": "7", "maybe": "null", "list": ["1"]}}'
_FUNCTION = {"name": "{name}", "arguments": "{content}"}
_HERMES = {"type": "function", "function": "{content}"}
_NAMED = {"type": "function", "function": _FUNCTION}


@dataclass(frozen=True)
class Case:
    name: str
    template: dict[str, Any]
    outputs: tuple[str, ...]  # what a model writes
    pieces: tuple[str, ...]  # what hypothesis puts together
    prefixes: tuple[str, ...] = field(default=("",))


def _template(anchor: Any, **fields: Any) -> dict[str, Any]:
    return {"defaults": {"role": "assistant"}, "start_anchor": anchor, "fields": fields}


_QWEN = Case(
    "qwen3",
    _template(
        "<|im_start|>assistant\n",
        reasoning_content={"open": "<think>", "close": "</think>", "content": "text"},
        tool_calls={
            "open_pattern": r"\s*<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": _HERMES,
        },
        content={
            "close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>)",
            "content": "text",
        },
    ),
    (
        "<think>\nhm\n</think>\n\nHello there. <|im_end|>\n<|endoftext|>",
        f"<think>a</think>\n\nLet me.\n<tool_call>\n{_CALL}\n</tool_call>\n<tool_call>\n{_STRINGS}\n</tool_call><|im_end|>",
        "1 < 2 and <thin air, <|im_start|> is plain",
    ),
    (
        "<think>",
        "</think>",
        "\n<tool_call>",
        "</tool_call>",
        _CALL,
        _STRINGS,
        "<|im_end|>",
        " a",
        "\n",
        "<",
        '{"name": "f"}',
    ),
    (
        "",
        "x<|im_start|>assistant\n<think>\n",
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
        "<|im_start|>assistant\nSure, ",
    ),
)
_QWEN_CODER = Case(
    "qwen3_5",
    _template(
        "<|im_start|>assistant\n",
        reasoning_content={"open": "<think>", "close": "</think>"},
        tool_calls={
            "open_pattern": r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>",
            "close_pattern": r"</function>\s*</tool_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</parameter>"},
            "transform": _NAMED,
        },
        content={"close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>)"},
    ),
    (
        "Hi\n<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=s>\na < b\n</parameter>\n</function>\n</tool_call><|im_end|>\n<|endoftext|>",
        "<tool_call>\n<function=f>\n</function>\n</tool_call>",
        "<tool_call><function=f><parameter=maybe>None</parameter><parameter=ok>false</parameter><parameter=x>3.0</parameter></function></tool_call>",
    ),
    (
        "<tool_call>",
        "<function=f>",
        "<parameter=n>",
        "</parameter>",
        "4",
        " 1.5 ",
        "<parameter=s>",
        "</function>",
        "</tool_call>",
        "\n",
        "a",
        "<|im_end|>",
    ),
    ("", "<|im_start|>assistant\n<think>\n\n</think>\n\n"),
)
_GEMMA = Case(
    "gemma4",
    _template(
        ["<|turn>model\n", "<tool_response|>"],
        thinking={"open": "<|channel>thought\n", "close": "<channel|>"},
        tool_calls={
            "open_pattern": r"<\|tool_call>call:(?P<name>\w+)",
            "close": "<tool_call|>",
            "repeats": True,
            "content": "json",
            "content_args": {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]},
            "transform": _NAMED,
        },
        content={"close": ["<turn|>", "<|tool_response>", "<eos>"]},
    ),
    (
        '<|channel>thought\nhm<channel|>Hi<|tool_call>call:f{n:3,s:<|"|>a "b" {c}\n<|"|>,list:[<|"|>x<|"|>,1],o:{k:null}}<tool_call|><turn|>',
        "<|channel>thought\n<channel|>Just text.<turn|>",
        '<|tool_call>call:f{n:<|"|>12<|"|>,x:<|"|>.5<|"|>}<tool_call|><|tool_call>call:g{}<tool_call|><|tool_response>',
    ),
    (
        "<|channel>thought\n",
        "<channel|>",
        "<|tool_call>call:f",
        "<tool_call|>",
        "{n:1,s:",
        '<|"|>',
        "}",
        "{}",
        " a",
        "<turn|>",
        "<|",
    ),
    ("", "<|turn>user\nx<turn|><|turn>model\n", "<|turn>model\n<tool_response|><|channel>thought\n"),
)
_GPT_OSS = Case(
    "gpt_oss",
    _template(
        "<|start|>assistant",
        thinking={"open": "<|channel|>analysis<|message|>", "close": "<|end|>"},
        content={"open": "<|channel|>final<|message|>", "close": "<|return|>"},
        tool_calls={
            "open_pattern": r"(?:<\|channel\|>commentary )?to=functions\.(?P<name>\w+).*?<\|message\|>",
            "close": "<|call|>",
            "repeats": True,
            "content": "json",
            "transform": _NAMED,
        },
    ),
    (
        "<|channel|>analysis<|message|>think<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>",
        f"<|channel|>analysis<|message|>think<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{_JSON}<|call|>",
    ),
    (
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "<|start|>assistant",
        "<|channel|>final<|message|>",
        "<|channel|>commentary to=functions.f <|message|>",
        _JSON,
        "<|call|>",
        "<|return|>",
        "a",
        "\n",
    ),
    ("", "<|start|>user<|message|>x<|end|><|start|>assistant"),
)
_COHERE = Case(
    "cohere",
    _template(
        "<|CHATBOT_TOKEN|>",
        thinking={"open": "<|START_THINKING|>", "close": "<|END_THINKING|>"},
        content={"open": "<|START_RESPONSE|>", "close": "<|END_RESPONSE|>"},
        tool_calls={
            "open": "<|START_ACTION|>",
            "close": "<|END_ACTION|>",
            "content": "json",
            "transform": {
                "type": "function",
                "function": {"name": "{tool_name}", "arguments": "{parameters}"},
            },
            "transform_each": True,
        },
    ),
    (
        f'<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n {{"tool_call_id": "0", "tool_name": "f", "parameters": {_JSON}}},\n {{"tool_name": "g", "parameters": {{}}}}]<|END_ACTION|>',
        "<|START_RESPONSE|> Hello <|END_RESPONSE|>",
    ),
    (
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "<|START_ACTION|>",
        '[{"tool_name": "f", "parameters": {"n": "1"}}]',
        "[]",
        "<|END_ACTION|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "a ",
    ),
)
_ERNIE = Case(
    "ernie",
    _template(
        "<|im_start|>assistant\n",
        thinking={"open_pattern": r"(?:^|<think>\s*)", "close_pattern": r"\s*</think>"},
        content={"open": "<response>\n", "close_pattern": r"\n?</response>"},
        tool_calls={
            "open": "<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": _HERMES,
        },
    ),
    (
        "The user said hi.\n</think>\n\n<response>\nHello!\n</response>\n",
        f"hm</think>\n<tool_call>\n{_CALL}\n</tool_call>\n",
    ),
    (
        "<think>",
        " \n",
        "</think>",
        "<response>\n",
        "\n</response>",
        "<tool_call>",
        _CALL,
        "</tool_call>",
        "a",
    ),
    ("", "<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n"),
)
_SMOLLM = Case(
    "smollm",
    _template(
        "<|im_start|>assistant\n",
        thinking={"open": "<think>", "close": "</think>"},
        tool_calls={
            "open": "<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": _HERMES,
        },
        content={"close": "<|im_end|>"},
    ),
    (f"<think>\nhm</think><tool_call>{_CALL}</tool_call><|im_end|>", "Hello<|im_end|>"),
    ("<think>", "</think>", "<tool_call>", _CALL, "</tool_call>", "<|im_end|>", "a", "\n"),
)
_CODER = Case(
    "qwen3_coder",
    _template(
        "<|im_start|>assistant\n",
        tool_calls={
            "open_pattern": r"<tool_call>\s*<function=(?P<name>\w+)>",
            "close_pattern": r"</function>\s*</tool_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": r"<parameter=(?P<key>\w+)>\n(?P<value>.*?)\n</parameter>",
                "value_parser": {"name": "json", "args": {"allow_non_json": True}},
            },
            "transform": _NAMED,
        },
        content={"close": "<|im_end|>"},
    ),
    (
        '<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=list>\n[1, "a"]\n</parameter>\n<parameter=s>\nplain text\n</parameter>\n</function>\n</tool_call><|im_end|>',
    ),
    (
        "<tool_call>\n",
        "<function=f>",
        "<parameter=n>\n",
        "\n</parameter>",
        "[1",
        "]",
        "abc",
        " 7 ",
        "</function>\n",
        "</tool_call>",
        "<|im_end|>",
    ),
)
_INKLING = Case(
    "inkling",
    _template(
        "<|assistant|>",
        thinking={
            "open": "<|thinking|>",
            "close": "<|end|>",
            "repeats": True,
            "join": "",
            "content_args": {"strip": False},
        },
        content={
            "open": "<|text|>",
            "close": "<|end|>",
            "repeats": True,
            "join": "",
            "content_args": {"strip": False},
        },
        tool_calls={
            "open": "<|call|>",
            "close": "<|end|>",
            "repeats": True,
            "content": "json",
            "transform": {
                "type": "function",
                "function": {"name": "{content.name}", "arguments": "{content.args}"},
            },
        },
    ),
    (
        f'<|thinking|> a <|end|><|text|>Hi\n<|end|><|thinking|>b<|end|><|call|>{{"name": "f", "args": {_JSON}}}<|end|><|text|> x <|end|>',
        f'<|call|>{{"args": {_JSON}, "name": "f"}}<|end|>',
    ),
    (
        "<|thinking|>",
        "<|end|>",
        "<|text|>",
        "<|call|>",
        '{"name": "f", "args": {"n": "1"}}',
        '{"args": {"n": "1"}, "name": "f"}',
        " a ",
    ),
)
# Closers that end in `|$`, optional tails, look-ahead: what upstream's own parser answers
# differently on every split.
_GLM = Case(
    "glm4moe",
    _template(
        "<|assistant|>",
        reasoning_content={"open_pattern": r"\n?<think>", "close": "</think>"},
        tool_calls={
            "open_pattern": r"\s*<tool_call>(?P<name>[^\n<]+)\n?",
            "close": "</tool_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": r"<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>"
            },
            "transform": _NAMED,
        },
        content={"close_pattern": r"\s*<\|user\|>\s*|\s*<\|observation\|>\s*|$"},
    ),
    (
        "\n<think>hm</think>\nHello <|user|>",
        "\n<think></think>\n<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n<arg_key>s</arg_key>\n<arg_value> a </arg_value>\n</tool_call>\n<|observation|>",
    ),
    (
        "\n<think>",
        "</think>",
        "<tool_call>f\n",
        "<arg_key>n</arg_key>",
        "<arg_value>1</arg_value>",
        "</tool_call>",
        "<|user|>",
        "<|us",
        "\n",
        "a",
    ),
)
_LFM = Case(
    "lfm2_5",
    _template(
        "<|im_start|>assistant\n",
        tool_calls={
            "open_pattern": r"(?:<\|tool_call_start\|>\[)?\s*,?\s*(?P<name>[a-z]+)\((?=[\w)])",
            "close_pattern": r"\)(?:\]<\|tool_call_end\|>)?\s*",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"(?P<key>\w+)=\"(?P<value>[^\"]*)\""},
            "transform": _NAMED,
        },
        content={"close_pattern": r"<\|im_end\|>|$"},
    ),
    ('<|tool_call_start|>[f(n="3", s="a b"), g()]<|tool_call_end|>Checking.<|im_end|>',),
    ("<|tool_call_start|>[", "f(", 'n="1"', ", ", ")", "]<|tool_call_end|>", "]", "a", "\n", "<|im_end|>"),
)
_NEMOTRON = Case(
    "nemotron3",
    _template(
        "<|im_start|>assistant\n",
        reasoning_content={"open_pattern": r"^(?:<think>\n?|(?=[\s\S]*?</think>))", "close": "</think>"},
        tool_calls={
            "open_pattern": r"\s*<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": _HERMES,
        },
        content={"close_pattern": r"\s*<\|im_end\|>"},
    ),
    (
        "hm</think>Hello<|im_end|>",
        "<think>\nhm</think>Hello",
        "no reasoning at all",
        f"a</think><tool_call>{_CALL}</tool_call>",
    ),
    ("<think>\n", "hm", "</think>", "a ", "<|im_end|>", "<tool_call>", _CALL, "</tool_call>", "</thi"),
    ("", "<|im_start|>assistant\n<think>\n"),
)
_LOOKING = Case(
    "look_ahead",
    _template(
        "<a>",
        thinking={"open_pattern": r"(?=[^<]*</think>)", "close": "</think>"},
        citations={"open": "[", "close_pattern": r"\](?!\()", "repeats": True, "content": "int"},
        lines={
            "open": "<kv>",
            "close": "</kv>",
            "content": "kv-lines",
            "content_args": {"value_parser": {"name": "float"}},
        },
        content={},
    ),
    ("hm</think>See [1] and [ 22 ].", "<kv>\na: 1.5\nb:2\nno\n</kv>"),
    ("hm", "</think>", "[", "1", "]", "(", "<kv>", "a:1", "\n", "</kv>", "<"),
)
_MERGED = Case(
    "merged",
    _template(
        "<a>",
        tool_calls={
            "open_pattern": r"<(?P<name>\w+)>",
            "close": "</call>",
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"(?P<key>\w+)=(?P<value>\w+)(?=;|$)", "merge_duplicates": True},
            "transform": _NAMED,
            "repeats": True,
        },
        flag={"open": "!", "close": ";", "content": "bool"},
        content={"close_pattern": r"(?:#(?:bcd)?|b)"},
    ),
    ("<f>n=1;n=2;s=x</call>text#", "a!true;b#bc"),
    ("<f>", "n=1;", "s=2", "</call>", "#", "b", "c", "d", "!", "true", ";", "a"),
)

CASES = [
    _QWEN,
    _QWEN_CODER,
    _GEMMA,
    _GPT_OSS,
    _COHERE,
    _ERNIE,
    _SMOLLM,
    _CODER,
    _INKLING,
    _GLM,
    _LFM,
    _NEMOTRON,
    _LOOKING,
    _MERGED,
]
