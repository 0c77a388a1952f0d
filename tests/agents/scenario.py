"""What the scripted model has an agent do, and what must come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .agent import Agent, Call, filled
from .model import Step
from .server import Exchange

__all__ = [
    "END", "NEXT_PROMPT", "PROMPT", "TEXT", "again", "found", "remembered", "slow", "thoughts_of", "work",
]  # fmt: skip

PROMPT = "Do what is to be done."
NEXT_PROMPT = "What have you done?"
#: Quotes, escapes, markup, characters of each length in UTF-8, and the line breaks that only some readers know.
TEXT = (
    'one "two" \'three\' `four` $five \\six \\n %7\t{"eight": [9]}\n\n'
    '<tag attr="x">é & ß</tag> 汉字 😀 \u2028 &amp; \u0085\n# last\n'
)
END = "All of it is done."
_AGAIN = "A command, a file, and two at once."


def work(agent: Agent, folder: Path) -> list[Step]:
    """A command, a file, two calls at once, an end."""
    path, text = str(folder / "written.txt"), _text(agent)
    if agent.shell is None:
        return [Step("A file.", filled(agent.answer, {"PATH": "written.txt", "TEXT": text}))]
    command, one, two = (
        _command(agent.shell, f"echo {name} > {name}.txt && echo said {name}") for name in _FILES
    )
    if agent.write is None:
        file = _command(agent.shell, f"cat > {path} <<'END'\n{text}END")
    else:
        file = Call(agent.write.name, filled(agent.write.arguments, {"PATH": path, "TEXT": text}))
    steps = [
        Step("First I run a command.", "", (command,)),
        Step("Now I write a file.", "Here is the file.", (file,)),
        Step("Two at once.", "", (one, two)),
    ]
    return [*steps, Step("That is all.", END, (agent.end,) if agent.end else ())]


def _text(agent: Agent) -> str:
    return TEXT.translate(dict.fromkeys(map(ord, agent.loses)))


def again(steps: Sequence[Step]) -> list[Step]:
    """What answers a second prompt after `work`."""
    return [*steps[:-1], Step("I look back.", _AGAIN)]


_FILES = ("command", "one", "two")


def _command(shell: Call, command: str) -> Call:
    return Call(shell.name, filled(shell.arguments, {"COMMAND": command}))


def slow(agent: Agent) -> list[Step]:
    """A long text, for an agent that leaves in the middle of it."""
    text = Step(content=" ".join(f"word{number}" for number in range(400)))
    return [text, Step(calls=(agent.shell,))] if agent.shell else [text]


def found(
    agent: Agent, folder: Path, prompts: Sequence[Sequence[Mapping[str, Any]]], said: str
) -> dict[str, bool]:
    """Which parts of `work` were done."""
    written = folder / "written.txt"
    file = {"file": written.is_file() and written.read_bytes() == _text(agent).encode()}
    if agent.shell is None:
        return file
    results = "\n".join(_said_by("tool", prompts))
    done = [(folder / f"{name}.txt").is_file() and f"said {name}" in results for name in _FILES]
    return {
        "command": done[0],
        **file,
        "two calls": done[1] and done[2],
        "end": END in said,
    }


def remembered(steps: Sequence[Step], prompts: Sequence[Sequence[Mapping[str, Any]]], said: str) -> bool:
    """Whether the second prompt came after the whole first turn, and its answer was shown."""
    calls = [call["function"] for message in _last(prompts) for call in message.get("tool_calls") or ()]
    prompt, answers, results = ("\n".join(_said_by(role, prompts)) for role in ("user", "assistant", "tool"))
    return (
        PROMPT in prompt
        and [(call["name"], call["arguments"]) for call in calls]
        == [(call.name, call.arguments) for step in steps for call in step.calls]
        and all(f"said {name}" in results for name in _FILES if calls)
        and all(step.content in answers for step in steps)
        and any(NEXT_PROMPT in text for text in _said_by("user", prompts)[-1:])
        and _AGAIN in said
    )


def thoughts_of(
    steps: Sequence[Step], prompts: Sequence[Sequence[Mapping[str, Any]]], exchanges: Sequence[Exchange]
) -> str:
    """What became of the steps' thoughts in the model's last prompt.

    "kept"; "as text", in the content; "not sent" by the client; or "lost" by the server.
    """
    texts = [step.content for step in steps if step.content]
    turns = [
        message
        for message in _last(prompts)
        if message.get("tool_calls") or any(text in str(message["content"]) for text in texts)
    ]
    fates = set()
    for turn, step in zip(turns, steps, strict=False):
        if turn.get("reasoning_content") == step.reasoning:
            fates.add("kept")
        elif step.reasoning in str(turn.get("content")):
            fates.add("as text")
        else:
            is_sent = any(step.reasoning.encode() in exchange.body for exchange in exchanges)
            fates.add("lost" if is_sent else "not sent")
    return " and ".join(sorted(fates))


def _said_by(role: str, prompts: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    return [str(message.get("content")) for message in _last(prompts) if message["role"] == role]


def _last(prompts: Sequence[Sequence[Mapping[str, Any]]]) -> Sequence[Mapping[str, Any]]:
    return prompts[-1] if prompts else []
