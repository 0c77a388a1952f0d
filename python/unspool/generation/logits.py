"""Chooses the next ids from logits: transformers' processors in transformers' order, and its own random generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unspool.errors import ArgumentError
from unspool.generation.sampling_params import GENERATE_NAMES
from unspool.generation.settings import GenerationSettings

__all__ = ["IdPicker", "check_native", "make_penalties", "make_warpers"]

# Options of `generate`, the values that have an effect, and their processors, in the order of transformers.
_WARPERS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("temperature", lambda value: value != 1.0, "TemperatureLogitsWarper"),
    ("top_h", lambda _: True, "TopHLogitsWarper"),  # transformers 5
    ("top_k", lambda value: value != 0, "TopKLogitsWarper"),
    ("top_p", lambda value: value < 1.0, "TopPLogitsWarper"),
    ("min_p", lambda _: True, "MinPLogitsWarper"),
    ("typical_p", lambda value: value < 1.0, "TypicalLogitsWarper"),
    ("epsilon_cutoff", lambda value: 0.0 < value < 1.0, "EpsilonLogitsWarper"),
    ("eta_cutoff", lambda value: 0.0 < value < 1.0, "EtaLogitsWarper"),
)
# Fields of a generation config that the native loop reads; other fields that are set are rejected.
_NATIVE_OPTIONS = {*GENERATE_NAMES.values(), *(name for name, _, _ in _WARPERS)} | {
    "max_length", "do_sample", "no_repeat_ngram_size", "bad_words_ids", "suppress_tokens", "min_new_tokens",
    "eos_token_id", "pad_token_id", "bos_token_id", "num_beams", "num_return_sequences", "use_cache",
    "generation_config",
}  # fmt: skip
# Fields of a generation config that do not change the ids.
_HARMLESS = {
    "transformers_version", "return_dict_in_generate", "output_attentions", "output_hidden_states",
    "output_scores", "output_logits", "decoder_start_token_id", "early_stopping", "length_penalty",
    "is_assistant", "num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold",
    "cache_implementation", "cache_config", "renormalize_logits", "prefill_chunk_size", "compile_config",
    "disable_compile", "trust_remote_code", "num_beam_groups", "diversity_penalty", "max_time",
}  # fmt: skip


def check_native(settings: GenerationSettings, backend: str) -> None:
    """Raise ArgumentError for an option that only transformers' own loop supports; none is ignored."""
    unknown = sorted(set(settings.options) - _NATIVE_OPTIONS)
    to_diff = getattr(settings.generation_config, "to_diff_dict", None)
    for name, value in (to_diff() if callable(to_diff) else {}).items():
        if value is not None and name not in _NATIVE_OPTIONS | _HARMLESS and not name.startswith("_"):
            unknown.append(name)
    if unknown:
        raise ArgumentError(
            f"backend='{backend}' does not know {', '.join(unknown)}; leave it out, or use backend='transformers'"
        )


def make_penalties(settings: GenerationSettings, prompt_length: int) -> list[Any]:
    """Return the processors that `generate` lacks: penalties that count the answer's tokens, and biases."""
    sampling = settings.sampling
    presence, frequency = sampling.presence_penalty or 0.0, sampling.frequency_penalty or 0.0
    made: list[Any] = [_CountPenalty(presence, frequency, prompt_length)] if presence or frequency else []
    if sampling.logit_bias or sampling.allowed_token_ids or sampling.bad_words or sampling.min_tokens:
        made.append(_TokenBias(sampling.logit_bias or {}, sampling.allowed_token_ids))
    return made


def make_warpers(settings: GenerationSettings) -> list[Any]:
    """Return the processors that `generate` applies to the scores before it samples."""
    from transformers.generation import logits_process

    warpers = []
    for name, acts, kind in _WARPERS:
        value = settings.option(name, 50 if name == "top_k" else None)
        if value is not None and acts(value):
            warpers.append(getattr(logits_process, kind)(value if name == "top_k" else float(value)))
    return warpers


