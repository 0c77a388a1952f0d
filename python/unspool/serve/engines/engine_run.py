"""Sends the requests of one generation to an engine and feeds the ids to parsers, as a task of an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from unspool._core import Vocabulary
from unspool.errors import ArgumentError, EngineError
from unspool.generation.answers import Answers
from unspool.generation.logprobs import TokenLogprob
from unspool.generation.model_run import ModelRun
from unspool.generation.sampling_params import SamplingParams
from unspool.generation.stream_result import Usage
from unspool.serve.engines.engine import Engine, EngineLogprob, EngineOutput, EngineRequest
from unspool.serve.engines.left_out_ids import LeftOutIds
from unspool.serve.engines.reasoning_limit import ReasoningLimit

__all__ = ["EngineRun"]

# Number of deltas that may wait for a slow client; at this number, reading from the engine pauses.
_MOST_WAITING = 512


@dataclass(kw_only=True)
class EngineRun(ModelRun[Answers]):
    """The requests to an engine, one for each answer.

    Attributes:
        vocabulary: Has the bytes of each token, which log-probabilities include.
        limit: The limit of the reasoning; None: no limit.
        left_out: Finds the ids that the engine leaves out.
    """

    no_prefill_reason = "the engine reads the prompt"

    engine: Engine
    requests: Sequence[EngineRequest]
    loop: asyncio.AbstractEventLoop
    vocabulary: Vocabulary | None = None
    limit: ReasoningLimit | None = None
    left_out: LeftOutIds | None = None
    _thought: dict[int, int] = field(default_factory=dict)  # number of reasoning tokens by answer
    _told_tokens: dict[int, int] = field(default_factory=dict)
    _has_room: asyncio.Event | None = None

    async def work(self) -> None:
        """Run the requests; the job of a `TaskWorker`."""
        with self.running():
            if len(self.requests) == 1:
                await self._answer(0)
                return
            tasks = [asyncio.ensure_future(self._answer(row)) for row in range(len(self.requests))]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()

    async def _answer(self, row: int) -> None:
        request: EngineRequest | None = self.requests[row]
        if self._is_spent(row):
            request = self._closed(row)
        while request is not None:
            request = await self._read(row, request)

    async def _read(self, row: int, request: EngineRequest) -> EngineRequest | None:
        """Read one request's outputs; at the reasoning limit, return the request that continues the answer."""
        finish_reason: str | None = None
        parser = self.answers.parsers[row]
        try:
            async with contextlib.aclosing(self.engine.generate(request)) as outputs:
                async for output in outputs:
                    self._complete(output)
                    is_cut = self._cut(row, output, request.sampling)
                    self._count(row, output)
                    if self.limit is None:
                        self._put(row, output, request.wants_text)
                    elif self._put_limited(row, output):
                        return self._closed(row)
                    finish_reason = output.finish_reason or finish_reason
                    if parser.is_stopped:
                        finish_reason = "stop"
                    if parser.is_stopped or is_cut:
                        break  # otherwise read on: the engine's counts come last
                    if len(self.channel) >= _MOST_WAITING:
                        await self._wait_for_room()
        except EngineError:
            if finish_reason is None:
                raise
        if finish_reason is None:
            raise EngineError("the engine ended the answer without saying why")
        self.answers.finish(row, finish_reason)
        return None

    def _cut(self, row: int, output: EngineOutput, sampling: SamplingParams) -> bool:
        """Cut off ids after an end id or the token limit, if the engine does not; return whether the answer ends."""
        ids, ends = output.token_ids, sampling.stop_token_ids
        most = len(ids) if sampling.max_tokens is None else self._left(row)
        if most >= len(ids) and not ends:
            return False
        reason = output.finish_reason if most >= len(ids) else "length"
        if (end := next((at for at, id in enumerate(ids[:most]) if id in ends), None)) is not None:
            most, reason = end + 1, "stop"
        output.token_ids, output.logprobs, output.finish_reason = ids[:most], output.logprobs[:most], reason
        return most < len(ids) or reason == "stop"

    def _left(self, row: int) -> int:
        """The number of ids that an answer may still have."""
        return (self.requests[row].sampling.max_tokens or 0) - len(self.answers.token_ids[row])

    def _count(self, row: int, output: EngineOutput) -> None:
        if output.prompt_tokens is not None and not self.prompt_tokens:
            self.prompt_tokens = output.prompt_tokens
        if output.cached_tokens is not None and row == 0 and self.cached_tokens is None:
            self.cached_tokens = output.cached_tokens
        if output.completion_tokens is not None:
            self._told_tokens[row] = output.completion_tokens

    def _complete(self, output: EngineOutput) -> None:
        """Add the ids that the engine has left out. Their log-probabilities are unknown."""
        if not output.left_out_count or self.left_out is None:
            return
        found = self.left_out.find(output.text, output.token_ids, output.left_out_count)
        output.token_ids = [*found, *output.token_ids]
        if output.logprobs:
            output.logprobs = [*((-math.inf, ()) for _ in found), *output.logprobs]

    def _put(self, row: int, output: EngineOutput, wants_text: bool) -> None:
        try:
            if wants_text:
                if output.text:
                    self.answers.put_text(row, output.text)
            elif output.token_ids:
                self.answers.put_ids(row, output.token_ids, self._logprobs(output))
        except (ArgumentError, OverflowError) as error:  # an invalid id
            raise EngineError(f"the engine sends what is no answer: {error}") from None

    def _put_limited(self, row: int, output: EngineOutput) -> bool:
        """Feed one id at a time to the parser; returns whether the reasoning has reached its limit."""
        parser = self.answers.parsers[row]
        logprobs = self._logprobs(output)
        for index, id in enumerate(output.token_ids):
            self._thought[row] = self._thought.get(row, 0) + (parser.region == "reasoning")
            self.answers.put_ids(row, [id], logprobs[index : index + 1])
            if self._is_spent(row):
                return True
        return False

    def _is_spent(self, row: int) -> bool:
        return (
            self.limit is not None
            and self.answers.parsers[row].region == "reasoning"
            and self._thought.get(row, 0) >= self.limit.most
        )

    def _closed(self, row: int) -> EngineRequest | None:
        """End the reasoning and return the request that continues after it; None: the token limit leaves no room."""
        assert self.limit is not None
        self.answers.put_ids(row, self.limit.closer)
        if self._left(row) <= 0:
            self.answers.finish(row, "length")
            return None
        return self.limit.go_on(self.requests[row], self.answers.token_ids[row])

    def _logprobs(self, output: EngineOutput) -> list[TokenLogprob]:
        if self.answers.logprobs is None:
            return []
        if len(output.logprobs) != len(output.token_ids):
            raise EngineError("the engine gives no log-probability for each token")
        return [self._logprob(id, found) for id, found in zip(output.token_ids, output.logprobs, strict=True)]

    def _logprob(self, id: int, found: EngineLogprob) -> TokenLogprob:
        assert self.vocabulary is not None
        bytes_of = self.vocabulary.token_bytes
        top = tuple(TokenLogprob(rival, bytes_of(rival), value) for rival, value in found[1])
        return TokenLogprob(id, bytes_of(id), found[0], top)

    async def _wait_for_room(self) -> None:
        """Wait until the client has received some of the deltas; meanwhile the engine's connection fills up."""
        while len(self.channel) >= _MOST_WAITING:
            self._has_room = has_room = self._has_room or asyncio.Event()  # shared by all answers
            if len(self.channel) < _MOST_WAITING:
                break  # deltas were taken before the event existed
            await has_room.wait()

    def taken(self) -> None:
        """Resume reading: the consumer has taken deltas."""
        has_room, self._has_room = self._has_room, None
        if has_room is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(has_room.set)

    @property
    def usage(self) -> Usage:
        """The token counts so far."""
        count = sum(
            max(len(ids), self._told_tokens.get(row, 0)) for row, ids in enumerate(self.answers.token_ids)
        )
        return Usage(self.prompt_tokens, count, self.cached_tokens)

    def prompt_of(self, row: int) -> str | Sequence[int]:
        """The prompt of an answer."""
        request = self.requests[row]
        return request.prompt_ids if request.prompt_ids is not None else request.prompt_text or ""
