"""Models for MLServer's tests, as a user's own module has them: functions that return what streams.

The server's process imports this by name, so that it imports nothing of the tests. What a model does is
written into the file that UNSPOOL_TEST_STATUS names, a word a line.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unspool import ConditioningHook, DeltaChannel, DeltaStream
from unspool.errors import ChannelCancelledError
from unspool.generation.answers import Answers
from unspool.generation.model_run import ModelRun
from unspool.generation.worker import GenerationWorker, active_workers
from unspool.streams.parser import ChannelParser

_lock = threading.Lock()


def tell(word: str) -> None:
    """Add a line to the status file."""
    path = os.environ.get("UNSPOOL_TEST_STATUS")
    if path:
        with _lock, Path(path).open("a") as file:
            file.write(f"{word}\n")


@dataclass(kw_only=True)
class Script(ModelRun[Answers]):
    """A worker's job that is a function's: `body(script)`, which calls `put`."""

    body: Callable[[Script], None]
    finish_reason: str

    def put(self, text: Any) -> None:
        """One step of the model."""
        if self.channel.is_cancelled:
            raise ChannelCancelledError("the consumer has left")
        self.answers.put_text(0, text, [len(self.answers.texts[0])])

    def work(self) -> None:
        with self.running():
            self.body(self)
            self.answers.finish(0, self.finish_reason)


class Scripted:
    """Writes what a function puts, and keeps what it was asked for."""

    def __init__(
        self,
        body: Callable[[Script], None],
        format: str = "hermes",
        finish_reason: str = "stop",
        parser_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._body, self.format, self._finish_reason = body, format, finish_reason
        self._parser_options = dict(parser_options or {})
        self.template_names = ("enable_thinking",)
        self.asked: list[dict[str, Any]] = []
        self.streams: list[DeltaStream] = []

    def stream(self, prompt: Any, **options: Any) -> DeltaStream:
        self.asked.append({"prompt": prompt, **options})
        channel = DeltaChannel()
        parser = ChannelParser(
            self.format,
            **{"tools": options["tools"], **self._parser_options},
            channel=channel,
            closes_channel=False,
        )
        run = Script(
            channel=channel,
            answers=Answers([parser]),
            setups=(),
            prompt_tokens=3,
            body=self._body,
            finish_reason=self._finish_reason,
        )
        stream = DeltaStream.start(run, GenerationWorker(channel, run.work), options["timeout"])
        self.streams.append(stream)
        return stream


def counts() -> Scripted:
    """A word each 10 ms, for as long as anybody reads."""

    def body(script: Script) -> None:
        for number in range(100_000):
            tell("step")
            script.put(f"{number} ")
            time.sleep(0.01)

    return Scripted(body)


def breaks() -> Scripted:
    """Fails in the midst of its answer."""

    def body(script: Script) -> None:
        script.put("Some ")
        time.sleep(0.05)
        script.put("text")
        time.sleep(0.05)
        raise RuntimeError("the card has melted")

    return Scripted(body)


def breaks_at_once() -> Scripted:
    """Fails before its first token."""

    def body(_: Script) -> None:
        raise RuntimeError("the card has melted")

    return Scripted(body)


def workers() -> Scripted:
    """Answers how many other answers are being generated."""
    return Scripted(lambda script: script.put(str(active_workers() - 1)))


def is_no_model() -> int:
    """A factory that returns something else."""
    return 7


class _Hook(ConditioningHook):
    def setup(self, _: Any) -> None:
        tell("setup")

    def cleanup(self) -> None:
        tell("cleanup")


def llama() -> Any:
    """A tiny random Llama over bytes: what it writes is mostly no UTF-8. A forward takes 10 ms at least."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from unspool import StreamGenerator

    torch.manual_seed(0)
    tokenizer = byte_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=4096,
        eos_token_id=tokenizer.eos_token_id, bos_token_id=None, pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.5,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()

    def slow(*_: Any) -> None:
        tell("step")
        time.sleep(0.01)

    model.register_forward_pre_hook(slow)
    return StreamGenerator(model, tokenizer, format="hermes", hook=_Hook())


def byte_tokenizer() -> Any:
    """256 tokens for the bytes, and special ones; with a chat template."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({token: id for id, token in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    names = ["<eos>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"]
    made.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", pad_token="<eos>")
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    return tokenizer
