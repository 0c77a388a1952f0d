"""`unspool.generate`: streams deltas while a transformers model runs in a worker thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unspool.generation.sampling_params import SamplingParams
from unspool.generation.settings import own_limit
from unspool.generation.stream_generator import StreamGenerator

if TYPE_CHECKING:
    from unspool._core import Format, ToolSchemas
    from unspool.formats.format_file import FormatFile
    from unspool.generation.delta_stream import DeltaStream

__all__ = ["generate"]

# The limit if neither the call nor the generation config has one.
_MAX_NEW_TOKENS = 1000


def generate(
    model: Any,
    tokenizer: Any,
    messages_or_prompt: str | Sequence[Any] | Any,
    *,
    format: str | FormatFile | Format = "auto",
    reasoning: str | bool | None = None,
    tools: Iterable[Any] | ToolSchemas | None = None,
    tool_choice: str | Mapping[str, Any] | None = "auto",
    response_format: Any = None,
    choice: Sequence[str] | None = None,
    regex: str | None = None,
    prefill: bool | str = False,
    timeout: float | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    **generation_kwargs: Any,
) -> DeltaStream:
    """Generate with a transformers model; iterate the deltas as they arrive.

    This is one call of a `StreamGenerator`; create one yourself for several requests.

    Args:
        model: A transformers model, or an object with its `generate`.
        tokenizer: The model's tokenizer.
        messages_or_prompt: Chat messages (put through the tokenizer's chat template, with `tools`), a
            prompt as text, or token ids (a list, or a tensor of one row).
        format: The format of the model's output. "auto" uses the best result of `detect` for the tokenizer: its own
            response template, if it has one; plain text without a chat template.
        reasoning: As in `Parser`.
        tools, tool_choice, response_format, choice, regex, prefill, chat_template_kwargs: As in
            `StreamGenerator.stream`.
        timeout: Seconds to wait for the next token. Then StreamTimeout (a TimeoutError) is raised and the model
            stops.
        generation_kwargs: As in `StreamGenerator.stream`. Without `max_new_tokens`, the limit of the
            model's generation config applies, or 1,000 if it has none.

    Raises:
        ArgumentError: As in `StreamGenerator.stream`.
        ImportError: transformers or torch is missing.
    """
    generator = StreamGenerator(model, tokenizer, format=format, reasoning=reasoning)
    return generator.stream(
        messages_or_prompt,
        tools=tools,
        tool_choice=tool_choice,
        response_format=response_format,
        choice=choice,
        regex=regex,
        prefill=prefill,
        timeout=timeout,
        chat_template_kwargs=chat_template_kwargs,
        **with_limit(model, generation_kwargs),
    )


def with_limit(model: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Add a limit to the options of a stream: their own, else that of the generation config, else 1,000 tokens."""
    sampling = SamplingParams.read(options.get("sampling"))
    limits = (options.get("max_new_tokens"), options.get("max_length"), sampling.max_tokens)
    limited = {**options, "sampling": sampling}
    if all(limit is None for limit in limits):
        config = options.get("generation_config") or getattr(model, "generation_config", None)
        limited.update(own_limit(config) or {"max_new_tokens": _MAX_NEW_TOKENS})
    return limited
