"""Answers that a learnt format must parse; their names and values differ from those it was learnt from."""

from __future__ import annotations

from unspool.formats.templates.probe import Answer, Call

__all__ = ["BACKSLASHES", "MARKED_CALL", "NEEDED", "PLAIN", "PROOFS", "TOOLS_OF_PROOFS", "with_markers"]

_WEATHER = Call("get_weather", {"city": "Zürich", "days": 3, "metric": True})
_SEARCH = Call("search_web", {"query": "tea & milk < 5", "limit": 10})
_PING = Call("ping", {})
_HOSTILE = Call(
    "write_file",
    {
        "path": 'new "one".txt',
        "text": "Line one {\n  \"a\": [1, 2],\n}\nif (a < b && c > d) <b>bold</b> 日本語 👩‍👩‍👧 it's 'so' `x`",
        "mode": "5",
    },
)
_BACKSLASHES = Call("write_file", {"path": "C:\\new\\t.txt", "text": "x", "mode": "a"})
_TYPES = Call(
    "set_options",
    {
        "count": 5,
        "ratio": -0.25,
        "on": False,
        "label": "true",
        "empty": "",
        "items": ["a", 1, {"b": "c"}],
        "nested": {"deep": {"er": ["x"]}, "flag": True},
    },
)
_THOUGHT = 'The user asks for {two} things.\n\nFirst the weather, then "tea".'
_TEXT = "Here it is: 3 < 4, and [so] on.\n\n- one\n- two"

#: Answers without calls.
PLAIN = {
    "content alone": Answer("Hello there."),
    "content of several lines": Answer(_TEXT),
    "reasoning and content": Answer(_TEXT, _THOUGHT),
    "short reasoning and content": Answer("Yes.", "Hm."),
}

#: A template with Python calls may leave backslashes unescaped; such values cannot be parsed back.
BACKSLASHES = "values with backslashes"

#: Answers with calls.
PROOFS = {
    "reasoning, content and a call": Answer(
        "I look.", "The weather.", (Call("get_weather", {"city": "Paris"}),)
    ),
    "one call": Answer(calls=(_WEATHER,)),
    "content and a call": Answer(_TEXT, calls=(_WEATHER,)),
    "reasoning and a call": Answer(reasoning=_THOUGHT, calls=(_SEARCH,)),
    "two calls": Answer(calls=(_WEATHER, _SEARCH)),
    "content and two calls": Answer("I look.", calls=(_SEARCH, _WEATHER)),
    "reasoning, content and two calls": Answer("I look.", _THOUGHT, (_SEARCH, _WEATHER)),
    "three calls": Answer(calls=(_WEATHER, _SEARCH, _WEATHER)),
    "values with quotes, lines and braces": Answer(calls=(_HOSTILE,)),
    BACKSLASHES: Answer(calls=(_BACKSLASHES,)),
    "values of each type": Answer(calls=(_TYPES,)),
    "a call without arguments": Answer(calls=(_PING,)),
    "a call without arguments, then another": Answer(calls=(_PING, _WEATHER)),
    "hostile values, then another call": Answer("So:", calls=(_HOSTILE, _TYPES, _SEARCH)),
}

#: The answers that must be rendered; without them nothing is proved about calls.
NEEDED = ("one call", "values with quotes, lines and braces", "values of each type")

#: The call whose value `with_markers` fills.
MARKED_CALL = "note"

#: All calls of the answers, to derive their tools.
TOOLS_OF_PROOFS = (_WEATHER, _SEARCH, _PING, _HOSTILE, _TYPES, Call(MARKED_CALL, {"text": "", "more": ""}))


def with_markers(markers: tuple[str, ...]) -> dict[str, Answer]:
    """Return answers whose values mention the format's own markers."""
    return {
        f"a value that mentions {marker}": Answer(
            calls=(Call(MARKED_CALL, {"text": f"Write {marker} there.", "more": "end"}), _WEATHER)
        )
        for marker in markers
    }
