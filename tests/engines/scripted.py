"""A model that writes what stands at a place, and the book of what it writes for each request of a suite.

What comes next depends on how many tokens are there, and on nothing else. So the same model plays in every engine,
as a GGUF, as a model of transformers, or in a fake's few lines. Each request is padded until its prompt ends where
its output begins in the book.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import unspool
from tokenizers import Tokenizer
from unspool.errors import ArgumentError
from unspool.serve import ServeOptions, create_app

from ..gguf_models import SCRIPTED_WIDTH, GgufVocabulary, codes_of, write_scripted_model
from ..serve.conftest import client_of
from .suite import TEMPLATE, Turn
from .wires import WIRES

__all__ = ["FORMAT", "VOCABULARY", "Book", "Stage", "write_book"]

FORMAT = "qwen3"
VOCABULARY = GgufVocabulary.of_bytes(
    ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"],
    "<|im_end|>",
)
#: A letter that no merge has: it is a token.
_PAD = "x"
_CONTEXT = 8192


@dataclass
class Book:
    """What comes after each place.

    Attributes:
        following: A token for each place.
        pads: What makes the prompt of each turn, by its name, end where its output begins.
    """

    following: list[int]
    pads: dict[str, str] = field(default_factory=dict)

    def body(self, turn: Turn) -> dict[str, Any]:
        """The turn's request."""
        return turn.body(self.pads[str(turn)])


@dataclass
class Stage:
    """A folder with the model for every engine."""

    folder: Path
    book: Book

    @property
    def gguf(self) -> Path:
        """For llama.cpp."""
        path = self.folder / "model.gguf"
        if not path.exists():
            write_scripted_model(path, VOCABULARY, TEMPLATE, self.book.following)
        return path

    def make_model(self) -> Any:
        """For transformers."""
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel

        end = VOCABULARY.tokens.index(VOCABULARY.end)
        config = GPT2Config(
            vocab_size=len(VOCABULARY.tokens), n_positions=_CONTEXT, n_embd=SCRIPTED_WIDTH, n_layer=1, n_head=2,
            n_inner=SCRIPTED_WIDTH, tie_word_embeddings=False, eos_token_id=end, bos_token_id=end, pad_token_id=end,
        )  # fmt: skip
        model = GPT2LMHeadModel(config).eval()
        codes = torch.from_numpy(codes_of(len(VOCABULARY.tokens), SCRIPTED_WIDTH))
        with torch.no_grad():
            for name, weight in model.named_parameters():
                weight.fill_(1.0 if ".ln_" in name and name.endswith("weight") else 0.0)
            model.transformer.wpe.weight.copy_(codes[self.book.following])
            model.lm_head.weight.copy_(codes)
        return model

    def write_model(self) -> Path:
        """A folder for vLLM: the same as files."""
        if not (self.folder / "config.json").exists():
            self.make_model().save_pretrained(self.folder)
        return self.folder

    def load_tokenizer(self) -> Any:
        """For transformers."""
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self.folder)

    def make_generator(self, **options: Any) -> unspool.StreamGenerator:
        """The model in this process."""
        return unspool.StreamGenerator(self.make_model(), self.load_tokenizer(), format=FORMAT, **options)


def write_book(folder: Path, turns: Sequence[Turn]) -> Stage:
    """Find a place for each turn's output, behind its prompt, and write the tokenizer."""
    VOCABULARY.write_tokenizer(folder, TEMPLATE)
    end = VOCABULARY.tokens.index(VOCABULARY.end)
    stage = Stage(folder, Book([end] * _CONTEXT))
    lengths = asyncio.run(_measure(stage.load_tokenizer(), turns))
    encode = Tokenizer.from_file(str(folder / "tokenizer.json")).encode
    # An output has one place, behind the longest prompt that it answers.
    behind: dict[str, int] = {}
    for turn in turns:
        output = turn.scenario.output
        behind[output] = max(behind.get(output, 0), lengths[str(turn)])
    places: dict[str, int] = {}
    place = 0
    for output, length in sorted(behind.items(), key=lambda entry: entry[1]):
        places[output] = place = max(place, length)
        script = encode(output).ids
        # The prompt's last token stands at the place before.
        stage.book.following[place - 1 : place - 1 + len(script)] = script
        place += len(script) + 1
    for turn in turns:
        stage.book.pads[str(turn)] = _PAD * (places[turn.scenario.output] - lengths[str(turn)])
    assert place < _CONTEXT, f"the book needs {place} places"
    return stage


async def _measure(tokenizer: Any, turns: Iterable[Turn]) -> dict[str, int]:
    """How many tokens the prompt of each turn has without a pad, as our own server counts them."""
    model = _Measuring(tokenizer)
    lengths: dict[str, int] = {}
    async with client_of(create_app({"m": model}, ServeOptions())) as client:
        for turn in turns:
            answer = await client.post(WIRES[turn.wire].path, content=json.dumps(turn.body()))
            assert "is measured" in answer.text, f"{turn}: {answer.status_code} {answer.text}"
            lengths[str(turn)] = model.count
    return lengths


class _Measuring(unspool.StreamGenerator):
    """Counts the prompt's tokens, and answers nothing."""

    count = 0

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(_NoModel(), tokenizer, format=FORMAT)

    def begin(self, request: unspool.AnswerRequest) -> Any:
        self.count = self.count_tokens(
            request.prompt,
            tools=request.tools,
            chat_template_kwargs=request.template_kwargs,
            prefill=request.prefill,
        )
        raise ArgumentError("the prompt is measured")


class _NoModel:
    """StreamGenerator looks at it when it runs, which it never does."""

    config: Any = None
    generation_config: Any = None
