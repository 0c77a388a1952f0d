"""A generation with a local model: the job of its worker, and its result so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unspool.generation.backends.native_backend import NotContinuable, generate_natively
from unspool.generation.backends.transformers_backend import generate_with_transformers
from unspool.generation.hooks import conditioned
from unspool.generation.model_run import ModelRun
from unspool.generation.prefill.context_limit import fit_context
from unspool.generation.prefill.prepare import prepare_prompt
from unspool.generation.prompts.prompt import Prompt, read_prompt
from unspool.generation.rows import Rows

if TYPE_CHECKING:
    from unspool.generation.backends.batched_backend import ModelBatch
    from unspool.generation.hooks import ConditioningHook
    from unspool.generation.prefill.prepared import PreparedPrompt
    from unspool.generation.prefill.report import PrefillReport
    from unspool.generation.prefill.strategy import PrefillConfig, StrategyId
    from unspool.generation.prompts.prompt_encoder import PromptEncoder
    from unspool.generation.settings import GenerationSettings

__all__ = ["GenerationRun"]


@dataclass(kw_only=True)
class GenerationRun(ModelRun[Rows]):
    """The job of a worker, and its state."""

    model: Any
    backend: str
    encoder: PromptEncoder
    strategy: StrategyId | None
    prefill: PrefillConfig
    read_prompt: Callable[[], Prompt]
    settings: GenerationSettings
    #: Returns the settings with the processors that enforce a grammar or a budget on these answers.
    constrain: Callable[[Rows, GenerationSettings], GenerationSettings]
    batch: ModelBatch | None
    hook: ConditioningHook | None
    #: Maximum number of ids in the prompt and its answer together; None: not checked.
    positions: int | None = None
    prepared: PreparedPrompt | None = None
    _parts: Sequence[Rows] = ()

    def __post_init__(self) -> None:
        self._parts = [self.answers]

    def work(self) -> None:
        """Generate; the job of the `GenerationWorker`."""
        with self.running():
            try:
                self._generate()
            finally:
                for part in self._parts:
                    part.flush()
            reasons = [part.finish_reason(row) for part in self._parts for row in range(len(part.parsers))]
            for row, reason in enumerate(reasons):
                self.answers.finish(row, reason)

    def _generate(self) -> None:
        prompt = self.read_prompt()
        inputs = self.encoder.whole(prompt) if self.hook is not None else {}
        with conditioned(self.hook, self.model, inputs, self._is_cancelled) as changed:
            if self.hook is not None:
                prompt = read_prompt(None, changed)
            self._run_model(prompt)

    def _run_model(self, prompt: Prompt) -> None:
        """Prefill and decode."""
        if self.positions is not None:
            prompt, self.settings = fit_context(
                prompt, self.settings, self.encoder, self.positions, self._is_cancelled
            )
        prepared = prepare_prompt(
            self.model,
            prompt,
            self.encoder,
            self.settings,
            strategy=self.strategy,
            config=self.prefill,
            is_conditioned=self.hook is not None,
            is_cancelled=self._is_cancelled,
        )
        self.prepared, self.prompt_tokens = prepared, prepared.token_count
        self.answers.put_prompt(prepared.prompt_ids)
        if self.batch is not None:
            self._parts = self.answers.split()
            answers = [(part, self._settings_of(part, row)) for row, part in enumerate(self._parts)]
            self.cached_tokens = self.batch.run(prepared, answers, self._is_cancelled)
            return
        settings = self.constrain(self.answers, self.settings)
        rest = (prepared, self.answers, settings, self._is_cancelled)
        if self.backend == "native" and prepared.runs_natively:
            try:
                generate_natively(self.model, *rest)
                return
            except NotContinuable as problem:
                self.prepared = prepared.refused(str(problem))
        output = generate_with_transformers(self.model, *rest)
        metadata = getattr(output, "metadata", None)
        if isinstance(metadata, Mapping):  # metadata from a model that runs the prompt itself
            self.metadata = metadata

    def _settings_of(self, part: Rows, row: int) -> GenerationSettings:
        seed = self.settings.sampling.seed
        return self.constrain(
            part, self.settings if seed is None else self.settings.with_seed((seed + row) % 2**64)
        )

    def _is_cancelled(self) -> bool:
        return self.channel.is_cancelled

    @property
    def name(self) -> str:
        """The model's class."""
        return type(self.model).__name__

    @property
    def report(self) -> PrefillReport:
        """How the prompt was run."""
        return super().report if self.prepared is None else self.prepared.scope

    @property
    def decode_prefix_tokens(self) -> int:
        """How many of the prompt's tokens the first decoding step ran."""
        return 0 if self.prepared is None else self.prepared.decode_prefix_tokens

    def prompt_of(self, row: int) -> Sequence[int]:  # noqa: ARG002
        """The prompt's ids."""
        ids: list[int] = [] if self.prepared is None else self.prepared.prompt_ids.reshape(-1).tolist()
        return ids
