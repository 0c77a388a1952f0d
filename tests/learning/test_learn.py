"""`unspool.learn`: what is learnt reads what the template writes, and what cannot be proved is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import unspool
from unspool import FormatFile
from unspool.errors import ArgumentError, LearnError
from unspool.formats.learning.learn_command import learnt_text
from unspool.formats.templates import sandbox
from unspool.testing.check_file import check_file

from .templates import CALLS, REASONING, template_of

pytest.importorskip("jinja2")

PAIRS = [(calls, reasoning) for calls in CALLS for reasoning in ("none", "tags")]
PAIRS += [(calls, reasoning) for calls in ("an object", "elements") for reasoning in REASONING]
PAIRS = sorted(set(PAIRS))

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "x",
            "parameters": {
                "type": "object",
                "properties": {
                    "who": {"type": "string"},
                    "count": {"type": "integer"},
                    "note": {"type": "string"},
                    "tags": {"type": "array"},
                },
            },
        },
    }
    for name in ("send-mail_2", "look.up")
]
#: Values that the learner has not seen.
ARGUMENTS: list[dict[str, Any]] = [
    {"who": "Ada Łovelace", "count": 12},
    {"who": "007", "note": 'if (a < b && c) { return "d"; }\n\n  end', "tags": ["x", {"y": None}]},
]


def render(template: str, **message: Any) -> tuple[str, str]:
    """The prompt and the output, rendered by jinja2 itself."""
    import jinja2

    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    made = environment.from_string(template)
    user = {"role": "user", "content": "Please."}
    prompt = made.render(messages=[user], tools=TOOLS, add_generation_prompt=True)
    full = made.render(messages=[user, {"role": "assistant", **message}], tools=TOOLS)
    assert full.startswith(prompt)
    return prompt, full[len(prompt) :].removesuffix("<|over|>\n")


def calls_of(*arguments: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("send-mail_2", "look.up")
    return [
        {"id": f"call{n}abcd", "type": "function", "function": {"name": names[n], "arguments": item}}
        for n, item in enumerate(arguments)
    ]


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(("calls", "reasoning"), PAIRS)
def test_what_is_learnt_reads_other_renderings(calls: str, reasoning: str) -> None:
    template = template_of(calls, reasoning)
    file = unspool.learn(template)
    for key, patterns in CALLS[calls][1].items():
        assert file.patterns[key] == patterns
    assert file.patterns.get("reasoning", ()) == REASONING[reasoning][2]
    assert file.patterns["end"] == ("<|over|>",)
    thought = "They ask\nfor <it>." if reasoning != "none" else ""
    for content in ("", "One line.", "Two\n\nlines [here]."):
        for count in (0, 1, 2):
            prompt, output = render(
                template,
                content=content,
                reasoning_content=thought,
                thinking=thought,
                **({"tool_calls": calls_of(*ARGUMENTS[:count])} if count else {}),
            )
            message = unspool.parse(output + "<|over|>", file, TOOLS, prompt=prompt)
            assert message.reasoning.strip() == thought
            assert message.content.strip() == content
            assert [json.loads(call.arguments) for call in message.tool_calls] == ARGUMENTS[:count]
            assert [call.name for call in message.tool_calls] == ["send-mail_2", "look.up"][:count]
            assert not message.malformed


LOSSY = {
    "values are cut": ("f.arguments | tojson", "f.arguments | tojson | truncate(20)", "an object"),
    "names change their case": ("{{ f.name }}", "{{ f.name | upper }}", "elements"),
    "quotes are taken out": (
        "{{ v if v is string else v | tojson }}",
        "{{ (v if v is string else v | tojson) | replace('\"', '') }}",
        "keys and values in tags",
    ),
}


@pytest.mark.parametrize("name", LOSSY)
def test_what_cannot_be_read_back_is_refused(name: str) -> None:
    old, new, calls = LOSSY[name]
    template = template_of(calls, "none")
    assert old in template
    with pytest.raises(LearnError, match=r"is not learnt|renders? no call|renders neither"):
        unspool.learn(template.replace(old, new))


def test_the_refusal_names_the_probe_and_the_reason() -> None:
    template = template_of("an object", "none").replace("f.arguments | tojson", "'{}'")
    with pytest.raises(LearnError, match="renders no call"):
        unspool.learn(template)
    template = template_of("elements", "none").replace(
        "{% for k, v in f.arguments.items() %}", "{% for k, v in (f.arguments.items() | list)[:3] %}"
    )
    with pytest.raises(LearnError, match="values of each type: the calls are 'set_options"):
        unspool.learn(template)


def test_a_template_that_refuses_the_hard_probes_is_not_learnt() -> None:
    template = template_of("an object", "none")
    refuses = "{% if f.arguments | length > 3 %}{{ raise_exception('too many') }}{% endif %}"
    place = template.index("{% set f = c.function %}") + len("{% set f = c.function %}")
    with pytest.raises(LearnError, match="values of each type: the template fails: TemplateError: too many"):
        unspool.learn(template[:place] + refuses + template[place:])


def test_content_that_must_be_none_beside_calls() -> None:
    template = template_of("an object", "none")
    assert "{{ m.content or '' }}" in template
    odd = template.replace(
        "{{ m.content or '' }}",
        "{% if m.content is not none %}{{ m.content }}<|over|><|at|>assistant\n{% endif %}",
        1,
    )
    odd = odd.replace("{% if m.tool_calls %}", "{% if m.tool_calls and m.content is none %}")
    file = unspool.learn(odd)
    assert file.patterns["call"] == ("\n<use>\n${object}\n</use>",)


#: How a conversation differs from the generation prompt: the template's text, and what stands there instead.
TURNS = {
    "another turn begins after each conversation": ("{% if add_generation_prompt %}", "{% if true %}"),
    "the tools beside the last message": (
        "{% else %}<|at|>",
        "{% else %}{% if tools and loop.last %}{{ tools | tojson }}{% endif %}<|at|>",
    ),
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("calls", ["an object", "elements"])
def test_a_conversation_that_differs_from_the_prompt(calls: str, turn: str) -> None:
    template = template_of(calls, "none")
    template = template[template.index("{% for m") :] if "tools" in turn else template
    old, new = TURNS[turn]
    assert template.count(old) == 1
    patterns = unspool.learn(template.replace(old, new)).patterns
    for key, expected in CALLS[calls][1].items():
        assert patterns[key] == expected


@pytest.mark.parametrize("white", ["", "    "], ids=["as in the prompt", "with other white space"])
def test_a_prompt_that_closes_what_it_does_not_open(white: str) -> None:
    """Its prompt also has an example of a call, which is not a call that the prompt has begun."""
    thought = "{% if enable_thinking %}<muse>{{ m.reasoning_content }}{% endif %}</muse>"
    opened = "{{ '<muse>' if enable_thinking else '</muse>' }}"
    template = template_of("elements", "opened by the prompt").replace(
        REASONING["opened by the prompt"][0], thought
    )
    template = template.replace(
        "<|at|>assistant\n<muse>{% endif %}", f"<|at|>assistant\n{opened}{{% endif %}}"
    )
    template = template.replace("'assistant' %}<|at|>", f"'assistant' %}}{white}<|at|>")
    assert thought in template
    assert opened in template
    example = (
        "{% if tools %}Write <use=$NAME><with=$KEY>$VALUE</with></use> or <use><$NAME><$KEY>.\n{% endif %}"
    )
    file = unspool.learn(example + template)
    assert file.patterns["turn"] == ("<|at|>assistant\n",)
    assert file.has_tools
    assert file.has_reasoning


@pytest.mark.parametrize("as_text", [False, True])
def test_arguments_that_must_be_an_object_or_a_text(as_text: bool) -> None:
    template = template_of("an object", "none")
    given = "{{ f.arguments ~ '' }}" if as_text else "{{ dict(f.arguments.items()) | tojson }}"
    changed = template.replace("{{ f.arguments | tojson }}", given)
    assert changed != template
    assert unspool.learn(changed).patterns["call"] == CALLS["an object"][1]["call"]


def test_the_refusal_says_what_was_found() -> None:
    written = "{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v }}, {% endfor %})"
    template = template_of("an object", "tags")
    first, last = template.index("<use>"), template.index("</use>") + len("</use>")
    message = r"found: content, and reasoning in .*</muse>.*; not found: calls, as in '"
    with pytest.raises(LearnError, match=message):
        unspool.learn(template[:first] + written + template[last:])


def test_a_busy_machine_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time by the clock runs ten times faster here than for the processor."""
    clock = sandbox.time.monotonic
    began = clock()
    monkeypatch.setattr(sandbox.time, "monotonic", lambda: began + 10 * (clock() - began))
    assert unspool.learn(template_of("an object", "none"), timeout=5).has_tools


