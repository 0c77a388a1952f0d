"""Counts how many chat templates `unspool.learn` learns, and whether the results parse renderings not seen
before.

    python bench/conformance/learn_templates.py FOLDER [--renamed] [--names NAME,...]

FOLDER holds `*.jinja` files, such as llama.cpp's models/templates. With --renamed each template's markers are
renamed first, so that no known family fits. README.md says what is counted.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import unspool
from unspool.errors import LearnError
from unspool.formats.templates.sandbox import Sandbox
from unspool.formats.templates.tagged_texts import TAG, tag_start

NAMES = ("plan-trip_7", "lookUp")
VALUES: list[dict[str, Any]] = [
    {"to": "Kraków", "nights": 2, "note": "5", "fast": True},
    {"to": "a < b & \"c\" {d}\n\n  [e] 'f'", "list": ["x", 3, []], "more": {"deep": [False, {"k": "v"}]}},
    {},
    {"to": "</tool_call> and </parameter> </k> [END]", "ratio": 1.5, "note": "true"},
]
THOUGHT, TEXT = "Maybe <this>.\nOr that?", "Fine: 1 < 2.\n\n* a [b]"
TYPES = {"to": "string", "note": "string", "nights": "integer", "fast": "boolean", "list": "array",
         "more": "object", "ratio": "number"}  # fmt: skip
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "It.", "parameters": {
        "type": "object", "properties": {key: {"type": kind} for key, kind in TYPES.items()}, "required": []}}}
    for name in NAMES
]  # fmt: skip
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
COMMON = {"tools": TOOLS, "unk_token": "", "pad_token": "", **TOKENS}
USER = {"role": "user", "content": "Go."}
SHAPES = [
    {"text": text, "id": id, "none": none, "parts": parts, "variables": variables}
    for variables in ({}, {"enable_thinking": True, "thinking": True, "thinking_mode": "thinking"})
    for parts in (False, True)
    for none in (False, True)
    for id in ("abcdefgh{n}", "functions.{name}:{n}")
    for text in (False, True)
]


@dataclass(frozen=True)
class Asked:
    """One answer to render and parse."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[int, ...] = ()


ASKED = [
    Asked(TEXT), Asked("No."), Asked(TEXT, THOUGHT), *(Asked(calls=(n,)) for n in range(4)), Asked(TEXT, "", (0,)),
    Asked("", THOUGHT, (0,)), Asked("", "", (0, 1)), Asked("Ok.", "", (1, 0)), Asked("Ok.", THOUGHT, (0, 3)),
]  # fmt: skip


def message_of(asked: Asked, shape: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": asked.content or (None if shape["none"] else ""),
    }
    if asked.reasoning and shape["parts"]:
        text = [{"type": "text", "text": asked.content}] if asked.content else []
        message["content"] = [{"type": "thinking", "thinking": asked.reasoning}, *text]
    elif asked.reasoning:
        message |= dict.fromkeys(("reasoning_content", "reasoning", "thinking"), asked.reasoning)
    calls = []
    for n, value in enumerate(asked.calls):
        arguments = json.dumps(VALUES[value], ensure_ascii=False) if shape["text"] else VALUES[value]
        id = shape["id"].format(name=NAMES[n], n=n)
        calls.append({"id": id, "type": "function", "function": {"name": NAMES[n], "arguments": arguments}})
    return message | ({"tool_calls": calls} if calls else {})


def job(messages: list[Any], shape: dict[str, Any], opens: bool = False) -> dict[str, Any]:
    return {"messages": messages, "add_generation_prompt": opens, **shape["variables"]}


def best_shape(box: Sandbox) -> dict[str, Any] | None:
    """The first shape in which the template writes a call, and reasoning if it writes any."""
    both = [Asked(calls=(0,)), Asked(TEXT, THOUGHT), Asked("", THOUGHT, (0,))]
    made = box.render(
        [job([USER, message_of(asked, shape)], shape) for shape in SHAPES for asked in both], COMMON
    )
    found: list[tuple[int, dict[str, Any]]] = []
    for n, shape in enumerate(SHAPES):
        call, plain, thought = (text or "" for text, _ in made[3 * n : 3 * n + 3])
        # The template has written JSON within a text, or an object as Python prints it.
        if "Kraków" not in call or NAMES[0] not in call or '\\"to' in call or "{'to': '" in call:
            continue
        found.append(((is_shown(plain) and TEXT in plain) + is_shown(thought), shape))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def is_shown(text: str) -> bool:
    place = text.find(THOUGHT)
    return place > 0 and text[place - 1] not in "'\""


