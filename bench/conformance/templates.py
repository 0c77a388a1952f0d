"""Compares calls as chat templates write them with those that `render` writes for the same message.

    python bench/conformance/templates.py FOLDER...

A folder holds `*.jinja` files. Which format a template belongs to, `unspool.detect` says. The templates run
in the sandbox of transformers, which stops neither an endless loop nor a huge text: pass only templates that
you trust.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unspool
from transformers.utils.chat_template_utils import render_jinja_template
from unspool.writing.render.call_ids import id_of
from unspool.writing.render.given_answer import AnswerCall
from unspool.writing.render.render import write_text

CONTENT = "Looking."
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_weather", {"city": 'Zürich <b> "x"', "days": -3, "unit": "C"}),
    ("now", {"zone": "UTC"}),
]
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "A tool.",
            "parameters": {
                "type": "object",
                "properties": {
                    key: {
                        "type": "string" if isinstance(value, str) else "integer",
                        "description": "A value.",
                    }
                    for key, value in arguments.items()
                },
                "required": [*arguments],
            },
        },
    }
    for name, arguments in CALLS
]
ORDER = ("equal", "white space", "another form", "different")


@dataclass(frozen=True)
class Compared:
    """One template's calls and ours.

    Attributes:
        result: "equal", "white space" (equal but for that), "another form" (the format's file has theirs as a
            later alternative), "different", or "" if nothing was compared.
        theirs, ours: The calls' text, from the content to the end of the turn.
        why: What kept them from being compared.
    """

    template: str
    format: str = ""
    result: str = ""
    theirs: str = ""
    ours: str = ""
    why: str = ""


def compare(name: str, template: str) -> Compared:
    """The best result of template and format: with two calls, or with one if the template accepts only
    one."""
    found = unspool.detect(template)
    if not found:
        return Compared(name, why="no format is detected")
    file = unspool.get_format(found[0].format)
    if not file.has_tools:
        return Compared(name, file.name, why="the format has no calls")
    for calls in (CALLS, CALLS[:1]):
        made = [
            Compared(name, file.name, _result(file, theirs, ours, is_first), theirs, ours)
            for content in (CONTENT, "")
            for theirs in _theirs(file, template, content, calls)
            for is_first, ours in _ours(file, content, calls)
        ]
        if made:
            return min(made, key=lambda one: ORDER.index(one.result))
    return Compared(name, file.name, why="the template writes no call")


def _ours(
    file: unspool.FormatFile, content: str, calls: list[tuple[str, dict[str, Any]]]
) -> Iterator[tuple[bool, str]]:
    """The calls as the format writes them, after the content or after the prompt's turn; then in other
    forms."""
    message = _message(file, content, calls)
    for continues in (False, True) if not content else (False,):
        with contextlib.suppress(unspool.ArgumentError):
            text = file.render(message, tools=TOOLS, exact=False, continues=continues)
            yield True, _behind(text, content)
        for form in range(1, len(file.patterns["call"])):
            yield False, _behind(write_text(file, message, form, continues=continues), content)


def _theirs(
    file: unspool.FormatFile, template: str, content: str, calls: list[tuple[str, dict[str, Any]]]
) -> Iterator[str]:
    """The calls as the template writes them, with arguments as a dict and as text."""
    for is_text in (False, True):
        message = _message(file, content, calls, is_text)
        user = {"role": "user", "content": "Hi."}
        try:
            text, prompt = _render(file, template, [user, message]), _render(file, template, [user], True)
        except Exception:  # templates reject what they cannot write, in many ways
            continue
        if content and content not in text:
            continue
        text = _behind(text, content) if content else _behind_prompt(text, prompt)
        if all(name in text for name, _ in calls):
            yield text


def _render(file: unspool.FormatFile, template: str, messages: list[Any], is_prompt: bool = False) -> str:
    ends = file.patterns.get("end", ("",))
    made, _ = render_jinja_template(
        conversations=[messages],
        tools=TOOLS,
        chat_template=template,
        add_generation_prompt=is_prompt,
        bos_token="<s>",
        eos_token=ends[0],
    )
    return str(made[0])


def _message(
    file: unspool.FormatFile, content: str, calls: list[tuple[str, dict[str, Any]]], is_text: bool = False
) -> dict[str, Any]:
    shapes, made = file.shape.ids, []
    for index, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments, ensure_ascii=False)
        id = id_of(AnswerCall(name, arguments, text), index, shapes)
        function = {"name": name, "arguments": text if is_text else arguments}
        made.append({"id": id, "type": "function", "function": function})
    return {"role": "assistant", "content": content, "tool_calls": made}


def _behind(text: str, content: str) -> str:
    return text[text.rindex(content) + len(content) :] if content and content in text else text


def _behind_prompt(text: str, prompt: str) -> str:
    """The text after the common part, from the beginning of a tag that is only partly common."""
    length = next(
        (n for n, (one, other) in enumerate(zip(text, prompt, strict=False)) if one != other), len(prompt)
    )
    tag = max(text.rfind(mark, 0, length) for mark in "<[")
    is_cut = tag > max(text.rfind(mark, 0, length) for mark in ">]")
    return text[tag if is_cut else length :]


def _result(file: unspool.FormatFile, theirs: str, ours: str, is_first: bool) -> str:
    """The result of the comparison. The end of the template's turn is not part of ours."""
    for shape, result in ((str, "equal"), (_packed, "white space")):
        given, made = shape(theirs), shape(ours)
        rest = given.removeprefix(made)
        is_end = rest.startswith(tuple(map(shape, file.patterns.get("end", ())))) or not rest
        if given.startswith(made) and is_end:
            return result if is_first else "another form"
    return "different"


def _packed(text: str) -> str:
    return "".join(text.split())


def compare_all(folders: list[Path]) -> list[Compared]:
    """All templates of the folders, by name."""
    files = sorted(file for folder in folders for file in folder.rglob("*.jinja"))
    return [compare(file.stem, file.read_text(encoding="utf-8")) for file in files]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true", help="both texts where they differ")
    options = parser.parse_args()
    found = compare_all(options.folders)
    print("| template | format | the calls are |\n|---|---|---|")
    for one in found:
        print(f"| {one.template} | {one.format} | {one.result or one.why} |")
        if options.show and one.result in ORDER[1:]:
            print(f"  theirs {one.theirs!r}\n  ours   {one.ours!r}")
    counts = collections.Counter(one.result for one in found)
    print(f"\n{', '.join(f'{counts[result]} {result}' for result in ORDER)}, {counts['']} not compared")


if __name__ == "__main__":
    main()
