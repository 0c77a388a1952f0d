"""Runs a prompt through a causal model in chunks while it is tokenized."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError, ChannelCancelledError, PrefillError
from unspool.generation.prefill.cache import cache_length, cache_problem, repeat_cache
from unspool.generation.prefill.chunk_runner import ChunkRunner
from unspool.generation.prefill.config import PrefillConfig
from unspool.generation.prefill.continuation import cannot_continue, chunk_limit, wants_embedded_text
from unspool.generation.prefill.forward import ForwardCaller
from unspool.generation.prefill.placeholders import (
    Chunk,
    PromptInputs,
    Unit,
    find_units,
    join_static_inputs,
    placeholder_ids,
    plan_chunks,
    split_inputs,
)
from unspool.generation.prefill.prepared import PreparedPrefill
from unspool.generation.prefill.report import PrefillReport
from unspool.generation.prefill.strategy import StrategyId, is_native
from unspool.prompt_pieces.token_buffer import TokenBuffer

if TYPE_CHECKING:
    import torch

__all__ = ["prefill_causal"]

APPLIED = "prompt length exceeds the chunk"
NOT_LONGER = "prompt length does not exceed the chunk"
NO_LANE = "no lane for this backend and model, or prefill is off"

# `generate` cuts inputs with these endings to the tokens that are left.
_CUT_BY_GENERATE = ("token_type_ids", "position_ids")


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
    keeps_static_inputs: bool | None = None,
    rows: int = 1,
) -> PreparedPrefill:
    """Run all chunks of a prompt but the last, which is left for the decoding.

    If the model cannot run a prompt in chunks, the whole prompt is left, and the report has the reason.
    The forwards run without gradients, in the caller's thread.

    Args:
        model: A causal language model: an object with `forward`.
        pieces: The prompt's ids, drawn one piece after the other while chunks run; not used with `inputs`.
        strategy: The lane, for the report; None leaves the whole prompt.
        config: `chunk_tokens` is read from here.
        inputs: A processor's output: ids of shape (1, length) and the inputs that belong to them.
        cache: A cache of the first tokens of this prompt, which do not run again. The prompt still
            has all tokens. The cache is changed in place.
        generation_kwargs: The options of `model.generate`: some forbid chunks.
        is_cancelled: Called before each piece and each chunk.
        keeps_static_inputs: Whether the first forward of the decoding accepts pixels together with a cache.
            Our own loop can (the default on native lanes); `model.generate` cannot.
        rows: The number of answers: the row of the cache is repeated.

    Returns:
        The prompt with the cache; 1 to `chunk_tokens` of its tokens are left to run.

    Raises:
        PrefillError: The prompt has no tokens, or `inputs` is no mapping.
        ArgumentError: More than one row of ids, or a cache that holds the whole prompt.
        ChannelCancelledError: The consumer has left.
    """
    caller = ForwardCaller(model)
    prefill = _Prefill(
        model,
        caller,
        strategy=strategy,
        chunk_tokens=(config or PrefillConfig()).chunk_tokens,
        cache=cache,
        is_cancelled=is_cancelled,
        rows=rows,
    )
    kwargs = generation_kwargs or {}
    if inputs is None:
        prefill.refuse(cannot_continue(model, kwargs, caller=caller))
        return prefill.read_pieces(pieces)
    keeps = is_native(strategy) if keeps_static_inputs is None else keeps_static_inputs
    prompt = split_inputs(inputs, prefill.device)
    has_static = bool(prompt.static_inputs)
    prefill.refuse(cannot_continue(model, kwargs, caller=caller, has_static_inputs=has_static))
    prefill.refuse(_inputs_problem(caller, prompt, is_native(strategy)))
    return prefill.read_inputs(prompt, keeps_static_inputs=keeps)


def _inputs_problem(caller: ForwardCaller, prompt: PromptInputs, native: bool) -> str | None:
    if prompt.padding_mask is not None:
        return "the prompt is padded"
    for name, value in prompt.token_inputs.items():
        if not native and not name.endswith(_CUT_BY_GENERATE) and caller.takes(name):
            return f"generate cannot cut {name} to what a cache leaves"
        # Gemma 3 builds its mask from these. Some versions use positions in the whole prompt, others in the
        # chunk.
        named = caller.names is None or name in caller.names
        if prompt.static_inputs and name.endswith("token_type_ids") and named and bool(value.any()):
            return f"the model reads {name} beyond a chunk"
    return None


class _Prefill:
    def __init__(
        self,
        model: Any,
        caller: ForwardCaller,
        *,
        strategy: StrategyId | None,
        chunk_tokens: int,
        cache: Any,
        is_cancelled: Callable[[], bool],
        rows: int,
    ) -> None:
        self._model = model
        self._strategy = strategy
        self._chunk_tokens = chunk_tokens
        self._given_cache = cache
        self._is_cancelled = is_cancelled
        self._rows = rows
        self.device = getattr(model, "device", None)
        # Models that expand images inside forward accept only one id of text at a time.
        self._leaves_one = wants_embedded_text(model)
        length = 0 if cache is None else cache_length(cache)
        self._cached = length or 0
        self._runner = ChunkRunner(
            model, caller, cache=cache, position=self._cached, limit=chunk_limit(model)
        )
        if strategy is None:
            self.refuse(NO_LANE)
        elif length is None:
            self.refuse("the cache given does not show its length")
        elif cache is not None:
            self.refuse(cache_problem(cache))

    def refuse(self, problem: str | None) -> None:
        """Keep the first problem; then no chunk runs."""
        self._runner.problem = self._runner.problem or problem

    def read_pieces(self, pieces: Iterable[list[int]]) -> PreparedPrefill:
        """Run a prompt of text, piece by piece."""
        import torch

        buffer = TokenBuffer()
        taken: list[torch.Tensor] = []
        position = 0

        def take(count: int) -> torch.Tensor:
            taken.append(torch.tensor([buffer.pop(count)], dtype=torch.long, device=self.device))
            return taken[-1]

        for piece in pieces:
            self._check_cancelled()
            buffer.put(piece)
            while len(buffer) > self._chunk_tokens:
                skipped = min(self._chunk_tokens, max(self._cached - position, 0))
                ids = take(skipped or self._chunk_tokens)
                position += ids.shape[1]
                if not skipped:
                    self._run(ids)
        total = position + len(buffer)
        self._check_total(total)
        if len(buffer):
            rest = take(len(buffer))
            if self._leaves_one and self._runner.run_count and rest.shape[1] > 1:
                self._run(rest[:, :-1])
        self._runner.check_length(total)
        return self._finish(torch.cat(taken, dim=1), peak=buffer.peak)

    def read_inputs(self, prompt: PromptInputs, *, keeps_static_inputs: bool) -> PreparedPrefill:
        """Run a prompt of a processor's ids; its units are not cut."""
        total = prompt.input_ids.shape[1]
        self._check_total(total)
        self._runner.check_length(total)
        keeps = keeps_static_inputs and not self._leaves_one
        units = self._units(prompt)
        # `generate` does not accept a cache together with pixels.
        must_run = bool(units) and self._cached > 0 and not keeps
        left: list[Unit] = units
        if self._runner.problem is None and (total - self._cached > self._chunk_tokens or must_run):
            chunks = plan_chunks(total, units, self._chunk_tokens, begin=self._cached)
            chunks = self._leave_rest(chunks, units, keeps)
            for chunk in chunks:
                self._run(
                    prompt.input_ids[:, chunk.begin : chunk.end],
                    {name: value[:, chunk.begin : chunk.end] for name, value in prompt.token_inputs.items()},
                    chunk.static_inputs,
                )
            left = [unit for unit in units if unit.begin >= self._runner.position]
        static_inputs = join_static_inputs([unit.static_inputs for unit in left])
        return self._finish(prompt.input_ids, prompt=prompt, static_inputs=static_inputs)

    def _units(self, prompt: PromptInputs) -> list[Unit]:
        """The units that are not in the given cache."""
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
        """The chunks that run now. Of the last, the part that the decoding can run is left."""
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

    def _run(
        self,
        ids: torch.Tensor,
        token_inputs: Mapping[str, torch.Tensor] | None = None,
        static_inputs: Mapping[str, Any] | None = None,
    ) -> None:
        self._check_cancelled()
        self._runner.run(ids, token_inputs, static_inputs)

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
    ) -> PreparedPrefill:
        import torch

        runner = self._runner
        cache, prefilled = runner.cache, runner.position
        if runner.problem is None and cache is not None:
            cache = repeat_cache(cache, self._rows)
            if cache is None:
                self.refuse(f"the cache cannot be repeated for {self._rows} answers")
        if runner.problem is not None:
            # The caller's cache is still valid if nothing ran, unless pixels go with the prompt.
            keeps_given = not runner.is_touched and self._rows == 1 and not (prompt and prompt.static_inputs)
            cache = self._given_cache if keeps_given else None
            prefilled = self._cached if keeps_given else 0
            static_inputs = prompt.static_inputs if prompt else None
        eligible = runner.problem is None
        applied = eligible and runner.run_count > 0
        reason = runner.problem or (APPLIED if applied else NOT_LONGER)
        padding_mask = prompt.padding_mask if prompt else None
        return PreparedPrefill(
            input_ids=ids,
            attention_mask=torch.ones_like(ids) if padding_mask is None else padding_mask,
            cache=cache,
            prefilled=prefilled,
            scope=PrefillReport(
                self._strategy, runtime_eligible=eligible, applied=applied, activation_reason=reason
            ),
            token_inputs=dict(prompt.token_inputs) if prompt else {},
            static_inputs=dict(static_inputs or {}),
            peak_buffered_count=peak,
        )
