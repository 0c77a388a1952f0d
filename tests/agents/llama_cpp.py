"""The same script, written by llama.cpp itself: a random model that a grammar keeps to the step's text.

Its prompts are real, and so are its tokens, its stream, its prefix cache and its slots.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from unspool.generation.answer_request import AnswerRequest
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.prompts.chat_tokenizer import ChatTokenizer
from unspool.serve.engines import EngineModel, EngineOutput, EngineRequest
from unspool.serve.engines.http import EngineHttp
from unspool.serve.engines.llama_cpp import LlamaCpp

from ..engines.llama_cpp_server import LlamaCppServer, running_llama_cpp
from ..engines.suite import TEMPLATE
from ..engines.vllm_model import MARKERS, SPECIAL, make_tokenizer
from ..gguf_models import GgufVocabulary, write_random_model
from .model import ScriptedModel, Step

__all__ = ["LlamaCppModel", "playing"]

#: Agents' prompts have 10,000 tokens and more.
_CONTEXT = 65_536
_text: ContextVar[str] = ContextVar("text")


class LlamaCppModel(EngineModel):
    """Writes a script through llama.cpp; prompts and streams are kept as of `ScriptedModel`."""

    def __init__(self, script: ScriptedModel, server: LlamaCppServer, folder: Path, delay_s: float) -> None:
        self._script = script
        tokenizer = ChatTokenizer.from_pretrained(str(folder))
        engine = _Forced(EngineHttp(server.url), Tokenizer.from_file(str(folder / "tokenizer.json")), delay_s)
        super().__init__(engine, tokenizer, format="qwen3")
        self.prompts: list[list[dict[str, Any]]] = []
        self.streams: list[DeltaStream] = []

    def begin(self, request: AnswerRequest) -> DeltaStream:
        """An answer: the next step of the script."""
        schema = None if request.response is None else request.response.schema
        _text.set(self._script.text_of(request.prompt, request.tools, schema))
        stream = super().begin(replace(request, response=None, tool_choice="auto"))
        if self._script.is_of_loop(request.tools):
            self.prompts.append(request.prompt)
            self.streams.append(stream)
        return stream


class _Forced(LlamaCpp):
    """Keeps each answer to the text of the context that asks for it."""

    def __init__(self, http: EngineHttp, tokenizer: Any, delay_s: float) -> None:
        super().__init__(http)
        self._tokenizer, self._delay_s = tokenizer, delay_s

    def _body(self, request: EngineRequest) -> dict[str, Any]:
        return {**super()._body(request), "grammar": _literal(_text.get(), self._tokenizer)}

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:
        """As of `Engine`, and slower."""
        async with contextlib.aclosing(super().generate(request)) as outputs:
            async for output in outputs:
                yield output
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)


def _literal(text: str, tokenizer: Any) -> str:
    """A GBNF that admits one text, with its markers as tokens."""
    added = {text: tokenizer.token_to_id(text) for text in (*SPECIAL, *MARKERS)}
    parts, begin = [], 0
    while begin < len(text):
        found = [(at, marker) for marker in added if (at := text.find(marker, begin)) >= 0]
        end, marker = min(found, default=(len(text), ""))
        if end > begin:
            parts.append(_quoted(text[begin:end]))
        if marker:
            parts.append(f"<[{added[marker]}]>")
        begin = end + len(marker)
    return "root ::= " + " ".join(parts)


def _quoted(text: str) -> str:
    return (
        '"'
        + "".join(char if char.isalnum() and char.isascii() else f"\\U{ord(char):08x}" for char in text)
        + '"'
    )


@cache
def _model() -> Path:
    """A folder with the model and its tokenizer, made once."""
    folder = Path(tempfile.mkdtemp(prefix="unspool-agents-"))
    found = json.loads(make_tokenizer().backend_tokenizer.to_str())["model"]
    plain = sorted(found["vocab"], key=found["vocab"].get)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in found["merges"]]
    vocabulary = GgufVocabulary(plain, SPECIAL, MARKERS, "<|im_end|>", merges)
    vocabulary.write_tokenizer(folder, TEMPLATE)
    write_random_model(folder / "model.gguf", vocabulary, TEMPLATE, _CONTEXT)
    return folder


@contextlib.contextmanager
def playing(steps: Sequence[Step], delay_s: float = 0.0) -> Iterator[LlamaCppModel]:
    """A model whose template can switch the reasoning off."""
    folder = _model()
    with running_llama_cpp(folder / "model.gguf", 2, _CONTEXT) as server:
        yield LlamaCppModel(ScriptedModel("qwen3", steps), server, folder, delay_s)
