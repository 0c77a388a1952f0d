"""What is learnt writes an answer as its template does: `render(parse(t)) == t`."""

from __future__ import annotations

import pytest
import unspool

from .templates import CALLS, template_of
from .test_learn import ARGUMENTS, TOOLS, calls_of, render

pytest.importorskip("jinja2")

#: Two ways to write one message. An id behind the arguments is not in the message; lists have elements or JSON.
AMBIGUOUS = {"a list", "elements"}
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
