"""Runs chunks through a model, each with the cache of the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unspool.generation.prefill.cache import continuation_problem, make_cache
from unspool.generation.prefill.cache_name import output_cache
from unspool.generation.prefill.continuation import wants_embedded_text
from unspool.generation.prefill.forward import ONE_STEP

if TYPE_CHECKING:
    import torch

    from unspool.generation.prefill.forward import ForwardCaller

__all__ = ["ChunkRunner"]

# Exceptions of a model that does not accept its inputs. Others (out of memory) reach the caller.
_REFUSALS = (TypeError, ValueError, AttributeError, NotImplementedError)


class ChunkRunner:
    """The forwards of a prefill. After `problem` is set, no chunk runs.

    Attributes:
        problem: Why the prompt cannot run in chunks, or None.
        position: The number of tokens in the cache.
        run_count: The number of forwards that ran.
        is_touched: Whether a forward had the cache: it may have changed, even if the forward failed.
    """

    def __init__(
        self, model: Any, caller: ForwardCaller, *, cache: Any, position: int, limit: int | None
    ) -> None:
        self._model = model
        self._caller = caller
        self._limit = limit
        self._embeds_text = wants_embedded_text(model)
        self.cache = cache
        self.position = position
        self.run_count = 0
        self.is_touched = False
        self.problem: str | None = None

    def check_length(self, length: int) -> None:
        """Set the problem if a prompt of this many tokens is too long for chunks."""
        if self.problem is None and self._limit is not None and length > self._limit:
            self.problem = (
                f"the rotary frequencies of {type(self._model).__name__} change after {self._limit} tokens"
            )

    def run(
        self,
        ids: torch.Tensor,
        token_inputs: Mapping[str, torch.Tensor] | None = None,
        static_inputs: Mapping[str, Any] | None = None,
    ) -> None:
        """Run one forward over `ids` of shape (1, n), which follow the tokens in the cache."""
        import torch

        end = self.position + ids.shape[1]
        self.check_length(end)
        if self.problem is not None:
            return
        self.is_touched = True
        if self.run_count == 0 and self.cache is None:
            self.cache = make_cache(self._model)
        arguments: dict[str, Any] = {
            "input_ids": ids,
            # Covers the cache and this chunk, and is made for this forward only.
            "attention_mask": torch.ones((1, end), dtype=torch.long, device=ids.device),
            "cache": self.cache,
            "cache_position": torch.arange(self.position, end, device=ids.device),
            **ONE_STEP,
            **(token_inputs or {}),
            **(static_inputs or {}),
        }
        try:
            with torch.no_grad():
                if self._embeds_text and not static_inputs:
                    arguments["inputs_embeds"] = self._model.get_input_embeddings()(
                        arguments.pop("input_ids")
                    )
                output = self._caller(**arguments)
        except _REFUSALS as error:
            self.problem = f"the model refused a chunk: {type(error).__name__}: {error}"
            return
        self.run_count += 1
        self.position = end
        self.cache = output_cache(output)
        self.problem = continuation_problem(self.cache, end)
