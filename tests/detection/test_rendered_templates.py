"""`unspool.detect` on whole templates: what they write as an answer counts, not what their prompt shows of calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import unspool
from unspool import detect
from unspool.formats.learning.rendered_calls import reads_calls, render_calls
from unspool.formats.templates.probe import CALLS

pytest.importorskip("jinja2")

#: The beginning of a template of our own: the prompt shows `tools`, as some real one shows them.
PROMPT = """{%- if tools %}<|sys|>{{ 'You may call: ' }}SHOWN{%- for t in tools %}{{ t | tojson }}{% endfor %}<|end|>{% endif %}
{%- for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"""
END = "<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"

#: The prompt lists tools as MiniCPM 5 writes its calls; the answers are K2 Horizon's.
K2_HORIZON = (
    PROMPT.replace("SHOWN", '<function name="f"><param name="a"></param></function>')
    + """{%- if m.tool_calls %}<ifm|tool_calls>{% for c in m.tool_calls %}
<ifm|tool_call>{{ c.function.name }}
{%- for k, v in c.function.arguments.items() %}
<ifm|arg_key>{{ k }}</ifm|arg_key>
<ifm|arg_value>{{ v }}</ifm|arg_value>{% endfor %}
</ifm|tool_call>{% endfor %}
</ifm|tool_calls>{% endif %}"""
    + END
)
#: The prompt asks for Llama's objects; the answers have DeepSeek's markers around them, as no format reads them.
DEEPSEEK_V3 = (
    PROMPT.replace("SHOWN", '{{ \'as {"name": function name, "parameters": dictionary of arguments}\' }}')
    + """{%- if m.tool_calls %}<｜tool▁calls▁begin｜>{% for c in m.tool_calls %} <｜tool▁call▁begin｜>
{{- ' {"name": "' + c.function.name + '", "parameters": ' }}{{ c.function.arguments | tojson }}{{ '}' }}
{{- '<｜tool▁call▁end｜>' }}{% endfor %}<｜tool▁calls▁end｜>{% endif %}"""
    + END
)
#: The prompt begins with a token that Hunyuan A13B's begins with; the answers are Jamba's.
JAMBA = (
    "<|startoftext|>"
    + PROMPT.replace("SHOWN", "")
    + """{%- if m.tool_calls %}{{ ' <tool_calls>' }}[{% for c in m.tool_calls %}{{ ', ' if not loop.first }}
    {{- '{"name": "' + c.function.name + '", "arguments": ' }}{{ c.function.arguments | tojson }}{{ '}' }}
{%- endfor %}]</tool_calls>{% endif %}"""
    + END
)
#: The answers have no calls, and the prompt shows an object with single quotes.
FALCON_H1 = (
    PROMPT.replace("SHOWN", "<tool_call>\n{'arguments': <args-dict>, 'name': <function-name>}\n</tool_call>")
    + END
)


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (K2_HORIZON, "k2_horizon"),
        (DEEPSEEK_V3, "deepseek_v3"),
        (JAMBA, "jamba"),
        (FALCON_H1, "hermes"),
    ],
    ids=["k2_horizon", "deepseek_v3", "jamba", "falcon_h1"],
)
def test_what_the_answers_have_decides(template: str, expected: str, learn: bool) -> None:
    found = detect(template, learn=learn)
    assert found[0].format == expected, [str(item) for item in found]
    assert found[0].evidence[0].kind == "template"


def texts_of(file: unspool.FormatFile) -> list[str]:
    """The texts of a template's rule, one of each list."""
    rule = file.detect.get("template", ())
    return [item if isinstance(item, str) else item[0] for item in rule]


def template_of(file: unspool.FormatFile, prompt: list[str]) -> str | None:
    """A template that writes the learner's calls as a format does, and shows texts in its prompt."""
    written = []
    for calls in (CALLS, CALLS[:1]):
        made = [
            {"id": f"zqcallid{at}", "function": {"name": call.name, "arguments": call.arguments}}
            for at, call in enumerate(calls)
        ]
        try:
            written.append(file.render({"tool_calls": made}, exact=False))
        except unspool.ArgumentError:
            return None
    both, one = (f"{{% raw %}}{text}{{% endraw %}}" for text in written)
    shown = "".join(f"{{% raw %}}{text}{{% endraw %}}\n" for text in prompt)
    return (
        PROMPT.replace("SHOWN", shown)
        + "{%- if m.tool_calls and m.tool_calls | length == 2 %}"
        + both
        + "{%- elif m.tool_calls and m.tool_calls[0].function.name %}"
        + one
        + "{%- endif %}"
        + END
    )


@pytest.mark.rest(but_one_in=10)
@pytest.mark.parametrize(
    "file",
    [file for file in unspool.formats() if file.has_tools and texts_of(file)],
    ids=lambda file: file.name,
)
def test_what_a_prompt_shows_of_another_format_is_no_evidence(file: unspool.FormatFile) -> None:
    """The first format reads the answers, whatever other formats the prompt shows."""
    others = [
        text for other in unspool.formats() if other.has_tools and other != file for text in texts_of(other)
    ]
    template = template_of(file, [*texts_of(file), *others])
    answers = render_calls(template) if template else ()
    if not answers or not reads_calls(file, answers):
        pytest.skip("its calls are not written without more of the conversation")
    found = detect(template, learn=False)
    assert found
    assert reads_calls(unspool.get_format(found[0].format), answers), [str(item) for item in found]


def test_a_template_that_cannot_be_rendered_is_judged_by_its_source() -> None:
    broken = K2_HORIZON.replace("{%- for m in messages %}", "{%- for m in messages.append(1) %}")
    assert "k2_horizon" in [item.format for item in detect(broken, learn=False)]


@pytest.mark.parametrize("version", ["v2", "v3", "v7", "tekken"])
def test_a_tokenizer_of_mistral_common(version: str) -> None:
    mistral: Any = pytest.importorskip("mistral_common.tokens.tokenizers.mistral").MistralTokenizer
    tokenizer = mistral.v3(is_tekken=True) if version == "tekken" else getattr(mistral, version)()
    inner = tokenizer.instruct_tokenizer.tokenizer
    vocabulary = unspool.Vocabulary.from_tokenizer(inner)
    for source in (
        tokenizer,
        tokenizer.instruct_tokenizer,
        inner,
        vocabulary,
        SimpleNamespace(tokenizer=tokenizer),
    ):
        found = detect(source)
        assert [item.format for item in found] == ["mistral"]
        assert str(found[0]) == "mistral (tokens: '[TOOL_CALLS]')"


def test_a_tokenizer_of_mistral_common_without_calls() -> None:
    mistral: Any = pytest.importorskip("mistral_common.tokens.tokenizers.mistral").MistralTokenizer
    assert detect(mistral.v1()) == ()


def test_a_tokenizer_of_tiktoken() -> None:
    tiktoken: Any = pytest.importorskip("tiktoken")
    encoding = tiktoken.Encoding(
        "mine", pat_str=".", mergeable_ranks={bytes([n]): n for n in range(256)},
        special_tokens={"<|tool_calls_section_begin|>": 256},
    )  # fmt: skip
    assert [item.format for item in detect(encoding)] == ["kimi_k2"]
