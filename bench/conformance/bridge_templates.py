"""Builds bridges over chat templates and counts them: exact, not exact and why, or refused.

    python bench/conformance/bridge_templates.py FOLDER...

A folder holds `*.jinja` files. An answer is what the template itself writes for it, in tokens of one byte and
one for each marker. Where the template writes the answer's text again in the next turn, the bridge must give
the ids of that text.
"""

from __future__ import annotations

import argparse
import collections
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import unspool
from unspool.core.stream.message import Message, ToolCall
from unspool.formats.templates.probe import Call, Shape, tools_of
from unspool.formats.templates.sandbox import Sandbox
from unspool.formats.templates.shapes import find_shape
from unspool.generation.bridging.build import USER, parsed_answer
from unspool.testing.marker_tokenizer import END, MarkerTokenizer

CALLS = (("get_weather", '{"city": "Paris", "days": 3}'), ("now", '{"zone": "UTC"}'))
TOOLS = tools_of([Call("get_weather", {"city": "", "days": 0}), Call("now", {"zone": ""})])
TOKEN = re.compile(r"<[|｜][\w▁:.-]+[|｜]>|<\|\w+>|<\w+\|>|<sep>|\[/?[A-Z_]+\]")
CASES = ("user", "one result", "two results", "reordered", "after reasoning")


@dataclass(frozen=True)
class Found:
    """One template and one case.

    Attributes:
        result: "exact"; the kind of the difference; "refused: " and the kind; "wrong: " and what is; or "" if the
            template does not render the case.
        why: The reason in words.
    """

    template: str
    format: str
    case: str
    result: str
    why: str = ""


def try_template(name: str, template: str) -> Iterator[Found]:
    """All cases of one template."""
    detected = unspool.detect(template)
    if not detected:
        return
    file = unspool.get_format(detected[0].format)
    variables = {"bos_token": "<s>", "eos_token": file.patterns.get("end", ("</s>",))[0]}
    try:
        with Sandbox(template, 20.0) as sandbox:
            shape, has_calls = find_shape(sandbox, {**variables, "tools": TOOLS})
            for case in CASES if has_calls and file.has_tools else CASES[:1]:
                yield _try_case(_Model(name, template, file, variables, shape), sandbox, case)
    except unspool.LearnError as error:
        yield Found(name, file.name, "all", "", str(error))


@dataclass(frozen=True)
class _Model:
    name: str
    template: str
    file: unspool.FormatFile
    variables: dict[str, Any]
    shape: Shape


def _try_case(model: _Model, sandbox: Sandbox, case: str) -> Found:
    message, following = _conversation(model.file, case)
    answer = parsed_answer(message, model.shape)
    jobs = [
        {"messages": messages, "add_generation_prompt": is_prompt}
        for messages, is_prompt in (
            ([USER], True), ([USER, answer], False), ([USER, answer, *following], True),
        )
    ]  # fmt: skip
    (prompt, _), (alone, _), (whole, why) = sandbox.render(jobs, {**model.variables, "tools": TOOLS})
    if prompt is None or alone is None or whole is None:
        return Found(model.name, model.file.name, case, "", why or "not rendered")
    written = _written(model, alone, prompt, whole, message)
    if not written:
        return Found(model.name, model.file.name, case, "", "the template writes another end than the format")
    special = sorted({*TOKEN.findall(whole), *model.file.facts.ends})
    tokenizer = MarkerTokenizer(model.file.facts.marker_tokens, [END, *special])
    prompt_ids = tokenizer.encode(prompt).ids
    ids = prompt_ids + tokenizer.encode(written).ids
    read = unspool.parse(ids[len(prompt_ids) :], model.file, TOOLS, tokenizer=tokenizer, prompt=prompt_ids)
    if [call.name for call in read.tool_calls] != [call.name for call in message.tool_calls]:
        return Found(
            model.name, model.file.name, case, "", f"the answer is not read as it was meant: {written!r}"
        )
    bridge = unspool.bridge(
        ids, following, format=model.file, tokenizer=tokenizer, template=model.template, message=message,
        prompt_length=len(prompt_ids), messages=[USER], tools=TOOLS, variables=model.variables,
    )  # fmt: skip
    is_same = (read.content, read.reasoning) == (message.content, message.reasoning)
    result = _judge(bridge, ids, tokenizer, (prompt, written), whole, is_same)
    return Found(model.name, model.file.name, case, result, bridge.reason or "")