def readings(
    box: Sandbox, shape: dict[str, Any], ends: tuple[str, ...]
) -> list[tuple[Asked, list[str], str]]:
    """The rendering of each answer: its parts that are present, the prompts, and the output."""
    twins = [Asked(asked.reasoning, asked.content, asked.calls) for asked in ASKED]
    jobs = [job([USER, message_of(asked, shape)], shape) for asked in [*ASKED, *twins]]
    made = [text for text, _ in box.render([job([USER], shape, True), job([USER], shape), *jobs], COMMON)]
    prompt, bare = made[0] or "", made[1] or ""
    turn = prompt.removeprefix(bare).strip().split("\n")[0]
    last = prompt[prompt.rfind(USER["content"]) + len(USER["content"]) :].strip()
    if prompt == bare and last:  # the template begins another turn, whether it should or not
        made = [text and text.rstrip().removesuffix(last) for text in made]
    found = []
    for asked, text, twin in zip(ASKED, made[2:], made[2 + len(ASKED) :], strict=False):
        if text is None or (text == twin and asked.content and not asked.reasoning):
            continue
        place = next(
            (n for n, (a, b) in enumerate(zip(text, prompt, strict=False)) if a != b),
            min(len(text), len(prompt)),
        )
        place = tag_start(text, place)
        if text.find(USER["content"], place) >= 0:  # the prompt lists its tools elsewhere than a conversation
            place = text.rfind(USER["content"]) + len(USER["content"])
            begin = text.find(last, place)
            place = begin + len(last) if not text[place:begin].strip() else place
        first = (asked.reasoning or asked.content)[:2]
        if (
            first and text[place - 2 : place + 2].find(first) >= 0
        ):  # the answer begins like the rest of the prompt
            place = text.index(first, place - 2)
        head = next(
            (
                n
                for n in range(len(turn), 0, -1)
                if text.startswith(turn[n:], place) and text[:place].endswith(turn[:n])
            ),
            0,
        )
        place += len(turn) - head if head else 0
        output, seen = cut_end(text[place:], asked, ends), shown(asked, text[place:])
        is_several = (
            bool(turn) and bool(ends) and turn in output and any(end in output.split(turn)[0] for end in ends)
        )
        if seen is not None and not is_several:
            found.append((seen, [text[:place], prompt], output))
    return found


def cut_end(text: str, asked: Asked, ends: tuple[str, ...]) -> str:
    """The output without the text after the answer's end."""
    last = VALUES[asked.calls[-1]] if asked.calls else None
    mark = asked.content.split("\n")[-1] if last is None else NAMES[len(asked.calls) - 1]
    begin = text.rfind(mark) + len(mark)
    places = [text.find(end, begin) for end in ("</s>", *ends) if text.find(end, begin) >= 0]
    return text[: min(places)] if places else text


def shown(asked: Asked, text: str) -> Asked | None:
    """The answer without the parts that the template omits."""
    if any(NAMES[n] not in text for n in range(len(asked.calls))):
        return None
    return Asked(
        asked.content if asked.content and asked.content in text else "",
        asked.reasoning if asked.reasoning and asked.reasoning in text else "",
        asked.calls,
    )


def faults(
    file: unspool.FormatFile, known: str | None, asked: Asked, prompts: list[str], output: str
) -> set[str]:
    """What is read wrong: "calls", "reasoning", "content".

    The prompt is that of the conversation, or the generation prompt: a template may write one in another way than
    the other. Where neither reading is as meant, that of the shipped format counts, if it is the same: then the
    template writes what no model does.
    """
    found = []
    for prompt in prompts:
        message = unspool.parse(output, file, TOOLS, prompt=prompt)
        wrong = differences(message, asked)
        if not wrong:
            return set()
        found.append(
            wrong
            if not known or not same(message, unspool.parse(output, known, TOOLS, prompt=prompt))
            else set()
        )
    return set() if set() in found else found[0]


def is_odd(known: str | None, asked: Asked, prompts: list[str], output: str) -> bool:
    """Whether the shipped format also parses it differently: then the template writes what no model
    writes."""
    return known is not None and all(
        differences(unspool.parse(output, known, TOOLS, prompt=prompt), asked) for prompt in prompts
    )


def same(left: unspool.Message, right: unspool.Message) -> bool:
    def parts(message: unspool.Message) -> tuple[Any, ...]:
        calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
        return calls, message.reasoning.strip(), message.content.strip()

    return parts(left) == parts(right)