def test_the_processor_time_of_both_processes_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.time, "thread_time", iter(range(0, 1000, 20)).__next__)
    with pytest.raises(LearnError, match="no format was found within 5 s of processor time"):
        unspool.learn(template_of("an object", "none"), timeout=5)


def test_no_calls_but_reasoning() -> None:
    template = template_of("an object", "tags")
    template = template[template.index("{% for m") :].replace("m.tool_calls", "false")
    file = unspool.learn(template)
    assert file.has_reasoning
    assert not file.has_tools


@pytest.mark.parametrize("has_tools", [True, False])
def test_nothing_to_learn(has_tools: bool) -> None:
    template = template_of("an object", "none").replace("m.tool_calls", "false")
    reason = "tells the model of tools" if has_tools else "everything is content"
    if not has_tools:
        template = template[template.index("{% for m") :]
    with pytest.raises(LearnError, match=reason):
        unspool.learn(template)


def test_sources() -> None:
    template = template_of("an object", "none").replace("<|over|>", "{{ eos_token }}")
    named = [{"name": "default", "template": "{{ 1 }}"}, {"name": "tool_use", "template": template}]
    config = {"chat_template": template, "eos_token": {"content": "<|eos|>"}}
    tokenizer = SimpleNamespace(chat_template=template, eos_token="<|eos|>")
    assert "end" not in unspool.learn(template).patterns
    assert unspool.learn(named).patterns == unspool.learn({"default": "x", "tool_use": template}).patterns
    for source in (config, tokenizer, SimpleNamespace(tokenizer=tokenizer)):
        assert unspool.learn(source).patterns["end"] == ("<|eos|>",)


