"""A chat template is a program that someone else wrote: each hostile one ends within its limits."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import unspool
from unspool.errors import LearnError
from unspool.formats.templates.sandbox import TEXT_BYTES, Sandbox

pytest.importorskip("jinja2")

TIMEOUT = 3.0
HOSTILE = {
    "nested ranges": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    "{% endfor %}{% endfor %}{% endfor %}",
    "a tree of macros": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}"
    "{% endmacro %}{{ m(60) }}",
    "a long text at once": "{{ 'a' * 2000000000 }}",
    "a long text by doubling": "{% set ns = namespace(t='aaaaaaaa') %}{% for _ in range(60) %}"
    "{% set ns.t = ns.t ~ ns.t %}{% endfor %}{{ ns.t }}",
    "a wide field": "{{ 'a'.center(2000000000) }}",
    "a format": "{{ '%2000000000d' % 1 }}",
    "a big number": "{{ 9 ** (9 ** 9) }}",
    "much output": "{% for a in range(90000) %}0123456789012345678901234567890123456789{% endfor %}",
    "deep nesting": "{{ " + "(" * 20000 + "1" + ")" * 20000 + " }}",
    "deep blocks": "{% if 1 %}" * 5000 + "x" + "{% endif %}" * 5000,
    "endless recursion": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
}


LIMITS = "took longer|too much memory|writes more|nested too deeply|Jinja cannot parse it"


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_reaches_a_limit(name: str) -> None:
    with pytest.raises(LearnError, match=LIMITS), Sandbox(HOSTILE[name], TIMEOUT) as sandbox:
        sandbox.render([{"messages": []}], {})


@pytest.mark.parametrize(
    ("how", "unit"), [({}, "s"), ({"is_lasting": True}, "s"), ({"is_patient": True}, "s of processor time")]
)
def test_a_slow_template_is_said_to_be_slow(how: dict[str, bool], unit: str) -> None:
    with (
        pytest.raises(LearnError, match=rf"took longer than 1 {unit}; pass a longer timeout"),
        Sandbox(HOSTILE["nested ranges"], 1, **how) as sandbox,
    ):
        sandbox.render([{"messages": []}], {})


@pytest.mark.parametrize("name", ["nested ranges", "a long text at once", "deep nesting"])
def test_learn_refuses_a_hostile_template(name: str) -> None:
    with pytest.raises(LearnError, match=LIMITS):
        unspool.learn(HOSTILE[name], timeout=TIMEOUT)


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ raise_exception.__globals__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ '%s'|format(messages.__class__) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{{ cycler.__init__.__globals__.os.environ }}",
    ],
)
def test_a_template_reaches_nothing_of_python(template: str) -> None:
    with Sandbox(template, TIMEOUT) as sandbox:
        ((text, error),) = sandbox.render([{"messages": []}], {})
    assert not text or ("class" not in text and "environ" not in text)
    assert text is not None or error


def test_the_child_has_none_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSPOOL_SECRET", "hidden")
    with Sandbox("{{ messages }}", TIMEOUT) as sandbox:
        environment = Path(f"/proc/{sandbox.process_id}/environ")
        if not environment.exists():
            pytest.skip("there is no /proc")
        assert b"hidden" not in environment.read_bytes()


def test_templates_are_rendered_as_transformers_renders_them() -> None:
    template = (
        "{%- for m in messages %}\n    {%- if loop.index > 2 %}{% break %}{% endif %}\n"
        "{% generation %}{{ m | tojson }}{% endgeneration %}\n{% endfor %}{{ strftime_now('%Y') }}"
        "{% if messages | length > 3 %}{{ raise_exception('too many') }}{% endif %}"
    )
    with Sandbox(template, TIMEOUT) as sandbox:
        many = [{"ü": "<"}] * 4
        made = sandbox.render([{"messages": [{"ü": "<&'"}, 1, 2]}, {"messages": many}], {})
    assert made[0][0] == '{"ü": "<&\'"}1' + "2026"
    assert made[1] == (None, "TemplateError: too many")


def test_a_rendering_has_a_limit_and_others_go_on() -> None:
    template = "{{ 'a' * n }}"
    with Sandbox(template, TIMEOUT) as sandbox:
        assert sandbox.render([{"n": 3}, {"n": 0}], {}) == [("aaa", ""), ("", "")]
        with pytest.raises(LearnError, match="writes more than"):
            sandbox.render([{"n": TEXT_BYTES + 1}], {})


def test_half_a_surrogate_pair_is_an_error_of_that_rendering() -> None:
    with Sandbox("{{ text }}", TIMEOUT) as sandbox:
        made = sandbox.render([{"text": "\ud83d"}, {"text": "ok"}], {})
    assert made == [(None, "it writes half a surrogate pair"), ("ok", "")]


def test_no_process_is_left() -> None:
    with Sandbox("{{ 1 }}", TIMEOUT) as sandbox:
        child = sandbox.process_id
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_many_threads_learn_at_once() -> None:
    results: list[list[tuple[str | None, str]]] = []

    def run() -> None:
        with Sandbox("{{ n }}", 20) as sandbox:
            results.append(sandbox.render([{"n": number} for number in range(200)], {}))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[(str(number), "") for number in range(200)]] * 4


def test_a_text_that_is_no_template() -> None:
    with pytest.raises(LearnError, match="Jinja cannot parse it"):
        unspool.learn("{% if %}")
