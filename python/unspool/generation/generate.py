"""`unspool.generate`: deltas while a transformers model runs in one worker thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unspool._core import Delta, DeltaChannel, ToolSchemas
from unspool.choose_format import choose_format
from unspool.errors import ArgumentError, ChannelCancelledError
from unspool.message import Message
from unspool.token_streamer import TokenStreamer

if TYPE_CHECKING:
    from unspool._core import Format
    from unspool.format_files import FormatFile

__all__ = ["Generation", "generate"]


class Generation(Iterator[Delta]):
    """A running generation: iterate it for deltas, or `async for`.

    Leaving the loop, `close()`, or dropping the object stops the model within two steps and does not
    wait for it. An exception of the model arrives as itself, after what came before it.
    """

    def __init__(self, channel: DeltaChannel, streamer: TokenStreamer, timeout: float | None) -> None:
        self._channel = channel
        self._streamer = streamer
        self._timeout = timeout

    def __iter__(self) -> Generation:
        return self

    def __next__(self) -> Delta:
        try:
            delta = self._channel.get(self._timeout)
        except BaseException:
            self.close()
            raise
        if delta is None:
            raise StopIteration
        return delta

    def __aiter__(self) -> Generation:
        return self

    async def __anext__(self) -> Delta:
        try:
            delta = await self._channel.aget(self._timeout)
        except BaseException:
            self.close()
            raise
        if delta is None:
            raise StopAsyncIteration
        return delta

    def close(self) -> None:
        """Stop the model; no more deltas come. Returns at once."""
        if not self._channel.is_finished:
            self._channel.cancel()

    def __enter__(self) -> Generation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    @property
    def message(self) -> Message:
        """The message; whole once the iteration has ended."""
        return self._streamer.message


def generate(
    model: Any,
    tokenizer: Any,
    messages_or_prompt: str | Sequence[Any] | Any,
    *,
    format: str | FormatFile | Format = "auto",
    tools: Iterable[Any] | ToolSchemas | None = None,
    reasoning: str | bool | None = None,
    tool_choice: str | Mapping[str, Any] | None = "auto",
    timeout: float | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    **generation_kwargs: Any,
) -> Generation:
    """Generate with a transformers model; iterate the deltas as they come.

    Args:
        model: Anything with transformers' `generate`.
        tokenizer: The model's tokenizer.
        messages_or_prompt: Chat messages (put through the tokenizer's chat template, with `tools`), a
            prompt as text, or token ids (a list, or a tensor of one row).
        format: How this model writes. "auto" takes what `detect` finds best for the tokenizer: its
            own response template, where it has one.
        tools, reasoning, tool_choice: as of `Parser`.
        timeout: Seconds to wait for the next delta; then ChannelTimeoutError (a TimeoutError) is
            raised and the model is stopped.
        chat_template_kwargs: Passed on to `apply_chat_template`, such as `enable_thinking`.
        generation_kwargs: Passed on to `model.generate`.

    Raises:
        ArgumentError: Beam search, more than one sequence, a prompt of more than one row, or a
            tokenizer that does not tell its format.
        ImportError: transformers or torch is missing.
    """
    try:
        import torch
        from transformers import StoppingCriteria, StoppingCriteriaList
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'unspool[transformers]'") from None
    for name in ("num_beams", "num_return_sequences"):
        if (generation_kwargs.get(name) or 1) > 1:
            raise ArgumentError(f"{name} is above 1; a stream has one answer")
    if "streamer" in generation_kwargs:
        raise ArgumentError("streamer is ours; iterate what generate returns")
    tool_list = list(tools) if tools is not None and not isinstance(tools, ToolSchemas) else tools
    ids = _prompt_ids(tokenizer, messages_or_prompt, tool_list, dict(chat_template_kwargs or {}))
    input_ids = torch.as_tensor(ids, device=getattr(model, "device", None)).reshape(1, -1)
    format, reasoning = choose_format(format, tokenizer, reasoning)
    channel = DeltaChannel()
    streamer = TokenStreamer(
        tokenizer,
        format,
        tool_list,
        reasoning=reasoning,
        tool_choice=tool_choice,
        channel=channel,
        skip_prompt=True,
    )
    worker_streamer = _WorkerStreamer(streamer)

    class Cancelled(StoppingCriteria):  # type: ignore[misc]
        def __call__(self, input_ids: Any, *_: Any, **__: Any) -> Any:
            stop = channel.is_cancelled or streamer.is_stopped
            return torch.full((input_ids.shape[0],), stop, device=input_ids.device, dtype=torch.bool)

    criteria = StoppingCriteriaList(generation_kwargs.pop("stopping_criteria", None) or [])
    criteria.append(Cancelled())
    generation_kwargs.setdefault("attention_mask", torch.ones_like(input_ids))

    def work() -> None:
        try:
            with torch.inference_mode():
                output = model.generate(
                    input_ids,
                    streamer=worker_streamer,
                    stopping_criteria=criteria,
                    **generation_kwargs,
                )
            if not streamer.is_finished:
                streamer.end(_finish_reason(model, generation_kwargs, output))
        except ChannelCancelledError:
            pass  # the consumer has left
        except BaseException as error:  # it belongs to the consumer
            channel.fail(error)
        finally:
            channel.close()

    threading.Thread(target=work, name="unspool-generate", daemon=True).start()
    return Generation(channel, streamer, timeout)


class _WorkerStreamer:
    """What `model.generate` sees; the end is told by the worker, which knows its reason."""

    def __init__(self, streamer: TokenStreamer) -> None:
        self.put = streamer.put

    def end(self) -> None:
        """Nothing: `generate` may end without calling this."""


def _prompt_ids(tokenizer: Any, prompt: Any, tools: Any, template_kwargs: dict[str, Any]) -> list[int]:
    if isinstance(prompt, str):
        return list(tokenizer(prompt)["input_ids"])
    if isinstance(prompt, Sequence) and prompt and isinstance(prompt[0], Mapping):
        if tools is not None and not isinstance(tools, ToolSchemas):
            template_kwargs.setdefault("tools", tools)
        text = tokenizer.apply_chat_template(
            prompt, tokenize=False, add_generation_prompt=True, **template_kwargs
        )
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])
    if hasattr(prompt, "shape") and any(size != 1 for size in prompt.shape[:-1]):
        raise ArgumentError(f"the prompt has shape {tuple(prompt.shape)}; a stream has one row")
    ids = prompt.reshape(-1).tolist() if hasattr(prompt, "reshape") else list(prompt)
    if not ids:
        raise ArgumentError("the prompt is empty; pass messages, text or token ids")
    return [int(id) for id in ids]


def _finish_reason(model: Any, kwargs: Mapping[str, Any], output: Any) -> str:
    """ "stop" where the last id ends the text, "length" otherwise."""
    sequence = getattr(output, "sequences", output)
    config = kwargs.get("generation_config") or getattr(model, "generation_config", None)
    eos = kwargs.get("eos_token_id", getattr(config, "eos_token_id", None))
    ids = eos if isinstance(eos, (list, tuple)) else [eos]
    return "stop" if int(sequence[0, -1]) in ids else "length"