@pytest.mark.parametrize("source", ["no template", 5, {"a": "b"}, [], SimpleNamespace(chat_template=None)])
def test_sources_without_a_template(source: Any) -> None:
    with pytest.raises(ArgumentError, match="template"):
        unspool.learn(source)


def test_a_timeout_is_positive() -> None:
    with pytest.raises(ArgumentError, match="timeout is 0"):
        unspool.learn("{{ 1 }}", timeout=0)


def test_detect_learns_what_no_family_writes() -> None:
    template = template_of("elements", "tags")
    found = unspool.detect(template)
    assert [item.format for item in found] == ["learnt"]
    assert found[0].evidence[0].kind == "learnt"
    assert found[0].file == unspool.learn(template)
    assert unspool.detect(template, learn=False) == ()
    assert unspool.detect(template)[0].file is found[0].file, "it is learnt once"


def test_auto_is_what_was_learnt() -> None:
    tokenizer = SimpleNamespace(chat_template=template_of("elements", "none"))
    from unspool.formats.choose_format import choose_format

    file, _ = choose_format("auto", tokenizer)
    assert isinstance(file, unspool.FormatFile)
    assert file.name == "learnt"


def test_detect_learns_calls_beside_a_known_reasoning() -> None:
    template = template_of("elements", "tags").replace("muse>", "think>").replace("<|at|>", "<｜Assistant｜>")
    found = unspool.detect(template)
    assert found[0].format == "learnt"
    assert found[0].file
    assert found[0].file.has_tools


def test_detect_does_not_learn_a_known_family() -> None:
    template = (
        template_of("an object", "none").replace("<use>", "<tool_call>").replace("</use>", "</tool_call>")
    )
    found = unspool.detect('<|im_start|>{{ tools }}\\n<tool_call>\\n{\\"name\\": <name>' + template)
    assert all(item.file is None for item in found)


def test_the_command_writes_a_file_that_check_accepts(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text(template_of("parameters in tags", "tags"), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|over|>"}', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "unspool", "learn", str(tmp_path), "--name", "acme"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Learnt by unspool")
    path = tmp_path / "acme.toml"
    path.write_text(done.stdout, encoding="utf-8")
    assert check_file(path) == []
    assert 'name      = "acme"' in done.stdout


@pytest.mark.parametrize("token", ["", "<|over|>"])
def test_the_command_asks_for_an_end_if_the_file_has_none(tmp_path: Path, token: str) -> None:
    """The template may show it without the tokenizer's word."""
    (tmp_path / "chat_template.jinja").write_text(template_of("an object", "none"), encoding="utf-8")
    config = {"eos_token": token} if token else {}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    text = learnt_text(str(tmp_path), "acme", 30)
    has_end = "end" in FormatFile(text).patterns
    assert ("add the model's end-of-sequence token" in text) != has_end
    assert has_end or not token


def test_the_command_says_why_not(tmp_path: Path) -> None:
    path = tmp_path / "plain.jinja"
    path.write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "unspool", "learn", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("unspool: the format is not learnt; all probes")
