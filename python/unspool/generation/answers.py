"""The answers of one request so far: their parsers, ids, texts and times."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence

from unspool.generation.logprobs import TokenLogprob
from unspool.streams.parser import Parser
from unspool.streams.token_streamer import TokenStreamer

__all__ = ["Answers"]


class Answers:
    """One answer or several.

    Args:
        parsers: One for each answer: a `TokenStreamer`, or a `Parser` for a model that returns only text.
        has_logprobs: Whether the request asks for log-probabilities.

    Attributes:
        token_ids: The ids of each answer.
        texts: The pieces of each answer's text, if the parsers read text.
        logprobs: The log-probabilities of each answer's ids, added before the ids are parsed. None: not requested.
        times_s: When the first answer's tokens arrived.
        last_put_s: When the last token of any answer arrived.
        stop_reasons: The stop strings that ended answers before their parsers saw them.
    """

    def __init__(self, parsers: Sequence[Parser], has_logprobs: bool = False) -> None:
        self.parsers = parsers
        self.token_ids: list[array[int]] = [array("q") for _ in parsers]
        self.texts: list[list[str]] = [[] for _ in parsers]
        self.logprobs: list[list[TokenLogprob]] | None = [[] for _ in parsers] if has_logprobs else None
        self.times_s = array("d")
        self.last_put_s: float | None = None
        self.stop_reasons: dict[int, str] = {}

    def put_ids(self, row: int, ids: Sequence[int], logprobs: Sequence[TokenLogprob] = ()) -> None:
        """Feed the next ids of an answer to its parser."""
        self._note(row, ids, logprobs)
        self.parsers[row].put(ids)

    def put_text(self, row: int, text: str, ids: Sequence[int] = ()) -> None:
        """Feed the next text of an answer to its parser, with its ids if they are known."""
        self._note(row, ids)
        self.texts[row].append(text)
        self.parsers[row].parse_chunk(text, ids)

    def finish(self, row: int, reason: str, stop_reason: str | None = None) -> None:
        """End an answer.

        Args:
            reason: "stop" or "length"; always "stop" if the parser has matched a stop string.
            stop_reason: The stop string that ended it, if the parser has not seen it.
        """
        parser = self.parsers[row]
        if stop_reason is not None:
            self.stop_reasons[row] = stop_reason
        reason = "stop" if parser.is_stopped else reason
        if isinstance(parser, TokenStreamer):
            parser.end(reason)
        else:
            parser.parse_chunk(None, None, reason)

    def _note(self, row: int, ids: Sequence[int], logprobs: Sequence[TokenLogprob] = ()) -> float:
        """Record new ids before they are parsed; returns the time."""
        self.last_put_s = now_s = time.perf_counter()
        if row == 0:
            self.times_s.extend([now_s] * max(1, len(ids)))
        self.token_ids[row].extend(ids)
        if self.logprobs is not None:
            self.logprobs[row].extend(logprobs)
        return now_s
