"""Counts how often a learnt file writes an answer as its template does: `render(parse(t)) == t`.

    python bench/conformance/render_learnt.py FOLDER [--names NAME,...] [--show]

FOLDER holds `*.jinja` files, such as llama.cpp's models/templates. `t` is the template's own rendering of an
assistant's turn, up to the token that ends it. README.md says what is counted.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import unspool
from learn_templates import TOKENS, TOOLS, best_shape, readings
from unspool.errors import ArgumentError, LearnError
from unspool.formats.templates.sandbox import Sandbox

KINDS = ("equal", "white space", "different", "refused")


@dataclass(frozen=True)
class Verdict:
    """The verdict of one rendering, with the written text or the reason.

    Attributes:
        kind: "equal", "white space" (nothing else differs), "different", or "refused".
        output: What the template writes.
        found: What `render` writes, or why it refuses.
    """

    kind: str
    output: str
    found: str


def judge(source: str) -> Iterator[Verdict]:
    """The verdict of each answer that the template renders; none if it renders no call.

    Raises:
        LearnError: The template is not learnt.
    """
    with Sandbox(source, 20) as box:
        shape = best_shape(box)
        if shape is None:
            return
        file = unspool.learn({"chat_template": source, **TOKENS})
        found = readings(box, shape, file.patterns.get("end", ()))
    for _, prompts, output in found:
        yield written(file, prompts[0], output)


def written(file: unspool.FormatFile, prompt: str, output: str) -> Verdict:
    """The verdict of one answer, parsed after the prompt that it was rendered with.

    What the prompt has opened already may be written once more: `render` does not know the prompt. So both
    values of `continues` are tried, and the prompt's end may be repeated.
    """
    message = unspool.parse(output, file, TOOLS, prompt=prompt)
    verdicts = [_compared(file, message, prompt, output, continues) for continues in (True, False)]
    return min(verdicts, key=lambda verdict: KINDS.index(verdict.kind))


def _compared(
    file: unspool.FormatFile, message: unspool.Message, prompt: str, output: str, continues: bool
) -> Verdict:
    try:
        text = file.render(message, tools=TOOLS, continues=continues, exact=False)
    except ArgumentError as error:
        return Verdict("refused", output, str(error))
    if text.endswith(output) and prompt.endswith(text.removesuffix(output)):
        return Verdict("equal", output, text)
    made, meant, before = ("".join(part.split()) for part in (text, output, prompt))
    is_near = made.endswith(meant) and before.endswith(made.removesuffix(meant))
    return Verdict("white space" if is_near else "different", output, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", default="")
    parser.add_argument("--show", action="store_true", help="show the answers that are not equal")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    print("| template | " + " | ".join(KINDS) + " |\n|---|" + "---|" * len(KINDS))
    for path in sorted(options.folder.glob("*.jinja")):
        if options.names and not any(name in path.stem for name in options.names.split(",")):
            continue
        try:
            verdicts = list(judge(path.read_text(encoding="utf-8")))
        except LearnError:
            counts["templates that are not learnt"] += 1
            continue
        own = Counter(verdict.kind for verdict in verdicts)
        counts += own
        if verdicts:
            counts["templates"] += 1
            counts["templates with all equal"] += own["equal"] == len(verdicts)
            print(f"| {path.stem} | " + " | ".join(str(own[kind]) for kind in KINDS) + " |", flush=True)
        for verdict in verdicts if options.show else ():
            if verdict.kind != "equal":
                print(f"  {verdict.kind}:\n    {verdict.output!r}\n    {verdict.found!r}")
    print(dict(counts))


if __name__ == "__main__":
    main()
