"""The name of a conversation: the same at each turn, and another for others."""

from __future__ import annotations

from typing import Any

import pytest
from unspool.serve.engines.session import session_headers, session_of


def message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


SYSTEM = message("system", "You are an agent. The time is 2026-11-28 13:05:59.")
TASK = message("user", "Mend test 3.")
TURN = [
    SYSTEM,
    TASK,
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    message("tool", "3 failed"),
]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_turns_are_of_one_conversation(count: int) -> None:
    assert session_of(TURN[:count]) == session_of([SYSTEM, TASK])


def test_the_time_in_instructions_changes_nothing() -> None:
    later = message("system", "You are an agent. The time is 2026-11-28 14:11:02.")
    assert session_of([later, TASK]) == session_of(TURN)
    developer = [message("developer", "It is 9:59."), TASK]
    assert session_of(developer) == session_of([message("developer", "It is 10:00."), *TURN[1:]])


@pytest.mark.parametrize(
    "other",
    [
        [SYSTEM, message("user", "Mend test 4.")],
        [message("system", "You are a cook."), TASK],
        [message("developer", SYSTEM["content"]), TASK],
        [TASK],
        [SYSTEM],
        [message("user", SYSTEM["content"] + TASK["content"])],
        [SYSTEM, message("user", [{"type": "text", "text": "Mend"}, {"type": "text", "text": " test 3."}])],
    ],
)
def test_others_have_other_names(other: list[dict[str, Any]]) -> None:
    assert session_of(other) != session_of(TURN)


def test_only_the_text_of_a_part_counts() -> None:
    """Clients move the mark of a cache from turn to turn."""
    marked = [{"type": "text", "text": "Mend test 3.", "cache_control": {"type": "ephemeral"}}]
    assert session_of([SYSTEM, message("user", marked)]) == session_of(TURN)


@pytest.mark.parametrize(
    "prompt", ["a text", [1, 2, 3], [message("user", 7)], [{}], [], [message("user", ["x"])], "\ud800"]
)
def test_any_prompt_has_a_name_that_is_the_same_in_every_process(prompt: Any) -> None:
    name = session_of(prompt)
    assert name == session_of(prompt)
    assert len(name) == 32
    assert name.isalnum()


def test_the_name_does_not_depend_on_the_process() -> None:
    assert session_of([TASK]) == "e4fe9c4412e0a65ab4f9918c03ba8f62"
    assert session_headers("a") == {"x-session-id": "a", "x-smg-routing-key": "a"}
    assert session_headers("") == {}