def _make_processors(settings: GenerationSettings, prompt_length: int, device: Any) -> list[Any]:
    """Return the processors that `generate` applies first."""
    from transformers.generation import logits_process as transformers

    option, eos = settings.option, sorted(settings.eos)
    processors: list[Any] = []
    if option("repetition_penalty", 1.0) != 1.0:
        processors.append(transformers.RepetitionPenaltyLogitsProcessor(option("repetition_penalty")))
    if option("no_repeat_ngram_size", 0) > 0:
        processors.append(transformers.NoRepeatNGramLogitsProcessor(option("no_repeat_ngram_size")))
    if (words := option("bad_words_ids")) is not None:
        processors.append(transformers.NoBadWordsLogitsProcessor(words, eos))
    if (least := option("min_new_tokens", 0)) > 0 and eos:
        processors.append(
            transformers.MinNewTokensLengthLogitsProcessor(prompt_length, least, eos, device=device)
        )
    if (suppressed := option("suppress_tokens")) is not None:
        processors.append(transformers.SuppressTokensLogitsProcessor(suppressed, device=device))
    return processors


class IdPicker:
    """Chooses the next ids in the native loop, greedily or by sampling.

    Args:
        prompt_length: Number of tokens in the prompt, for processors that count only new tokens.
        device: The device of the scores.
    """

    def __init__(self, settings: GenerationSettings, prompt_length: int, device: Any) -> None:
        self._processors = _make_processors(settings, prompt_length, device)
        self._processors += [*settings.logits_processors, *make_penalties(settings, prompt_length)]
        self._sampler: SeededSampler | None = None
        if settings.does_sample:
            self._processors += make_warpers(settings)
            self._sampler = SeededSampler(settings.sampling.seed, device)
        #: Whether a processor reads the ids so far.
        self.needs_ids = bool(self._processors)

    def pick(self, ids: Any, scores: Any) -> Any:
        """Return the next ids, of shape (rows,).

        Args:
            ids: The ids so far, of shape (rows, n); None if `needs_ids` is False.
            scores: The last position's logits, of shape (rows, vocabulary).
        """
        scores = scores.float()
        for processor in self._processors:
            scores = processor(ids, scores)
        return scores.argmax(dim=-1) if self._sampler is None else self._sampler.draw(scores)


class SeededSampler:
    """Samples ids with its own random generator; the global one does not change.

    As the last logits processor it leaves only the sampled id, which greedy decoding then selects.
    """

    def __init__(self, seed: int | None, device: Any) -> None:
        import torch

        self._generator = None if seed is None else torch.Generator(device=device).manual_seed(seed)

    def draw(self, scores: Any) -> Any:
        """Sample one id for each row; shape (rows,)."""
        import torch

        probabilities = torch.softmax(scores, dim=-1)
        return torch.multinomial(probabilities, 1, generator=self._generator).squeeze(1)

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        drawn = self.draw(scores)[:, None]
        return scores.new_full(scores.shape, float("-inf")).scatter_(1, drawn, 0.0)


class _CountPenalty:
    """OpenAI's presence and frequency penalties."""

    def __init__(self, presence: float, frequency: float, prompt_length: int) -> None:
        self._presence, self._frequency, self._prompt_length = presence, frequency, prompt_length

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        output = input_ids[:, self._prompt_length :]
        counts = scores.new_zeros(scores.shape).scatter_add_(1, output, scores.new_ones(output.shape))
        return scores - self._frequency * counts - self._presence * (counts > 0)


class _TokenBias:
    """Adds biases to tokens, -inf to those that are not allowed. Runs after all processors that exclude tokens."""

    def __init__(self, biases: Mapping[int, float], allowed: Sequence[int] | None) -> None:
        self._biases, self._allowed = biases, allowed
        self._bias: Any = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        import torch

        if self._bias is None:
            self._bias = scores.new_full(scores.shape[-1:], 0.0 if self._allowed is None else float("-inf"))
            if self._allowed is not None:
                self._bias[list(self._allowed)] = 0.0
            for id, bias in self._biases.items():
                self._bias[id] += bias
        scores = scores + self._bias
        if not torch.isfinite(scores.amax(dim=-1)).all():
            raise ArgumentError(
                "no token is left to choose: min_tokens, bad_words and allowed_token_ids, or a grammar, rule all out; leave one out"
            )
        return scores
