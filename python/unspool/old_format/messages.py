"""Converts old tables to patterns: the turn, reasoning, content and message headers."""

from __future__ import annotations

import re
from typing import Any

from unspool.old_format.tables import Table

__all__ = ["Messages", "aligned"]


def aligned(*lists: list[str]) -> list[tuple[str, ...]]:
    """The lists zipped; the last item of a shorter list is repeated."""
    filled = [texts or [""] for texts in lists]
    longest = max(len(texts) for texts in filled)
    return [tuple(texts[min(row, len(texts) - 1)] for texts in filled) for row in range(longest)]


# What a closer has in place of its opener's.
_TWINS = (
    ("</", "<"), ("[/", "["), ("◁/", "◁"), ("END", "START"), ("END", "BEGIN"), ("end", "start"),
    ("end", "begin"), ("close", "open"),
)  # fmt: skip


def _closes(closer: str, opener: str) -> bool:
    return closer != opener and any(closer.replace(last, first) == opener for last, first in _TWINS)


_IS_TOKEN = re.compile(r"<\|[^|<>]+\|>")


class Messages:
    """The markup around an answer's parts, from the tables.

    Attributes:
        ends: The texts that end an answer.
        author: The beginning of a call if messages name their author: `<message>${_}`.
    """

    def __init__(self, tables: Table) -> None:
        markup = tables.get("markup", [])
        self.tables = tables
        self.ends: list[str] = list(tables.get("ignore", ()))
        self.author = ""
        self._reasoning: Table = tables.get("reasoning", {})
        spans = [item for item in markup if {"open", "close"} <= item.keys() and not item.get("inline")]
        self._headers = [item for item in spans if "recipient" in item or "reasoning" in item]
        self._authors = [item for item in spans if item not in self._headers]
        self._inline = [item for item in markup if item.get("inline")]
        self._plain = [
            (item.get("open_before", ""), text, item.get("open_after", ""))
            for item in markup
            if "close" not in item and not item.get("inline")
            for text in item.get("open", ())
        ]
        self._pairs = self._find_pairs()
        if self._authors:
            kinds = self._authors[0]["close"]
            self.ends = [text for text in kinds if self._closes_all(text)] + self.ends
            if self._authors[0].get("header"):
                self.author = self._authors[0]["open"][0] + "${_}"

    def write(self) -> dict[str, list[str]]:
        """The patterns of everything except calls."""
        if self.tables.get("plain"):
            return {"content": ["${content}"]}
        return {
            "turn": self._turn(),
            "header": [
                f"{opener}${{_}}{closer}"
                for table in self._headers
                for opener in table["open"]
                for closer in table["close"]
            ],
            "reasoning": self._write_reasoning() if self._reasoning else [],
            "content": self._content(),
        }

    def recipient(self, prefix: str) -> str:
        """The opener, up to the name, of a call whose tool is named in a header; "" if no header does
        that."""
        for table in self._headers:
            if "recipient" in table:
                start = self._message_start() or table["open"][0]
                gap = "" if start[-1:].isspace() else " "
                return f"{start}{gap}{table['recipient']}{prefix}"
        return ""

    def recipient_end(self) -> str:
        """The end of the header that names a tool."""
        return next((str(table["close"][0]) for table in self._headers if "recipient" in table), "")

    def leftover_markup(self) -> list[tuple[str, str]]:
        """Each marker that is dropped everywhere, with the white space around it."""
        found = [(text, before + text + after) for before, text, after in self._plain]
        alone = [text for item in self._inline if "close" not in item for text in item.get("open", ())]
        return found + [(text, text) for text in alone]

    def _turn(self) -> list[str]:
        turns = list(self._reasoning.get("turn", ()))
        if not self._reasoning.get("starts_open") or "open" not in self._reasoning:
            return turns
        opener = self._reasoning["open"][0] + self._reasoning.get("open_after", "")
        return [turn + opener for turn in turns or [""]]

    def _message_start(self) -> str:
        return str(next(iter(self._reasoning.get("turn", ())), ""))

    def _write_reasoning(self) -> list[str]:
        table = self._reasoning
        option = "" if table.get("tool_calls", "auto") == "end" else ":verbatim"
        before = table.get("open_before", "")
        after = table.get("label", "") + table.get("open_after", "")
        opens = [before + text + after for text in table.get("open", ())]
        if self._headers:
            opens = [self._message_start() + text for text in opens]
        closes = [
            table.get("close_before", "") + text + table.get("close_after", "")
            for text in self._own_closers()
        ]
        return [
            f"{self.author}{opener}${{reasoning{option}}}{closer}"
            for opener, closer in aligned(opens, closes)
        ]

    def _own_closers(self) -> list[str]:
        """The reasoning closers without those that another part of the file ends it with."""
        closers: list[str] = self._reasoning.get("close", [])
        others = set(self.ends) if self._headers or self._authors else set()
        if self._headers:
            others |= {text for call in self.tables.get("call", ()) for text in call.get("close", ())[:1]}
        content = self._content()
        if content:
            others.add(content[0].removeprefix(self.author).partition("${")[0].strip())
        return [text for text in closers if text not in others] or closers[:1]

    def _closes_all(self, text: str) -> bool:
        """Whether the text closes the reasoning and every call."""
        parts = [part for part in (self._reasoning, *self.tables.get("call", ())) if part.get("close")]
        return bool(parts) and all(text in part["close"] for part in parts)

    def _content(self) -> list[str]:
        return [*self._messages(), *self._pairs, *self._citations()]

    def _messages(self) -> list[str]:
        """An answer's text as a message, with the possible texts of its header."""
        found = []
        for table in self._authors:
            kinds = [text for text in table["close"] if text not in self.ends]
            end = self._message_end()
            found += [f"{opener}${{_}}{kind}${{content}}{end}" for opener in table["open"] for kind in kinds]
        for table in self._headers:
            start = self._message_start() or table["open"][0]
            words = self._header_words(table)
            headers = [start + self._header_with(table, word) for word in words]
            found += [
                f"{header}${{content}}{self._message_end()}"
                for header in headers or [start + table["close"][0]]
            ]
        return found

    def _message_end(self) -> str:
        closers: list[str] = self._reasoning.get("close", [])
        for call in self.tables.get("call", ()):
            closers = closers or call.get("close", [])
        return next((text for text in closers if text not in self.ends), "")

    def _header_with(self, table: Table, word: str) -> str:
        opener = str(self._reasoning.get("open", [""])[0])
        for known in table.get("reasoning", ()):
            if opener.count(known) == 1:
                return opener.replace(known, word)
        return word + str(table["close"][0])

    def _header_words(self, table: Table) -> list[str]:
        """The words that only a header's pattern names."""
        pattern = table.get("header", "").partition(")*")[0]
        known = " ".join([self._message_start(), *table.get("open", ()), *table.get("reasoning", ())])
        words = re.findall(r"(?<![\\\w])[A-Za-z_]{2,}(?=[|)]|$)", pattern)
        return [word for word in words if word not in known]

    def _find_pairs(self) -> list[str]:
        """Pairs of dropped tags, one before the answer and one after it."""
        pairs: list[str] = []
        closers = self._reasoning.get("close", [])
        for i, (before, text, after) in enumerate(self._plain):
            if not pairs and _IS_TOKEN.fullmatch(text) and self._reasoning and text not in closers:
                continue  # as the opener of a pattern, it would also end a reasoning
            for last_before, last, last_after in self._plain[i + 1 :]:
                is_of_calls = "tool" in text or "call" in text
                if _closes(last, text) and not is_of_calls and not self._headers and not self._authors:
                    pairs.append(f"{before}{text}{after}${{content}}{last_before}{last}{last_after}")
                    break
        return pairs

    def _citations(self) -> list[str]:
        """Markup within a text that continues after it."""
        texts: list[Any] = [(text, table) for table in self._inline for text in table.get("open", ())]
        found = []
        for opener, table in texts:
            if "close" in table:
                continue
            for closer, other in texts:
                ends = [f"${{_}}{text}" for text in other.get("close", ())] or [""]
                if _closes(closer.rstrip(": ="), opener.rstrip("<>[]|")) or _closes(closer, opener):
                    found += [f"${{content}}{opener}${{content}}{closer}{end}${{content}}" for end in ends]
        return found
