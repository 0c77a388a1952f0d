"""OpenTSLM's streaming interface: text for one sample, whose model inputs are built by a subclass."""

from __future__ import annotations

import functools
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from unspool.errors import ArgumentError
from unspool.generation import StreamResult
from unspool.generation.stream_generator import StreamGenerator

__all__ = ["SampleGenerator"]

# Keys of a mapping that `stream` accepts as a prompt.
_PROMPT_KEYS = frozenset({"messages", "role", "prompt", "text", "input_ids", "inputs_embeds"})


class SampleGenerator(StreamGenerator):
    """A `StreamGenerator` with the methods of OpenTSLM's models. A subclass implements `encode_sample`."""

    def encode_sample(self, sample: Any, normalize: bool) -> Mapping[str, Any]:
        """Convert a sample to model inputs. Runs in the worker, under inference mode.

        Args:
            sample: The prompt of `stream_prompt`, or the only item in the batch of `stream_generate`.
            normalize: Whether to scale the sample's series.

        Returns:
            Model inputs with one row: `input_ids`, or `inputs_embeds` with an `attention_mask`, ….
        """
        raise NotImplementedError(
            f"{type(self).__name__}.encode_sample(sample, normalize) is missing: it makes model inputs of "
            f"{type(sample).__name__}"
        )

    def stream_prompt(
        self, prompt: Any, max_new_tokens: int = 1000, normalize: bool = False, **options: Any
    ) -> Generator[str, None, StreamResult]:
        """Return an iterator of the text for one prompt, without empty strings. The model is put in evaluation mode.

        Args:
            prompt: A prompt for `stream`, or a sample for `encode_sample`.
            normalize: Passed to `encode_sample`.
            options: See `stream`.
        """
        if normalize or not _is_prompt(prompt):
            if type(self).encode_sample is SampleGenerator.encode_sample:
                self.encode_sample(prompt, normalize)  # raises
            prompt = functools.partial(self.encode_sample, prompt, normalize)
        return super().stream_prompt(prompt, max_new_tokens, **options)

    def stream_generate(
        self, batch: Any, max_new_tokens: int = 50, *, normalize: bool = False, **options: Any
    ) -> Generator[str, None, StreamResult]:
        """Call `stream_prompt` for a batch, which must be a sequence of exactly one prompt or sample.

        Raises:
            ArgumentError: The batch is not such a sequence.
        """
        if isinstance(batch, (str, Mapping)) or not hasattr(batch, "__len__"):
            raise ArgumentError("a batch is a sequence of exactly one sample; put the sample into a list")
        if len(batch) != 1:
            raise ArgumentError(f"the batch has {len(batch)} samples; streaming takes exactly one sample")
        return self.stream_prompt(batch[0], max_new_tokens, normalize, **options)


def _is_prompt(value: Any) -> bool:
    """Whether `stream` accepts this type of prompt."""
    if isinstance(value, Mapping):
        return not _PROMPT_KEYS.isdisjoint(value)
    if hasattr(value, "shape"):  # ids are integers; a series is not
        return "float" not in str(getattr(value, "dtype", ""))
    if isinstance(value, (str, Sequence)) or callable(value):
        return True
    return hasattr(value, "to_dict") and _is_prompt(value.to_dict())