def differences(message: unspool.Message, asked: Asked) -> set[str]:
    calls = [[call.name, call.is_complete and json.loads(call.arguments)] for call in message.tool_calls]
    meant = [[NAMES[n], VALUES[value]] for n, value in enumerate(asked.calls)]
    return (
        ({"calls"} if json.dumps(calls, sort_keys=True) != json.dumps(meant, sort_keys=True) else set())
        | ({"reasoning"} if message.reasoning.strip() != asked.reasoning.strip() else set())
        | ({"content"} if message.content.strip() != asked.content.strip() else set())
    )


def renamed(source: str, file: unspool.FormatFile) -> str:
    """The template with each word in the learnt markers renamed, where it writes text and not names of its own."""
    texts = [
        text for key, many in file.patterns.items() if key not in ("turn", "object", "id") for text in many
    ]
    tags = [tag for text in texts for tag in TAG.findall(re.sub(r"\$\{[^}]*\}", " ", text))]
    words = {word for tag in tags for word in re.findall(r"[^\W\d]{3,}", tag)} - {
        "name",
        "string",
        "true",
        "false",
    }
    pattern = re.compile(
        "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in sorted(words, key=len, reverse=True))
    )
    pieces: list[str] = []
    for _, kind, value in jinja2.Environment(extensions=["jinja2.ext.loopcontrols"]).lex(source):
        is_text = kind == "data" or (kind == "string" and re.search(r"[<>\[\]|｜]", value))
        if (
            value.startswith("{") and pieces and pieces[-1].endswith("{")
        ):  # the white space between them is gone
            pieces[-1] = pieces[-1][:-1] + "{{ '{' }}"
        pieces.append(pattern.sub(lambda match: "zx" + match[0][::-1], value) if words and is_text else value)
    return "".join(pieces)


def judge(source: str, rename: bool) -> tuple[str, str, str]:
    """The verdict for one template and for its reasoning, and the errors."""
    with Sandbox(source, 20) as box:
        shape = best_shape(box)
    if shape is None:
        return "no call", "", ""
    odd: set[Asked] = set()  # not checked for renamed templates, because no shipped format applies there
    family = unspool.detect(source, learn=False)
    known = family[0].format if family else None
    try:
        file = unspool.learn({"chat_template": source, **TOKENS})
        if rename:
            with Sandbox(source, 20) as box:
                asked = readings(box, shape, file.patterns.get("end", ()))
            odd = {item[0] for item in asked if is_odd(known, *item)}
            source, known = renamed(source, file), None
            file = unspool.learn({"chat_template": source, **TOKENS})
    except LearnError as error:
        return "refused", "", str(error)[:160]
    with Sandbox(source, 20) as box:
        asked = [item for item in readings(box, shape, file.patterns.get("end", ())) if item[0] not in odd]
    wrong = {
        (fault, str(item[0].calls), item[2][:300]) for item in asked for fault in faults(file, known, *item)
    }
    kinds = {fault for fault, _, _ in wrong}
    judged = sum(is_odd(known, *item) for item in asked)
    has_reasoning = any(item[0].reasoning for item in asked)
    reasoning = ("wrong" if "reasoning" in kinds else "right") if has_reasoning else ""
    note = (
        "; ".join(sorted(map(str, wrong)))[:400]
        if wrong
        else f"{len(asked)} readings, {judged + len(odd)} odd"
    )
    return (
        ("wrong " + ", ".join(sorted(kinds)) if kinds else "right"),
        reasoning,
        f"{note} ({known or 'unknown'})",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--renamed", action="store_true")
    parser.add_argument("--names", default="")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    print("| template | learnt | reasoning | seconds | |\n|---|---|---|---|---|")
    for path in sorted(options.folder.glob("*.jinja")):
        if options.names and not any(name in path.stem for name in options.names.split(",")):
            continue
        begin = time.perf_counter()
        try:
            verdict, reasoning, note = judge(path.read_text(encoding="utf-8"), options.renamed)
        except LearnError as error:
            verdict, reasoning, note = "no call", "", str(error)[:100]
        counts[verdict.split()[0]] += 1
        counts["reasoning " + reasoning] += bool(reasoning)
        if verdict != "no call":
            print(
                f"| {path.stem} | {verdict} | {reasoning} | {time.perf_counter() - begin:.1f} | {note!r} |",
                flush=True,
            )
    print(dict(counts))


if __name__ == "__main__":
    main()
