"""Answers prompts with texts and `PromptOutput`s: one prompt, several in turn, or several at a time."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from unspool.errors import ArgumentError
from unspool.generation import SamplingParams
from unspool.integrations.easydel.outputs import PromptOutput, SampleState
from unspool.integrations.easydel.progress import ProgressCallback, ProgressCounter

if TYPE_CHECKING:
    from unspool.generation import DeltaStream
    from unspool.integrations.easydel.engine import vInference

__all__ = ["PromptEvent", "process_prompt", "process_prompts_concurrently"]

#: The prompt's index, the kind of event, and a text, an error message or the output.
PromptEvent = tuple[int, Literal["text", "error", "final"], str | PromptOutput]


def process_prompt(
    engine: vInference, prompt: Any, sampling_params: Any, stream: bool
) -> PromptOutput | list[PromptOutput] | Generator[str, None, SampleState] | list[Any]:
    """As of `vInference.process_prompt`."""
    requests = Requests(engine, sampling_params)
    if not _is_batch(prompt):
        start = requests.check(prompt)
        return _texts(start, requests.tokens_per_text) if stream else _run(start)
    starts = []
    for index, one in enumerate(prompt):
        try:
            starts.append(requests.check(one))
        except ArgumentError as error:
            raise ArgumentError(f"prompt {index}: {error}") from None
    if stream:
        return [_texts(start, requests.tokens_per_text) for start in starts]
    return [_run(start, reports_errors=True) for start in starts]


def process_prompts_concurrently(
    engine: vInference,
    prompts: Sequence[Any],
    max_concurrent_requests: int,
    sampling_params: Any,
    stream: bool,
    progress_callback: ProgressCallback | None,
    progress: bool,
) -> Awaitable[list[PromptOutput]] | AsyncGenerator[PromptEvent, None]:
    """As of `vInference.process_prompts_concurrently`."""
    if isinstance(prompts, (str, bytes, Mapping)) or not isinstance(prompts, Sequence):
        raise TypeError(f"prompts is of type {type(prompts).__name__}; pass a list of prompts")
    if isinstance(max_concurrent_requests, bool) or not isinstance(max_concurrent_requests, int):
        raise TypeError(f"max_concurrent_requests is {max_concurrent_requests!r}; pass an int")
    requests = Requests(engine, sampling_params)
    starts = [functools.partial(requests.start, prompt) for prompt in prompts]
    items = _iterate(starts, max(1, max_concurrent_requests), requests.tokens_per_text if stream else None)
    counter = ProgressCounter(len(starts), progress_callback, shows_bar=progress)
    return _events(items, counter) if stream else _outputs(items, counter)


class Requests:
    """Prompts with the same sampling parameters.

    Raises:
        TypeError: `sampling_params` is neither SamplingParams nor a mapping.
        ArgumentError: They do not fit the model or the engine; see `StreamGenerator.stream`.
    """

    def __init__(self, engine: vInference, sampling_params: Any) -> None:
        config = engine.config
        self._engine = engine
        self._sampling = SamplingParams.read(sampling_params).with_defaults(config.sampling_params)
        limit = min(self._sampling.max_tokens or config.max_new_tokens, config.max_new_tokens)
        self._options: dict[str, Any] = {"sampling": self._sampling, "max_new_tokens": limit}
        self.tokens_per_text = config.streaming_chunks
        self._counts_by_length = self._sampling.n is None and isinstance(config.num_return_sequences, Mapping)
        some_count: dict[str, Any] = {"n": 1} if self._counts_by_length else {}
        engine.check_options(**self._options, **some_count)
        engine.format_name()

    def check(self, prompt: Any) -> Callable[[], DeltaStream]:
        """Check this prompt and return the function that starts it.

        Raises:
            ArgumentError: This is not a prompt.
        """
        options = dict(self._options)
        if self._counts_by_length:
            options["n"] = self._engine.config.sequence_count(self._engine.count_tokens(prompt))
        return self._engine.prepare_stream(prompt, **options)

    def start(self, prompt: Any) -> DeltaStream:
        """`check`, and start it."""
        return self.check(prompt)()


def _is_batch(prompt: Any) -> bool:
    is_list = isinstance(prompt, (list, tuple)) and len(prompt) > 0
    return is_list and all(isinstance(one, str) for one in prompt)


def _texts(start: Callable[[], DeltaStream], tokens_per_text: int) -> Generator[str, None, SampleState]:
    return SampleState.of((yield from start().text(tokens_per_text)))


def _run(start: Callable[[], DeltaStream], reports_errors: bool = False) -> PromptOutput:
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
    """The output of a prompt that failed, with the text before the failure."""
    output = PromptOutput() if stream is None else _read_output(stream)
    return output.replace(
        text=output.text or None, error=f"{type(error).__name__}: {error}", finish_reason="error"
    )


async def _iterate(
    starts: Sequence[Callable[[], DeltaStream]], limit: int, tokens_per_text: int | None
) -> AsyncGenerator[tuple[int, str | PromptOutput], None]:
    """Yield each prompt's texts (none without `tokens_per_text`), then its output; `limit` prompts run at a time."""
    items: asyncio.Queue[tuple[int, str | PromptOutput]] = asyncio.Queue(limit)
    waiting = iter(enumerate(starts))

    async def work() -> None:
        for index, start in waiting:
            send = functools.partial(_send, items, index)
            await send(await _answer(start, tokens_per_text, send))

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


async def _send(items: asyncio.Queue[Any], index: int, item: str | PromptOutput) -> None:
    await items.put((index, item))


async def _answer(
    start: Callable[[], DeltaStream], tokens_per_text: int | None, send: Callable[[str], Awaitable[None]]
) -> PromptOutput:
    """Run one prompt to its end. If the task is cancelled, the model stops by itself."""
    stream = None
    try:
        # In a thread: the first stream of a tokenizer compiles its vocabulary.
        async with await asyncio.to_thread(start) as stream:
            async with contextlib.aclosing(stream.atext(tokens_per_text)) as texts:
                async for text in texts:
                    if tokens_per_text:
                        await send(text)
            return _read_output(stream)
    except Exception as error:
        return _report(error, stream)


async def _events(
    items: AsyncGenerator[tuple[int, str | PromptOutput], None], counter: ProgressCounter
) -> AsyncGenerator[PromptEvent, None]:
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


async def _outputs(
    items: AsyncGenerator[tuple[int, str | PromptOutput], None], counter: ProgressCounter
) -> list[PromptOutput]:
    outputs: dict[int, PromptOutput] = {}
    with counter:
        async with contextlib.aclosing(items):
            async for index, item in items:
                assert isinstance(item, PromptOutput)
                outputs[index] = item
                counter.advance()
    return [outputs[index] for index in range(len(outputs))]
