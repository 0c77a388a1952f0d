"""Runs transformers' `model.generate` with unspool's streamer, stopping criterion and sampling."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from unspool.errors import ChannelCancelledError
from unspool.generation.logits import SeededSampler, make_penalties, make_warpers
from unspool.generation.logprobs import check_recordable, recorded
from unspool.generation.prefill.cache_name import named_for
from unspool.generation.prefill.prepared import PreparedPrompt
from unspool.generation.prefill.strategy import model_kind
from unspool.generation.rows import Rows
from unspool.generation.settings import GenerationSettings

__all__ = ["ask_criteria", "generate_with_transformers"]

# An end id that no vocabulary has; None would select the model's own end id.
_NO_ID = 2**31 - 1
# The sampling options' defaults: transformers 4 warns if a generation config has others in a greedy call.
_GREEDY = {"temperature": 1.0, "top_k": 50, "top_p": 1.0, "min_p": None, "typical_p": 1.0}


def generate_with_transformers(
    model: Any,
    prepared: PreparedPrompt,
    rows: Rows,
    settings: GenerationSettings,
    is_cancelled: Callable[[], bool],
) -> Any:
    """Generate to the end and return the output of `generate`.

    Raises:
        ChannelCancelledError: The consumer has left.
    """
    from transformers import LogitsProcessorList, StoppingCriteriaList

    options = dict(settings.options)
    options["num_return_sequences"] = 1  # because the inputs already have a row for each answer
    if settings.pad_token_id is not None:
        options["pad_token_id"] = settings.pad_token_id
    if settings.eos:
        options["eos_token_id"] = sorted(settings.eos)
    elif settings.sampling.ignore_eos:
        options["eos_token_id"] = _NO_ID
    inputs = named_for(model.generate, prepared.generate_arguments())
    ids = inputs.get("input_ids")
    is_seq2seq = model_kind(model) == "seq2seq"
    # Number of the decoder's ids that processors see before the first new id.
    prompt_length = 1 if is_seq2seq else 0 if ids is None else ids.shape[1]
    processors = [*settings.logits_processors, *make_penalties(settings, prompt_length)]
    seed = settings.sampling.seed
    if settings.does_sample and seed is not None:
        device = inputs["inputs_embeds" if ids is None else "input_ids"].device
        processors += [*make_warpers(settings), SeededSampler(seed, device)]
        options |= {name: value for name, value in _GREEDY.items() if settings.option(name) is not None}
        options["do_sample"] = False
    if rows.recorder is not None:
        check_recordable(model, settings.option)
        model = recorded(model, rows.recorder.see)
    stop = _Stop(settings.stopping_criteria, rows, is_cancelled)

    def run(**streamer: Any) -> Any:
        lists: dict[str, Any] = {"stopping_criteria": StoppingCriteriaList([stop])}
        if processors:
            lists["logits_processor"] = LogitsProcessorList(processors)
        return model.generate(**inputs, **options, **lists, **streamer)

    try:
        output = run(streamer=rows)
    except TypeError as error:
        if "streamer" not in str(error) or rows.has_output:
            raise
        output = run()
        _put_output(output, ids, is_seq2seq, rows)
    if is_cancelled():
        raise ChannelCancelledError("the consumer has left")
    return output


class _Stop:
    """A stopping criterion: the consumer has left, a stop string has matched, or a caller's criterion stops."""

    def __init__(self, criteria: tuple[Any, ...], rows: Rows, is_cancelled: Callable[[], bool]) -> None:
        self._criteria, self._rows, self._is_cancelled = criteria, rows, is_cancelled
        self._step = 0

    def __call__(self, input_ids: Any, scores: Any, **options: Any) -> Any:
        import torch

        count, device = input_ids.shape[0], input_ids.device
        if self._is_cancelled():
            return torch.ones(count, device=device, dtype=torch.bool)
        self._step += 1
        ask_criteria(self._criteria, self._rows, self._step, input_ids, scores, **options)
        return torch.tensor([self._rows.is_done(row) for row in range(count)], device=device)


def ask_criteria(
    criteria: Iterable[Any], rows: Rows, step: int, input_ids: Any, scores: Any, **options: Any
) -> None:
    """End the rows that one of the caller's stopping criteria ends at this step."""
    import torch

    for criterion in criteria:
        stops = torch.as_tensor(criterion(input_ids, scores, **options)).expand(input_ids.shape[0])
        for row in stops.nonzero().flatten().tolist():
            rows.end_row(row, step)


def _put_output(output: Any, ids: Any, is_seq2seq: bool, rows: Rows) -> None:
    """Put the ids of a `generate` that ignored the streamer: its output without the prompt or the start token."""
    sequences = getattr(output, "sequences", output)
    skip = 1 if is_seq2seq else 0
    if not is_seq2seq and ids is not None and sequences.shape[1] >= ids.shape[1]:
        starts_with_prompt = bool((sequences[:, : ids.shape[1]] == ids.to(sequences.device)).all())
        skip = ids.shape[1] if starts_with_prompt else 0
    for column in sequences[:, skip:].t().tolist():
        rows.put_step(column)
