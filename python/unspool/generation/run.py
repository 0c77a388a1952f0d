"""One generation: the job of its worker, and its result so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unspool.errors import ChannelCancelledError
from unspool.generation.hooks import conditioned
from unspool.generation.native_backend import NotContinuable, generate_natively
from unspool.generation.prefill.context_limit import fit_context
from unspool.generation.prefill.prepare import prepare_prompt
from unspool.generation.prefill.report import PrefillReport
from unspool.generation.prompts.prompt import Prompt, read_prompt
from unspool.generation.result import Choice, StreamResult, Usage, measure
from unspool.generation.transformers_backend import generate_with_transformers

if TYPE_CHECKING:
    from unspool._core import DeltaChannel
    from unspool.generation.hooks import ConditioningHook
    from unspool.generation.prefill.prepared import PreparedPrompt
    from unspool.generation.prefill.strategy import PrefillConfig, StrategyId
    from unspool.generation.prompts.prompt_encoder import PromptEncoder
    from unspool.generation.rows import Rows
    from unspool.generation.settings import GenerationSettings
    from unspool.streams.recording.answer import ParserSetup

__all__ = ["GenerationRun"]

_NOT_YET = PrefillReport(
    None, runtime_eligible=False, applied=False, activation_reason="the prompt has not been read"
)


@dataclass
class GenerationRun:
    """The worker's job and its state. The consumer reads the state from another thread."""

    model: Any
    backend: str
    encoder: PromptEncoder
    strategy: StrategyId | None
    prefill: PrefillConfig
    read_prompt: Callable[[], Prompt]
    channel: DeltaChannel
    rows: Rows
    settings: GenerationSettings
    hook: ConditioningHook | None
    #: How the streamers were made.
    setup: ParserSetup
    #: The most ids that the prompt and its answer may have together; None: not checked.
    positions: int | None = None
    begin_s: float = field(default_factory=time.perf_counter)
    prepared: PreparedPrompt | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    #: The finish reason if the model did not end by itself.
    broken_off: str | None = None
    is_over: bool = False
    _result: StreamResult | None = None

    def work(self) -> None:
        """The job of the `GenerationWorker`."""
        try:
            try:
                self._generate()
            finally:
                self.rows.flush()
            for row, streamer in enumerate(self.rows.streamers):
                streamer.end(self.rows.finish_reason(row))
        except BaseException as error:
            self.broken_off = "cancelled" if isinstance(error, ChannelCancelledError) else "error"
            raise
        finally:
            self.is_over = True

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
        self.prepared = prepared
        self.rows.put_prompt(prepared.prompt_ids)
        rest = (prepared, self.rows, self.settings, self._is_cancelled)
        if self.backend == "native" and prepared.runs_natively:
            try:
                generate_natively(self.model, *rest)
                return
            except NotContinuable as problem:
                self.prepared = prepared.refused(str(problem))
        output = generate_with_transformers(self.model, *rest)
        given = getattr(output, "metadata", None)
        if isinstance(given, Mapping):  # from a model that runs the prompt itself
            self.metadata = given

    def _is_cancelled(self) -> bool:
        return self.channel.is_cancelled

    @property
    def description(self) -> str:
        """The request, for a log; it has no text of the prompt."""
        usage, name = self.usage, type(self.model).__name__
        prompt = f"{usage.prompt_tokens} prompt tokens" if self.prepared else "its prompt not yet read"
        return f"request of {name} with {prompt}, {usage.completion_tokens} tokens generated"

    @property
    def usage(self) -> Usage:
        """The token counts so far, without a look at the messages."""
        prompt_tokens = 0 if self.prepared is None else self.prepared.token_count
        return Usage(prompt_tokens, sum(map(len, self.rows.token_ids)))

    def recorded(self) -> list[dict[str, Any]]:
        """What the model wrote and what came of it, as plain data: slow, and only of a run that has ended."""
        from unspool.streams.recording.answer import record_answer

        prompt = [] if self.prepared is None else self.prepared.prompt_ids.reshape(-1).tolist()
        rows = zip(self.rows.token_ids, self.rows.streamers, strict=True)
        return [record_answer(self.setup, prompt, output, streamer.message) for output, streamer in rows]

    def result(self) -> StreamResult:
        """The result so far; after the run has ended, it is built once."""
        if self._result is not None:
            return self._result
        is_over, prepared = self.is_over, self.prepared
        # An answer that is complete stays so, even if the consumer left before the end of the channel.
        broken_off = self.broken_off or ("cancelled" if self.channel.is_cancelled else None)
        scope = _NOT_YET if prepared is None else prepared.scope
        logprobs = self.rows.logprobs
        messages = [streamer.message for streamer in self.rows.streamers]
        choices = tuple(
            Choice(
                index=row,
                message=message,
                finish_reason=message.finish_reason or broken_off,
                stop_reason=self.rows.streamers[row].stop_reason,
                token_ids=tuple(self.rows.token_ids[row]),
                logprobs=None if logprobs is None else tuple(logprobs[row]),
            )
            for row, message in enumerate(messages)
        )
        usage = self.usage
        decode_prefix_tokens = 0 if prepared is None else prepared.decode_prefix_tokens
        times_s, last_s = list(self.rows.times_s), self.rows.last_put_s
        result = StreamResult(
            choices=choices,
            usage=usage,
            metrics=measure(self.begin_s, times_s, usage.prompt_tokens, decode_prefix_tokens, last_s),
            prefill=scope,
            metadata={**scope.metadata(), **self.metadata},
        )
        self._result = result if is_over else None
        return result
