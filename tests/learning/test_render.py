"""What is learnt writes an answer as its template does: `render(parse(t)) == t`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import unspool

from .templates import CALLS, template_of
from .test_learn import ARGUMENTS, TOOLS, calls_of, render
from .test_package_templates import MISTRAL, mistral_template

pytest.importorskip("jinja2")

#: Two ways to write one message. An id behind the arguments is not in the message; lists have elements or JSON.
AMBIGUOUS = {"a list", "elements", "elements of one letter"}
REASONING = ("none", "tags", "opened by the prompt", "a word")


@pytest.mark.parametrize(("number", "calls"), list(enumerate(CALLS)))
def test_a_learnt_file_writes_as_its_template(number: int, calls: str) -> None:
    reasoning = REASONING[number % len(REASONING)]
    template = template_of(calls, reasoning)
    file = unspool.learn(template)
    thought = "They ask\nfor <it>." if reasoning != "none" else ""
    for content in ("", "One line.", "Two\n\nlines [here]."):
        for count in (0, 1, 2):
            given = {"tool_calls": calls_of(*ARGUMENTS[:count])} if count else {}
            prompt, output = render(
                template, content=content, reasoning_content=thought, thinking=thought, **given
            )
            message = unspool.parse(output, file, TOOLS, prompt=prompt)
            written = file.render(message, tools=TOOLS, continues=reasoning == "opened by the prompt")
            if calls in AMBIGUOUS and count:
                assert parts(unspool.parse(written, file, TOOLS, prompt=prompt)) == parts(message)
            else:  # no line break is written before the first call of an answer
                assert written in (output, output.removeprefix("\n")), (content, count)
                assert written == output or not (content or thought)


def parts(message: unspool.Message) -> tuple[str, str, list[tuple[str, str]]]:
    calls = [(call.name, call.arguments) for call in message.tool_calls]
    return message.reasoning, message.content, calls


def test_an_id_behind_the_arguments_is_written_and_not_read() -> None:
    file = unspool.learn(template_of("a list", "none"))
    text = '[USE][{"name": "look.up", "arguments": {}, "id": "abcdefgh0"}]'
    message = unspool.parse(text, file, TOOLS)
    (call,) = message.tool_calls
    assert call.id != "abcdefgh0", "the call is announced before its id is written"
    assert file.render(message, tools=TOOLS) == text.replace("abcdefgh0", call.id)


@pytest.mark.parametrize(("version", "thinking"), MISTRAL)
def test_what_mistral_common_writes_is_written_again(version: str, thinking: str) -> None:
    template = mistral_template(version, thinking)
    file = unspool.learn({"chat_template": template, "bos_token": "<s>", "eos_token": "</s>"})
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
        for content in ("", "One.")
        for calls in ([], calls_of(ARGUMENTS[0]), calls_of(*ARGUMENTS))
        if (content or calls) and not (content and calls and version in ("v2", "v3"))  # their templates raise
    ]
    for message in messages:
        prompt, output = mistral_answer(template, message)
        read = unspool.parse(output, file, TOOLS, prompt=prompt)
        assert without_late_ids(file.render(read, tools=TOOLS)) == without_late_ids(output)


def mistral_answer(template: str, message: dict[str, Any]) -> tuple[str, str]:
    """The prompt, and what the template writes behind it, up to the end's token."""
    import jinja2

    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    made, user = environment.from_string(template), {"role": "user", "content": "Go."}
    texts = [
        made.render(messages=messages, tools=TOOLS, bos_token="<s>", eos_token="</s>")
        for messages in ([user], [user, message])
    ]
    assert texts[1].startswith(texts[0])
    return texts[0], texts[1][len(texts[0]) :].removesuffix("</s>")


def without_late_ids(text: str) -> str:
    """The text without ids behind the arguments, which no message holds."""
    return re.sub(r', "id": "\w+"', "", text)


BLANKS = {
    "in a section": ("<|uses|>", "<|/uses|>", ("<use>${object}</use>\n", "<use>${object}</use>")),
    "without a section": ("", "", ("<use>${object}</use>\n", "<use>${object}</use>")),
}


@pytest.mark.parametrize("name", BLANKS)
def test_a_blank_between_two_calls_is_written_there_alone(name: str) -> None:
    opener, closer, pattern = BLANKS[name]
    file = unspool.learn(spaced(opener, closer, "{{ m.content or '' }}"))
    assert file.patterns["call"] == pattern
    written = file.render({"content": "One.", "tool_calls": calls_of(*ARGUMENTS)}, tools=TOOLS)
    before, between = written.split("</use>")[0], written.split("</use>")[1]
    assert before.startswith("One." + opener + "<use>")
    assert between.startswith("\n<use>")
    assert written.endswith("</use>" + closer)


