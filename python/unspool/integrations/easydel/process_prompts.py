"""Answers prompts with texts and `PromptOutput`s: one prompt, several in turn, or several at a time."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from typing import Any, Literal

from unspool.errors import ArgumentError
from unspool.generation import DeltaStream, SamplingParams
from unspool.generation.stream_generator import StreamGenerator
from unspool.integrations.easydel.config import InferenceConfig
from unspool.integrations.easydel.outputs import PromptOutput, SampleState
from unspool.integrations.easydel.progress import ProgressCallback, ProgressCounter

__all__ = ["PromptEvent", "Requests", "sample_states"]

#: The prompt's index, the kind of event, and a text, an error message or the output.
PromptEvent = tuple[int, Literal["text", "error", "final"], str | PromptOutput]

Start = Callable[[], DeltaStream]
Items = AsyncGenerator[tuple[int, str | PromptOutput], None]


class Requests:
    """Prompts with the same sampling parameters.

    Raises:
        TypeError: `sampling_params` is neither SamplingParams nor a mapping.
        ArgumentError: They do not fit the model or the engine; see `StreamGenerator.stream`.
    """

    def __init__(self, engine: StreamGenerator, config: InferenceConfig, sampling_params: Any) -> None:
        self._engine, self._config = engine, config
        sampling = SamplingParams.read(sampling_params).with_defaults(config.sampling_params)
        limit = min(sampling.max_tokens or config.max_new_tokens, config.max_new_tokens)
        self._options: dict[str, Any] = {"sampling": sampling, "max_new_tokens": limit}
        self._counts_by_length = sampling.n is None and isinstance(config.num_return_sequences, Mapping)
        engine.check_options(**(self._options | ({"n": 1} if self._counts_by_length else {})))
        engine.format_name()

    def check(self, prompt: Any, **options: Any) -> Start:
        """Check a prompt and return the function that starts it.

        Raises:
            ArgumentError: The value is not a prompt.
        """
        options = {**self._options, **options}
        if self._counts_by_length:
            options["n"] = self._config.sequence_count(self._engine.count_tokens(prompt))
        return self._engine.prepare_stream(prompt, **options)

    def process(self, prompt: Any, stream: bool) -> Any:
        """See `vInference.process_prompt`."""
        size = self._config.streaming_chunks
        is_list = isinstance(prompt, (list, tuple)) and len(prompt) > 0
        if not (is_list and all(isinstance(text, str) for text in prompt)):
            start = self.check(prompt)
            return _texts(start, size) if stream else _run(start)
        starts = []
        for index, text in enumerate(prompt):
            try:
                starts.append(self.check(text))
            except ArgumentError as error:
                raise ArgumentError(f"prompt {index}: {error}") from None
        return [_texts(start, size) if stream else _run(start, reports_errors=True) for start in starts]

    def process_concurrently(
        self,
        prompts: Sequence[Any],
        most: int,
        stream: bool,
        callback: ProgressCallback | None,
        shows_bar: bool,
    ) -> Coroutine[Any, Any, list[PromptOutput]] | AsyncGenerator[PromptEvent, None]:
        """See `vInference.process_prompts_concurrently`."""
        if isinstance(prompts, (str, bytes, Mapping)) or not isinstance(prompts, Sequence):
            raise TypeError(f"prompts is of type {type(prompts).__name__}; pass a list of prompts")
        if isinstance(most, bool) or not isinstance(most, int):
            raise TypeError(f"max_concurrent_requests is {most!r}; pass an int")
        starts = [lambda prompt=prompt: self.check(prompt)() for prompt in prompts]
        items = _iterate(starts, max(1, most), self._config.streaming_chunks if stream else None)
        counter = ProgressCounter(len(starts), callback, shows_bar=shows_bar)
        return _events(items, counter) if stream else _outputs(items, counter)


def sample_states(start: Start, tokens_per_state: int) -> Generator[SampleState, None, None]:
    """Yield the state of a stream every `tokens_per_state` tokens of its first answer, and at its end."""
    with start() as stream:
        seen = 0
        for delta in stream:
            if delta.choice == 0 and delta.token_span[1] >= seen + tokens_per_state:
                seen = delta.token_span[1]
                yield SampleState.of(stream)
        yield SampleState.of(stream)


def _texts(start: Start, tokens_per_text: int) -> Generator[str, None, SampleState]:
    return SampleState.of((yield from start().text(tokens_per_text)))


def _run(start: Start, reports_errors: bool = False) -> PromptOutput:
    stream = None
    try:
        with start() as stream:
            for _ in stream:
                pass
            return _read_output(stream)
    except Exception as error:
        if not reports_errors:
            raise
        return _report(error, stream)


def _read_output(stream: DeltaStream) -> PromptOutput:
    result = stream.result
    rate = SampleState.of(result).tokens_per_second
    return PromptOutput(
        text=result.text,
        generated_tokens=result.usage.completion_tokens,
        tokens_per_second=rate if rate >= 0 else None,
        finish_reason=result.finish_reason,
    )


def _report(error: Exception, stream: DeltaStream | None) -> PromptOutput:
    """Return the output of a prompt that failed, with the text before the failure."""
    output = PromptOutput() if stream is None else _read_output(stream)
    message = f"{type(error).__name__}: {error}"
    return output.replace(text=output.text or None, error=message, finish_reason="error")


async def _iterate(starts: Sequence[Start], limit: int, tokens_per_text: int | None) -> Items:
    """Yield each prompt's texts (none without `tokens_per_text`), then its output; `limit` prompts run at a time."""
    items: asyncio.Queue[tuple[int, str | PromptOutput]] = asyncio.Queue(limit)
    waiting = iter(enumerate(starts))

    async def send(index: int, item: str | PromptOutput) -> None:
        await items.put((index, item))

    async def work() -> None:
        for index, start in waiting:
            await send(index, await _answer(start, tokens_per_text, functools.partial(send, index)))

    tasks = [asyncio.create_task(work()) for _ in range(min(limit, len(starts)))]
    try:
        open_count = len(starts)
        while open_count:
            index, item = await items.get()
            open_count -= isinstance(item, PromptOutput)
            yield index, item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _answer(
    start: Start, tokens_per_text: int | None, send: Callable[[str], Awaitable[None]]
) -> PromptOutput:
    """Run one prompt to its end. If the task is cancelled, the model stops by itself."""
    stream = None
    try:
        # Start in a thread, because the first stream of a tokenizer compiles its vocabulary.
        async with await asyncio.to_thread(start) as stream:
            async with contextlib.aclosing(stream.atext(tokens_per_text)) as texts:
                async for text in texts:
                    if tokens_per_text:
                        await send(text)
            return _read_output(stream)
    except Exception as error:
        return _report(error, stream)


async def _events(items: Items, counter: ProgressCounter) -> AsyncGenerator[PromptEvent, None]:
    with counter:
        async with contextlib.aclosing(items):
            async for index, item in items:
                if isinstance(item, str):
                    yield index, "text", item
                    continue
                counter.advance()
                if item.error is not None:
                    yield index, "error", item.error
                else:
                    yield index, "final", item


async def _outputs(items: Items, counter: ProgressCounter) -> list[PromptOutput]:
    outputs: dict[int, PromptOutput] = {}
    with counter:
        async with contextlib.aclosing(items):
            async for index, item in items:
                assert isinstance(item, PromptOutput)
                outputs[index] = item
                counter.advance()
    return [outputs[index] for index in sorted(outputs)]
