"""The known values in the learner's renderings: a unique word for each hole."""

from __future__ import annotations

from unspool.formats.learning.probe import Call

__all__ = ["CALLS", "CONTENT", "NUMBER", "REASONING", "TYPED"]

CONTENT, REASONING = "zqcontent", "zqreason"
#: A number that occurs nowhere else.
NUMBER = 70317

CALLS = (
    Call("zqtoola", {"zqkeya": "zqvala", "zqkeyb": "zqvalb", "zqkeyc": "zqvalc"}),
    Call("zqtoolb", {"zqkeya": "zqseca", "zqkeyb": "zqsecb", "zqkeyc": "zqsecc"}),
)
#: A call with a number, and with text that markup must escape.
TYPED = Call("zqtoola", {"zqkeya": "zqv<a&l", "zqkeyn": NUMBER})
