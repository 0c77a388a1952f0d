"""Several engines with the same model: chooses which one answers, and asks another if it fails."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, Sequence

from unspool.errors import EngineError
from unspool.serve.engines.engine import Engine, EngineOutput, EngineRequest

__all__ = ["Replicas"]

# Seconds to wait before each round over the engines.
_PAUSES_S = (0.0, 0.2)


class Replicas(Engine):
    """One or more engines that act as one.

    A conversation stays with the replica that has its beginning in the cache, as long as that replica answers. If a
    replica fails before an answer's first token, the next one is asked. If all fail, all are asked once more.

    Args:
        engines: One or more engines.
    """

    def __init__(self, engines: Sequence[Engine]) -> None:
        first = engines[0]
        self.engines = engines
        self.grammar_syntax, self.gives_ids = first.grammar_syntax, first.gives_ids
        self.leaves_out_ids = first.leaves_out_ids
        lengths = [engine.context_length for engine in engines if engine.context_length is not None]
        self.context_length = min(lengths, default=None)
        self.model_name, self.label = first.model_name, first.label
        self._is_down = [False] * len(engines)

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:
        """As in `Engine`."""
        problem: EngineError | None = None
        for pause_s in _PAUSES_S:
            await asyncio.sleep(pause_s)
            for place in self._order(request.session):
                has_begun = False
                try:
                    async with contextlib.aclosing(self.engines[place].generate(request)) as outputs:
                        async for output in outputs:
                            has_begun = has_begun or bool(
                                output.token_ids or output.text or output.finish_reason
                            )
                            yield output
                    if has_begun:
                        return
                    problem = EngineError("the engine ended the answer before its first token")
                except EngineError as error:
                    if has_begun or not error.is_retryable:
                        raise
                    problem = error
        assert problem is not None
        raise problem

    def _order(self, session: str) -> list[int]:
        """Return the replicas' indices in the order in which to ask them; it depends on the conversation."""
        places = range(len(self.engines))
        return sorted(places, key=lambda place: (self._is_down[place], _hash(f"{session} {place}")))

    async def check_ready(self) -> None:
        """Raise EngineError if none of them can answer."""
        found = await asyncio.gather(*map(_problem, self.engines))
        self._is_down = [problem is not None for problem in found]
        if all(self._is_down):
            raise next(problem for problem in found if problem is not None)

    def tokenize(self, text: str, add_special_tokens: bool) -> list[int] | None:
        """Encode a text with the first replica that answers."""
        problem: EngineError | None = None
        for place in self._order(""):
            try:
                return self.engines[place].tokenize(text, add_special_tokens)
            except EngineError as error:
                problem = error
        assert problem is not None
        raise problem

    async def aclose(self) -> None:
        """As in `Engine`."""
        for engine in self.engines:
            await engine.aclose()

    def __str__(self) -> str:
        return ", ".join(map(str, self.engines))


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


async def _problem(engine: Engine) -> EngineError | None:
    try:
        await engine.check_ready()
    except EngineError as error:
        return error
    return None
