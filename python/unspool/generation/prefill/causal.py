"""Runs a prompt through a causal model in chunks while it is tokenized."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError, ChannelCancelledError, PrefillError
from unspool.generation.prefill.cache import (
    cache_length,
    cache_problem,
    continuation_problem,
    make_cache,
    repeat_cache,
)
from unspool.generation.prefill.cache_name import output_cache
from unspool.generation.prefill.continuation import cannot_continue, chunk_limit, wants_embedded_text
from unspool.generation.prefill.forward import ONE_STEP, ForwardCaller
from unspool.generation.prefill.placeholders import (
    Chunk,
    Unit,
    find_units,
    join_static_inputs,
    placeholder_ids,
    plan_chunks,
)
from unspool.generation.prefill.prepared import PreparedPrompt
from unspool.generation.prefill.report import APPLIED, NOT_LONGER, PrefillReport
from unspool.generation.prefill.strategy import PrefillConfig, StrategyId, is_native
from unspool.generation.prompts.split_inputs import PromptInputs, split_inputs

if TYPE_CHECKING:
    import torch

__all__ = ["prefill_causal"]

NO_LANE = "no lane for this backend and model, or prefill is off"

# `generate` cuts inputs whose names end like this to the tokens that have not run.
_CUT_BY_GENERATE = ("token_type_ids", "position_ids")

# Exceptions with which a model rejects its inputs. Others (out of memory) reach the caller.
_REFUSALS = (TypeError, ValueError, AttributeError, NotImplementedError)


def prefill_causal(
    model: Any,
    pieces: Iterable[list[int]] = (),
    *,
    strategy: StrategyId | None,
    config: PrefillConfig | None = None,
    inputs: Mapping[str, Any] | None = None,
    cache: Any = None,
    generation_kwargs: Mapping[str, Any] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
    rows: int = 1,
) -> PreparedPrompt:
    """Run all chunks of a prompt except the last (1 to `chunk_tokens` tokens), which is left for the decoding.

    If the model cannot run a prompt in chunks, the whole prompt is left for it, and the report has the reason.
    The forwards run without gradients, in the caller's thread.

    Args:
        model: A causal language model: an object with `forward`.
        pieces: The prompt's ids, read piece by piece while chunks run; not used with `inputs`.
        strategy: The lane; None leaves the whole prompt.
        inputs: A processor's output: ids of shape (1, length) and the inputs that belong to them.
        cache: A cache of the first tokens of this prompt, which do not run again. The prompt still has all tokens.
            The cache is changed in place.
        generation_kwargs: The options of `model.generate`, some of which forbid chunks.
        is_cancelled: Called before each piece and each chunk.
        rows: The number of answers, for each of which the row of the cache is repeated.

    Raises:
        PrefillError: The prompt has no tokens, or `inputs` is not a mapping.
        ArgumentError: There is more than one row of ids, or the cache holds the whole prompt.
        ChannelCancelledError: The consumer has left.
    """
    prefill = _Prefill(model, strategy, (config or PrefillConfig()).chunk_tokens, cache, is_cancelled, rows)
    options, caller = generation_kwargs or {}, prefill.caller
    if inputs is None:
        prefill.refuse(cannot_continue(model, options, caller=caller))
        return prefill.read_pieces(pieces)
    prompt = split_inputs(inputs, prefill.device)
    has_static = bool(prompt.static_inputs)
    prefill.refuse(cannot_continue(model, options, caller=caller, has_static_inputs=has_static))
    prefill.refuse(_inputs_problem(caller, prompt, is_native(strategy)))
    return prefill.read_inputs(prompt)


def _inputs_problem(caller: ForwardCaller, prompt: PromptInputs, native: bool) -> str | None:
    if prompt.padding_mask is not None:
        return "the prompt is padded"
    for name, value in prompt.token_inputs.items():
        if not native and not name.endswith(_CUT_BY_GENERATE) and caller.takes(name):
            return f"generate cannot cut {name} to what a cache leaves"
        # Gemma 3 builds its mask from token types. Some versions expect those of the whole prompt, others those of the
        # chunk.
        named = caller.names is None or name in caller.names
        if prompt.static_inputs and name.endswith("token_type_ids") and named and bool(value.any()):
            return f"the model reads {name} beyond a chunk"
    return None


class _Prefill:
    """The forwards of one prompt. After a problem is set, no chunk runs."""

    def __init__(
        self,
        model: Any,
        strategy: StrategyId | None,
        chunk_tokens: int,
        cache: Any,
        is_cancelled: Callable[[], bool],
        rows: int,
    ) -> None:
        self.caller = ForwardCaller(model)
        self.device = getattr(model, "device", None)
        self._model, self._strategy, self._chunk_tokens = model, strategy, chunk_tokens
        self._is_cancelled, self._rows = is_cancelled, rows
        self._limit = chunk_limit(model)
        # Models that expand images inside forward accept only one id of text at a time.
        self._leaves_one = wants_embedded_text(model)
        self._given_cache = self._cache = cache
        length = 0 if cache is None else cache_length(cache)
        self._cached = self._position = length or 0
        self._run_count = 0
        self._is_touched = False  # whether a forward, even a failed one, may have changed the cache
        self._problem: str | None = None
        if strategy is None:
            self.refuse(NO_LANE)
        elif length is None:
            self.refuse("the cache given does not show its length")
        elif cache is not None:
            self.refuse(cache_problem(cache))

    def refuse(self, problem: str | None) -> None:
        """Record a problem, unless there is one already."""
        self._problem = self._problem or problem

    def read_pieces(self, pieces: Iterable[list[int]]) -> PreparedPrompt:
        """Run a prompt of text, piece by piece."""
        import torch

        buffer: deque[int] = deque()
        taken: list[torch.Tensor] = []
        position = peak = 0

        def take(count: int) -> torch.Tensor:
            ids = [buffer.popleft() for _ in range(count)]
            taken.append(torch.tensor([ids], dtype=torch.long, device=self.device))
            return taken[-1]

        for piece in pieces:
            self._check_cancelled()
            buffer.extend(piece)
            peak = max(peak, len(buffer))
            while len(buffer) > self._chunk_tokens:
                skipped = min(self._chunk_tokens, max(self._cached - position, 0))
                ids = take(skipped or self._chunk_tokens)
                position += ids.shape[1]
                if not skipped:
                    self._run(ids)
        total = position + len(buffer)
        self._check_total(total)
        if buffer:
            rest = take(len(buffer))
            if self._leaves_one and self._run_count and rest.shape[1] > 1:
                self._run(rest[:, :-1])
        self._check_length(total)
        return self._finish(torch.cat(taken, dim=1), peak=peak)

    def read_inputs(self, prompt: PromptInputs) -> PreparedPrompt:
        """Run a prompt that a processor made; its units are not cut."""
        total = prompt.input_ids.shape[1]
        self._check_total(total)
        self._check_length(total)
        # unspool's own loop may run pixels with a cache; `generate` does not accept both together.
        keeps = is_native(self._strategy) and not self._leaves_one
        units = self._units(prompt)
        must_run = bool(units) and self._cached > 0 and not keeps
        left: list[Unit] = units
        if self._problem is None and (total - self._cached > self._chunk_tokens or must_run):
            chunks = plan_chunks(total, units, self._chunk_tokens, begin=self._cached)
            chunks = self._leave_rest(chunks, units, keeps)
            for chunk in chunks:
                self._run(
                    prompt.input_ids[:, chunk.begin : chunk.end],
                    {name: value[:, chunk.begin : chunk.end] for name, value in prompt.token_inputs.items()},
                    chunk.static_inputs,
                )
            left = [unit for unit in units if unit.begin >= self._position]
        static_inputs = join_static_inputs([unit.static_inputs for unit in left])
        return self._finish(prompt.input_ids, prompt=prompt, static_inputs=static_inputs)

    def _units(self, prompt: PromptInputs) -> list[Unit]:
        """Return the units that are not in the given cache."""
        if not prompt.static_inputs:
            return []
        units = find_units(prompt.input_ids, placeholder_ids(self._model), prompt.static_inputs)
        if units is None:
            self.refuse("no placeholder of the images or sounds is found in the prompt")
            return []
        if any(unit.begin < self._cached < unit.end for unit in units):
            self.refuse("the cache given ends inside an image or sound")
        return [unit for unit in units if unit.begin >= self._cached]

    def _leave_rest(self, chunks: list[Chunk], units: list[Unit], keeps: bool) -> list[Chunk]:
        """Return the chunks to run now. The part of the last one that the decoding can run is left for it."""
        *run, last = chunks
        end = last.begin
        if not keeps and last.static_inputs:
            end = max(unit.end for unit in units)
            if end == last.end:
                self.refuse("the prompt's last token belongs to an image or sound")
                return []
        if self._leaves_one:
            end = last.end - 1
        if end > last.begin:
            run.append(Chunk(last.begin, end, last.static_inputs))
        return run

    def _check_length(self, length: int) -> None:
        if self._limit is not None and length > self._limit:
            name = type(self._model).__name__
            self.refuse(f"the rotary frequencies of {name} change after {self._limit} tokens")

    def _run(
        self,
        ids: torch.Tensor,
        token_inputs: Mapping[str, torch.Tensor] = MappingProxyType({}),
        static_inputs: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Run one forward over `ids` of shape (1, n), which follow the tokens in the cache."""
        import torch

        self._check_cancelled()
        end = self._position + ids.shape[1]
        self._check_length(end)
        if self._problem is not None:
            return
        self._is_touched = True
        if self._run_count == 0 and self._cache is None:
            self._cache = make_cache(self._model)
        arguments: dict[str, Any] = {
            "input_ids": ids,
            # The mask covers the cache and this chunk, and is made for this forward only.
            "attention_mask": torch.ones((1, end), dtype=torch.long, device=ids.device),
            "cache": self._cache,
            "cache_position": torch.arange(self._position, end, device=ids.device),
            **ONE_STEP,
            **token_inputs,
            **static_inputs,
        }
        try:
            with torch.no_grad():
                if self._leaves_one and not static_inputs:
                    embed = self._model.get_input_embeddings()
                    arguments["inputs_embeds"] = embed(arguments.pop("input_ids"))
                output = self.caller(**arguments)
        except _REFUSALS as error:
            self.refuse(f"the model refused a chunk: {type(error).__name__}: {error}")
            return
        self._run_count += 1
        self._position = end
        self._cache = output_cache(output)
        self.refuse(continuation_problem(self._cache, end))

    def _check_cancelled(self) -> None:
        if self._is_cancelled():
            raise ChannelCancelledError("the consumer has left while the prompt was read")

    def _check_total(self, total: int) -> None:
        if total == 0:
            raise PrefillError(f"{self._strategy or 'prefill'}: the prompt has no tokens; pass some text")
        if self._cached >= total:
            raise ArgumentError(
                f"the cache holds {self._cached} tokens and the prompt has {total}; "
                "pass the whole prompt, with at least one token more"
            )

    def _finish(
        self,
        ids: torch.Tensor,
        *,
        prompt: PromptInputs | None = None,
        static_inputs: dict[str, Any] | None = None,
        peak: int = 0,
    ) -> PreparedPrompt:
        import torch

        prompt = prompt or PromptInputs(ids, {}, {})
        cache, prefilled = self._cache, self._position
        if self._problem is None and cache is not None:
            cache = repeat_cache(cache, self._rows)
            if cache is None:
                self.refuse(f"the cache cannot be repeated for {self._rows} answers")
        if self._problem is not None:
            # The caller's cache is still valid if nothing ran, unless the prompt has pixels.
            keeps_given = not self._is_touched and self._rows == 1 and not prompt.static_inputs
            cache, prefilled = (self._given_cache, self._cached) if keeps_given else (None, 0)
            static_inputs = prompt.static_inputs
        eligible = self._problem is None
        applied = eligible and self._run_count > 0
        reason = self._problem or (APPLIED if applied else NOT_LONGER)
        return PreparedPrompt(
            token_count=int(ids.shape[1]),
            prefilled=prefilled,
            input_ids=ids,
            attention_mask=torch.ones_like(ids) if prompt.padding_mask is None else prompt.padding_mask,
            cache=cache,
            scope=PrefillReport(self._strategy, eligible, applied, reason),
            token_inputs=prompt.token_inputs,
            static_inputs=static_inputs or {},
            rows=self._rows,
            peak_buffered_count=peak,
        )