def _conversation(file: unspool.FormatFile, case: str) -> tuple[Message, list[dict[str, Any]]]:
    count = {"user": 0, "two results": 2, "reordered": 2}.get(case, 1)
    calls = []
    for index, (name, arguments) in enumerate(CALLS[:count]):
        id = f"functions.{name}:{index}" if file.facts.call_ids == "functions" else f"abcdefgh{index}"
        calls.append(ToolCall(id, name, arguments, "complete"))
    content = "" if calls else "It is fine."
    reasoning = "I think." if case == "after reasoning" and file.has_reasoning else ""
    results = [
        {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": f"result {number}"}
        for number, call in enumerate(calls)
    ]
    following = results or [{"role": "user", "content": "And then?"}]
    return Message(content, reasoning, tuple(calls), "stop"), following[:: -1 if case == "reordered" else 1]


def _written(model: _Model, alone: str, prompt: str, whole: str, message: Message) -> str:
    """The answer as the template or our format writes it, with the token that ends it; "" if the template
    differs."""
    ends = [*model.file.facts.ends, model.variables["eos_token"]]
    if not alone.startswith(prompt):
        return _in_our_words(model, prompt, message) + next((end for end in ends if end in whole), ends[0])
    text = alone[len(prompt) :]
    places = [text.find(end) + len(end) for end in ends if end in text]
    if places:
        return text[: min(places)]
    following = whole[len(alone) :] if whole.startswith(alone) else ""
    end = next((end for end in ends if following.startswith(end)), "")
    if end:
        return text + end
    after = text.rfind(CALLS[len(message.tool_calls) - 1][0] if message.tool_calls else message.content)
    own = list(TOKEN.finditer(text, after))
    return text[: own[-1].end()] if own else ""


def _in_our_words(model: _Model, prompt: str, message: Message) -> str:
    if unspool.Parser(model.file, prompt=prompt).region != "reasoning":
        return model.file.render(message, tools=TOOLS, exact=False, continues=True)
    closer = model.file.shape.reasoning[0].close.literal
    rest = model.file.render(replace(message, reasoning=""), tools=TOOLS, exact=False, continues=False)
    return message.reasoning + closer + rest


def _judge(
    bridge: unspool.Bridge, ids: list[int], tokenizer: Any, given: tuple[str, str], whole: str, is_same: bool
) -> str:
    """The kind of result, or a violation of the bridge's promises.

    Args:
        given: The texts of the prompt and of the answer.
        whole: What the template writes.
        is_same: Whether the answer is read as the message that `whole` has.
    """
    if bridge.ids is None:
        return f"refused: {bridge.kind}"
    text = tokenizer.decode(bridge.ids, skip_special_tokens=False)
    if bridge.ids[: len(ids)] != ids or any(bridge.mask[len(ids) :]):
        return "wrong: what was given has changed"
    if text[-10:] != whole[-10:]:
        return "wrong: it does not end as the template does"
    if is_same and bridge.is_exact != (text == whole):
        return "wrong: is_exact"
    if whole.startswith("".join(given)) and bridge.ids != tokenizer.encode(whole).ids:
        return "wrong: the template goes on otherwise"
    return bridge.kind or "exact"


def main() -> None:
    """Print a table of all templates, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true", help="the reasons")
    options = parser.parse_args()
    files = sorted(file for folder in options.folders for file in folder.rglob("*.jinja"))
    counts: dict[str, collections.Counter[str]] = {case: collections.Counter() for case in CASES}
    print(f"| template | format | {' | '.join(CASES)} |\n|{'---|' * (len(CASES) + 2)}")
    for file in files:
        found = {one.case: one for one in try_template(file.stem, file.read_text(encoding="utf-8"))}
        if not found:
            continue
        results = [found[case].result if case in found else "" for case in CASES]
        for case in CASES:
            counts[case][found[case].result if case in found else ""] += 1
        print(f"| {file.stem} | {next(iter(found.values())).format} | {' | '.join(results)} |", flush=True)
        for one in found.values():
            if options.show and one.result != "exact":
                print(f"    {one.case}: {one.result}: {one.why}")
    for case, count in counts.items():
        listed = ", ".join(f"{number} {result or 'not rendered'}" for result, number in count.most_common())
        print(f"\n{case}: {listed}")


if __name__ == "__main__":
    main()
