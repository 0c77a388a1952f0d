"""Checks that forks, restored streams and rolled-back streams behave like fresh streams with the same
input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool._core import Delta
from unspool.core.stream.message import Message
from unspool.streams.parser import Parser

__all__ = ["ForkLaw", "RollbackLaw"]

#: Text as bytes, or a list of arguments for `put`.
Input = Any
#: The results of a stream from a point on: its deltas, what it holds before the end, and the message.
Said = tuple[list[Delta], Any, Message]


@dataclass
class ForkLaw:
    """Checks forks and snapshots at several points of one output.

    Args:
        make: Creates a fresh stream.
        put: Feeds a stream some of the input.
        output: The stream's input.
        other: Another input for the rest.

    Attributes:
        count: The number of continuations that were compared with a fresh stream's.
    """

    make: Callable[[], Parser]
    put: Callable[[Parser, Input], list[Delta]]
    output: Input
    other: Input
    finish_reason: str = "stop"
    count: int = field(default=0, init=False)

    def check(self, places: Iterable[int]) -> None:
        """Fork at each place: one fork gets the other input, a fork of it the rest, and the stream
        continues."""
        stream = self.make()
        fed: list[Input] = []
        place = 0
        for cut in sorted({*places, len(self.output)}):
            piece, place, rest = self.output[place:cut], cut, self.output[cut:]
            self.put(stream, piece)
            fed.append(piece)
            fork = stream.fork()
            twin = fork.fork()
            assert twin.held == fork.held == stream.held
            assert self._go_on(fork, self.other) == self._fresh(fed, self.other), place
            del fork
            assert self._go_on(twin, rest) == self._fresh(fed, rest), place
            self.count += 2
        nothing = self.output[:0]
        assert self._go_on(stream, nothing) == self._fresh(fed, nothing)

    def check_snapshots(self, places: Iterable[int]) -> None:
        """Take a snapshot at each place: one restored stream gets the other input, another one the rest."""
        stream = self.make()
        fed: list[Input] = []
        place = 0
        for cut in sorted({*places, len(self.output)}):
            fed.append(self.output[place:cut])
            self.put(stream, fed[-1])
            place = cut
            state = stream._state()
            for rest in (self.other, self.output[cut:]):
                restored = self.make()
                restored._restore_state(state)
                assert restored._state() == state, place
                assert restored.held == stream.held
                assert self._go_on(restored, rest) == self._fresh(fed, rest), place
                self.count += 1

    def _fresh(self, fed: Iterable[Input], rest: Input) -> Said:
        stream = self.make()
        for piece in fed:
            self.put(stream, piece)
        return self._go_on(stream, rest)

    def _go_on(self, stream: Parser, rest: Input) -> Said:
        half = len(rest) // 2
        deltas = [*self.put(stream, rest[:half]), *self.put(stream, rest[half:])]
        held = stream.held
        return deltas, held, stream.finish(self.finish_reason)


@dataclass
class RollbackLaw:
    """Checks rollbacks in one output.

    Args:
        make: Creates a fresh stream with a `rollback_window`.
        counts: How many ids to undo, used in turn.
        ids: The stream's input.
        others: The input after a rollback.

    Attributes:
        count: The number of rollbacks that were compared with a fresh stream.
    """

    make: Callable[[], Parser]
    counts: Sequence[int]
    ids: list[int]
    others: list[int]
    finish_reason: str = "stop"
    count: int = field(default=0, init=False)

    def check(self, sizes: Sequence[int]) -> None:
        """Undo ids after each put; the puts have these sizes, repeatedly."""
        stream = self.make()
        puts: list[list[int]] = []
        told: list[list[Delta]] = []
        place = 0
        while place < len(self.ids):
            end = place + sizes[len(puts) % len(sizes)]
            puts.append(self.ids[place:end])
            told.append(stream.put(puts[-1]))
            place = end
            for count in self.counts:
                if count <= min(place, len(self.ids)):
                    self._check_one(stream.fork(), puts, told, count)

    def _check_one(self, stream: Parser, puts: list[list[int]], told: list[list[Delta]], count: int) -> None:
        self.count += 1
        retold = stream.rollback(count)
        puts, told = list(puts), list(told)
        while count > 0:
            put = puts.pop()
            told.pop()
            if count < len(put):
                puts.append(put[:-count])
                told.append(retold)
                retold = []
            count -= len(put)
        assert retold == []
        fresh = self.make()
        assert told == [fresh.put(put) for put in puts]
        assert stream.held == fresh.held
        assert stream.message == fresh.message
        said = [self._go_on(one) for one in (stream, fresh)]
        assert said[0] == said[1], (puts, self.others)

    def _go_on(self, stream: Parser) -> tuple[list[Delta], Message]:
        """Put other ids; the last one is put, undone and put again."""
        *most, last = self.others
        deltas = stream.put(most)
        once = stream.put(last)
        assert stream.rollback(1) == []
        again = stream.put(last)
        assert again == once
        return [*deltas, *again], stream.finish(self.finish_reason)
