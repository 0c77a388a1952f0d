"""Passes the token ids of several answers to their token streamers."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import Any

from unspool.errors import ChannelCancelledError
from unspool.generation.answers import Answers
from unspool.generation.logprobs import LogprobRecorder, TokenLogprob
from unspool.streams.parser import Parser

__all__ = ["Rows"]


class Rows(Answers):
    """The `streamer=` of `model.generate` for n answers; each row of a put belongs to one answer.

    transformers' `TextStreamer` rejects more than one row, and records neither the end of a row nor the
    times of its tokens.

    Args:
        streamers: One for each row, made with `skip_prompt=True`.
        eos: Ids that end a row; later ids are padding.
        limit: Maximum number of tokens in a row; None: unknown.
        recorder: Returns the log-probabilities; has recorded the scores of the ids that are put.
        flush_tokens: Number of ids of a row that are gathered before its streamer gets them.
        flush_ms: Maximum milliseconds that an id waits for others, checked when an id arrives; 0: no limit.
    """

    def __init__(
        self,
        streamers: Sequence[Parser],
        eos: Collection[int] = (),
        limit: int | None = None,
        recorder: LogprobRecorder | None = None,
        flush_tokens: int = 1,
        flush_ms: float = 0,
    ) -> None:
        super().__init__(streamers, has_logprobs=recorder is not None)
        self.recorder = recorder
        self._eos, self._limit = frozenset(eos), limit
        self._ended_by_eos = [False] * len(streamers)
        self._step_count = 0
        self._cuts: dict[int, int] = {}  # maximum number of ids, by row
        self._last_steps: dict[int, int] = {}  # last step of rows that a caller's criterion ended
        self._takes_prompt = True
        self._flush_tokens, self._flush_s = flush_tokens, flush_ms / 1000
        self._gathered: list[list[int]] = [[] for _ in streamers]
        self._gathered_since_s = [0.0] * len(streamers)

    def split(self) -> list[Rows]:
        """Return one-row `Rows` for a loop whose answers advance separately; their ids and times are recorded here."""
        return [self] if len(self.parsers) == 1 else [_Part(self, row) for row in range(len(self.parsers))]

    def put_prompt(self, ids: Any) -> None:
        """Put the prompt's ids, of shape (1, n), or [] if they are unknown; none of them is emitted."""
        for parser in self.parsers:
            parser.put(ids)

    def put(self, value: Any) -> None:
        """Accept ids from `generate`: first the prompt, which is skipped, then one id for each row."""
        if self._takes_prompt:
            self._takes_prompt = False
            return
        self.put_step(value.reshape(-1).tolist())

    def put_step(self, ids: list[int]) -> None:
        """Put the next id of every row, or several ids of the only row."""
        self._takes_prompt = False
        self._step_count += 1
        logprobs = () if self.recorder is None else self.recorder.take(ids)
        rows = [ids] if len(self.parsers) == 1 else [[id] for id in ids]
        for row, new in enumerate(rows):
            self._put_row(row, new, logprobs[row : row + len(new)])

    def end(self) -> None:
        """Do nothing: the worker knows when and why `generate` ended, even if `generate` does not call this."""

    def end_row(self, row: int, step: int) -> None:
        """End a row with its token of this step (from 1), because a caller's stopping criterion demands it.

        The token may arrive later: transformers 5 calls the criteria before it puts.
        """
        self._last_steps.setdefault(row, step)

    def cut_row(self, row: int, count: int | None) -> None:
        """Limit a row to this many ids in total, since a step may have more than a grammar allows; None: no limit."""
        if count is None:
            self._cuts.pop(row, None)
        else:
            self._cuts[row] = count

    def is_done(self, row: int) -> bool:
        """Whether this row needs no more tokens."""
        return self._has_stopped(row) or row in self._last_steps or self._is_full(row)

    @property
    def has_output(self) -> bool:
        """Whether any token has arrived."""
        return any(self.token_ids)

    def finish_reason(self, row: int) -> str:
        """Return why this row ended: "length" at the request's own limit, else "stop"."""
        by_limit = row not in self._last_steps or self._is_full(row)
        return "length" if by_limit and not self._has_stopped(row) else "stop"

    def _has_stopped(self, row: int) -> bool:
        return self._ended_by_eos[row] or self.parsers[row].is_stopped

    def _is_full(self, row: int) -> bool:
        return self._limit is not None and len(self.token_ids[row]) >= self._limit

    def _put_row(self, row: int, ids: list[int], logprobs: Sequence[TokenLogprob]) -> None:
        if self._has_stopped(row) or self._step_count > self._last_steps.get(row, self._step_count):
            return
        end = next((at for at, id in enumerate(ids) if id in self._eos), None)
        if end is not None:
            self._ended_by_eos[row] = True
            ids = ids[: end + 1]
        if row in self._cuts:
            ids = ids[: max(0, self._cuts[row] - len(self.token_ids[row]))]
        now_s = self._note(row, ids, logprobs)
        gathered = self._gathered[row]
        if not gathered:
            self._gathered_since_s[row] = now_s
        gathered.extend(ids)
        waited_s = now_s - self._gathered_since_s[row]
        if len(gathered) >= self._flush_tokens or (self._flush_s and waited_s >= self._flush_s):
            self._flush_row(row)

    def flush(self) -> None:
        """Pass all gathered ids to the streamers; does nothing if the consumer has left."""
        for row in range(len(self.parsers)):
            with contextlib.suppress(ChannelCancelledError):
                self._flush_row(row)

    def _flush_row(self, row: int) -> None:
        ids, self._gathered[row] = self._gathered[row], []
        if ids:
            self.parsers[row].put(ids)


class _Part(Rows):
    """One answer of several."""

    def __init__(self, whole: Rows, row: int) -> None:
        recorder = None if whole.recorder is None else whole.recorder.fork()
        flush_ms = whole._flush_s * 1000
        super().__init__(
            [whole.parsers[row]], whole._eos, whole._limit, recorder, whole._flush_tokens, flush_ms
        )
        self.token_ids = whole.token_ids[row : row + 1]
        self._whole, self._row = whole, row

    def _note(self, row: int, ids: Sequence[int], logprobs: Sequence[TokenLogprob] = ()) -> float:  # noqa: ARG002
        return self._whole._note(self._row, ids, logprobs)