def test_a_blank_between_two_calls_stands_before_a_call_that_begins_the_answer() -> None:
    content = "{% if not m.tool_calls %}{{ m.content or '' }}{% endif %}"
    file = unspool.learn(spaced("", "", content))
    assert file.patterns["call"] == ("\n<use>${object}</use>",)
    written = file.render({"tool_calls": calls_of(*ARGUMENTS)}, tools=TOOLS)
    assert written.startswith("<use>")
    assert "</use>\n<use>" in written
    assert written.endswith("</use>")


def test_as_many_calls_as_parameters_are_no_pairs() -> None:
    source = CALLS["a type for each parameter"][0].replace(
        '<use to="', '{{ "" if loop.first else "\\n" }}<use to="'
    )
    template = template_of("an object", "none").replace(CALLS["an object"][0], source)
    file = unspool.learn(template)
    assert len(file.patterns["parameter"]) == 2
    message = {"content": "One.", "tool_calls": calls_of(*ARGUMENTS)}
    assert parts(unspool.parse(file.render(message, tools=TOOLS), file, TOOLS))[2][1][0] == "look.up"


def spaced(opener: str, closer: str, content: str) -> str:
    """A template with a line break between two calls."""
    call = '<use>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}</use>'
    loop = "{% for c in m.tool_calls %}{% set f = c.function %}{{ '' if loop.first else '\\n' }}"
    calls = f"{opener}{loop}{call}{{% endfor %}}{closer}"
    template = template_of("an object", "none").replace(CALLS["an object"][0], calls)
    return template.replace("{{ m.content or '' }}", content)


HEADERS = """{% for t in tools %}{{ t | tojson }}{% endfor %}{% for m in messages %}{% if m.role == 'assistant' %}
{%- set ns = namespace(more=false) %}
{%- if m.reasoning_content %}<|at|>ai to=self<|says|>{{ m.reasoning_content }}{% set ns.more = true %}{% endif %}
{%- if m.content %}{{ '<|next|>' if ns.more else '' }}<|at|>ai to=user<|says|>{{ m.content }}{% set ns.more = true %}
{%- endif %}{% for c in m.tool_calls or [] %}{{ '<|next|>' if ns.more else '' }}{% set ns.more = true -%}
<|at|>ai to={{ c.function.name }}<|says|><use fn="{{ c.function.name }}">{% for k, v in c.function.arguments.items() -%}
<arg name="{{ k }}">{{ v if v is string else v | tojson }}</arg>{% endfor %}</use>{% endfor %}<|over|>
{%- else %}<|at|>{{ m.role }}<|says|>{{ m.content }}<|over|>{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|at|>ai{% endif %}"""


def test_a_header_that_names_the_tool_stands_before_each_call() -> None:
    file = unspool.learn(HEADERS)
    assert file.patterns["header"] == ("<|at|>ai${_}<|says|>",)
    message = {"reasoning": "A thought.", "tool_calls": calls_of({"who": "Ada"}, {})}
    assert file.render(message, tools=TOOLS, continues=True) == (
        ' to=self<|says|>A thought.<|next|><|at|>ai to=send-mail_2<|says|><use fn="send-mail_2">'
        '<arg name="who">Ada</arg></use><|next|><|at|>ai to=look.up<|says|><use fn="look.up"></use>'
    )


#: The end's tag stands behind a content and behind two calls, and not behind one call.
ENDS = """{% for t in tools %}{{ t | tojson }}{% endfor %}{% for m in messages %}{% if m.role == 'user' -%}
<|user|>{{ m.content }}{% elif m.content is none %}{% for c in m.tool_calls -%}
{{ '<|ai|><uses>' if loop.first else '\\n' }}<use>{{ c.function.name }}<with>{{ c.function.arguments | tojson }}</use>
{%- if not loop.first %}</uses><|over|>{% endif %}{% endfor %}{% else %}<|ai|>{{ m.content }}<|over|>{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|ai|>{% endif %}"""


def test_what_ends_the_answer_does_not_close_the_content() -> None:
    file = unspool.learn(ENDS)
    assert "content" not in file.patterns
    assert file.patterns["end"] == ("<|over|>",)
    assert file.render({"content": "One."}) == "One."
