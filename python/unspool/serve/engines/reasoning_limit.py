"""A limit for the reasoning of an engine's answers; at the limit, a second request continues after the reasoning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from unspool.serve.engines.engine import EngineRequest
from unspool.writing.grammar_result import Grammar

__all__ = ["ReasoningLimit"]


@dataclass(frozen=True)
class ReasoningLimit:
    """The maximum length of an answer's reasoning.

    Attributes:
        most: Maximum number of reasoning tokens.
        closer: The ids that end the reasoning.
        grammar_behind: Returns the grammar of an answer that continues these ids.
    """

    most: int
    closer: Sequence[int]
    grammar_behind: Callable[[Sequence[int]], Grammar | None]

    def go_on(self, request: EngineRequest, written: Sequence[int]) -> EngineRequest:
        """Return the request that continues an answer after its reasoning.

        Args:
            request: The first request of the answer.
            written: All ids of the answer so far, with the end of the reasoning.
        """
        behind = [*(request.prompt_ids or ()), *written]
        sampling = request.sampling
        return replace(
            request,
            prompt_ids=behind,
            prompt_text=None,
            sampling=sampling.replace(
                max_tokens=max(1, (sampling.max_tokens or 1) - len(written)),
                min_tokens=max(0, (sampling.min_tokens or 0) - len(written)) or None,
            ),
            grammar=self.grammar_behind(behind),
        )
