"""Nothing of an output is lost behind any prompt: what the audit calls text is in the message."""

from __future__ import annotations

import random
from collections.abc import Iterable

from unspool import Message, Parser, get_format

from ..attack.chains import chain, draw_tools
from .label_tokens import cut

#: Letters that no marker has, so that they are text, a name or an argument.
OUTPUT = "zqx kwj"


def prompts(format: str) -> Iterable[str]:
    """The turn, and then markers, or the beginning of an output, as a chat template may write a history."""
    draw = random.Random(format)
    facts, turns = get_format(format).facts, get_format(format).patterns.get("turn", ("",))
    markers = sorted({marker for marker in (*facts.markers, *facts.ends) if marker} | {"\n", " ", "x"})
    for _ in range(40):
        yield draw.choice(turns) + "".join(draw.choices(markers, k=draw.randint(1, 4)))
        text = chain(format, draw_tools(draw), draw)
        yield draw.choice(turns) + text[: draw.randint(0, len(text))]


def problem(message: Message, output: str) -> str:
    if "".join(text for _, text in message.audit) != output:
        return f"the audit is not the output: {message.audit}"
    for fate, found in (
        ("content", message.content),
        ("reasoning", message.reasoning or ""),
        ("malformed", "".join(part.text for part in message.malformed)),
    ):
        told = "".join(text for known, text in message.audit if known == fate)
        is_broken = fate == "malformed" and any(not call.is_complete for call in message.tool_calls)
        if told and told not in found and not is_broken:
            return f"{told!r} is {fate} of the audit alone"
    return ""


def test_behind_any_prompt(format: str) -> None:
    tokens = cut(format, OUTPUT, lambda: 2)
    for prompt in prompts(format):
        by_text = Parser(format, prompt=prompt, audit=True)
        for letter in OUTPUT:
            by_text.parse_chunk(letter)
        assert not (found := problem(by_text.finish(), OUTPUT)), (prompt, found)
        by_ids = Parser(format, prompt=prompt, audit=True, tokenizer=tokens.vocabulary)
        message = by_ids.parse(tokens.ids[:-1])  # the last one ends the turn
        assert not (found := problem(message, OUTPUT)), (prompt, found)
