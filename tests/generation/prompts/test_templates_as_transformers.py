"""Chat templates render as transformers renders them, in a child process and in this one.

`UNSPOOL_TEMPLATES=folder[:folder…]` adds all `.jinja` files in folders, such as llama.cpp's models/templates and vLLM's examples.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from unspool.generation.prompts.sandboxed_template import SandboxedTemplate
from unspool.generation.prompts.trusted_template import TrustedTemplate

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest.importorskip("jinja2")
pytest.importorskip("transformers", minversion="5", reason="today's transformers is the measure")

from ...learning import templates as of_learning
from ...tiny_models import make_byte_tokenizer

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the limits of templates are POSIX's")

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Zürich", "<a&b>"]}},
    "required": ["city"],
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "get_weather", "description": 'It\'s "here"', "parameters": PARAMETERS},
    }
]
USER = {"role": "user", "content": "Wie ist's in Zürich? \N{SNOWMAN}"}


def answer(arguments: Any, **fields: Any) -> dict[str, Any]:
    call = {
        "id": "call00001",
        "type": "function",
        "function": {"name": "get_weather", "arguments": arguments},
    }
    return {"role": "assistant", "content": "", "tool_calls": [call], **fields}


RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": '{"t": -3.0}'}
ARGUMENTS = {"city": "Zürich", "days": 2, "deep": [None, True, 1.5e300, {"b": 1, "a": 2}]}
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "plain": [{"role": "system", "content": " Be brief. "}, USER],
    "turns": [
        USER,
        {"role": "assistant", "content": "<think>\nx\n</think>\n\nCold."},
        {**USER, "name": "Ann"},
    ],
    "call": [USER, answer(ARGUMENTS), RESULT],
    "call as text": [USER, answer('{"city": "Zürich"}', content=None), RESULT, USER],
    "reasoning": [
        USER,
        {"role": "assistant", "content": "Cold.", "reasoning_content": "It is\nwinter."},
        USER,
    ],
    "reasoning of another name": [USER, answer(ARGUMENTS, reasoning="Ask.", content="So:"), RESULT],
    "parts": [{"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image"}]}],
    "an address": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a/b.png"}}]}
    ],
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"add_generation_prompt": True},
    {"tools": TOOLS, "add_generation_prompt": True},
    {"tools": [], "enable_thinking": False, "thinking": False, "reasoning_effort": "low"},
    {
        "enable_thinking": True,
        "thinking": True,
        "documents": [{"title": "T", "text": "x"}],
        "builtin_tools": ["a"],
    },
]

#: What an environment has: each feature once.
FEATURES = {
    "tojson": "{{ messages | tojson }}|{{ messages[0] | tojson(indent=2) }}|{{ tools | tojson(separators=(',', ':'), sort_keys=True) }}|"
    "{{ 'é<>&\\'\"' | tojson(ensure_ascii=True) }}|{{ 1.0 | tojson }}",
    "white space": "  {% if true %}\n  a\n  {% endif %}\n\tb {%- if 1 %} c {%+ endif %}\n\n{# d #}\n e\n",
    "loops": "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ loop.index }}{% if loop.index > 2 %}{% break %}"
    "{% endif %}{% endfor %}",
    "refusals": "{% if messages | length > 2 %}{{ raise_exception('no: ' ~ messages | length) }}{% endif %}{{ tools.missing }}",
    "the day": "{{ strftime_now('%Y-%m-%d') }}{{ date_string }}",
    "generation": "{% for m in messages %}{% set x = 1 %}{% generation %}\n{{ m.role }}{{ x }}\n{% endgeneration %}\n{% endfor %}",
    "nothing": "{{ documents is none }}{{ documents is defined }}{{ tools is none }}{{ continue_final_message is defined }}"
    "{{ chat_template is defined }}{{ unk_token is defined }}{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}",
    "messages": "{% for m in messages %}{{ m.keys() | list }}{{ m.content is defined }}{{ m.content is none }}{{ m.content is string }}"
    "{{ m }}{% endfor %}",
    "namespaces": "{% set ns = namespace(a=0) %}{% for m in messages %}{% set ns.a = ns.a + 1 %}{% endfor %}{{ ns.a }}"
    "{{ dict(a=1) }}{{ dict([('b', 2)]).items() | list }}{{ range(3) | list }}{{ joiner is defined }}{{ cycler is defined }}",
    "macros": "{% macro f(x, y=2) %}{{ x }}{{ y }}{{ caller() if caller else '' }}{% endmacro %}{{ f(1) }}{% call f(3) %}c{% endcall %}",
    "changes": "{% set _ = messages.append(1) %}{{ messages | length }}",
    "attributes": "{{ messages.__class__ }}{{ ''.__class__.__mro__ }}{{ messages[0].role.format }}",
    "filters": "{{ messages | map(attribute='role') | unique | join(',') }}{{ 'a b' | title | replace('A', 'x') | trim }}"
    "{{ [3, 1] | sort | first }}{{ {'b': 1, 'a': 2} | dictsort }}{{ messages | selectattr('role', 'equalto', 'user') | list | length }}",
    "syntax": "{% if %}",
}


def templates() -> Iterator[Any]:
    yield from (pytest.param(text, id=name) for name, text in FEATURES.items())
    for name, text in vars(of_learning).items():
        if isinstance(text, str) and "{%" in text:
            yield pytest.param(text, id=name)
    excerpts = Path(__file__).parents[2] / "detection" / "templates.toml"
    for name, text in tomllib.loads(excerpts.read_text(encoding="utf-8")).items():
        yield pytest.param(text, id=name)
    for folder in filter(None, os.environ.get("UNSPOOL_TEMPLATES", "").split(":")):
        for path in sorted(Path(folder).rglob("*.jinja")):
            yield pytest.param(path.read_text(encoding="utf-8"), id=path.stem)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_byte_tokenizer(bos_token="<|im_start|>")


def rendered(render: Any, options: dict[str, Any]) -> str | None:
    """The text; None: an error of any kind."""
    try:
        return str(render(**options))
    except Exception:
        return None


@pytest.mark.parametrize("template", list(templates()))
def test_the_same_texts(template: str, tokenizer: Any) -> None:
    owner = SimpleNamespace(
        get_chat_template=lambda *_, **__: template, special_tokens_map=tokenizer.special_tokens_map
    )
    sandboxed, trusted = SandboxedTemplate(owner, 20), TrustedTemplate(owner)
    for name, messages in CONVERSATIONS.items():
        for options in OPTIONS:
            shown = {"conversation": messages, **options}
            theirs = rendered(
                tokenizer.apply_chat_template, {**shown, "chat_template": template, "tokenize": False}
            )
            for ours in (sandboxed, trusted):
                assert rendered(ours.apply_chat_template, shown) == theirs, (name, options)
    sandboxed.close()
