"""A model for the server whose tokens come from an engine; template, grammar and parser are unspool's."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unspool._core import Format, Vocabulary
from unspool.core.format.other_families import Also
from unspool.core.stream.parser_options import ParsingOptions
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError, EngineError
from unspool.formats.choose_format import check_format_names, choose_format
from unspool.generation.answer_request import AnswerRequest
from unspool.generation.answers import Answers
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.prefill.context_limit import fit_limit
from unspool.generation.prepare_answer import Reading, answer_grammar, prepare_answer
from unspool.generation.reasoning_budget import closer_of
from unspool.generation.sampling_params import SamplingParams, same_answers
from unspool.generation.served_model import ServedModel
from unspool.generation.task_worker import TaskWorker, background_loop
from unspool.generation.telemetry import Traced, operation_of
from unspool.serve.engines.engine import Engine, EngineRequest
from unspool.serve.engines.engine_prompt import EnginePrompt, PromptReader
from unspool.serve.engines.engine_run import EngineRun
from unspool.serve.engines.left_out_ids import LeftOutIds
from unspool.serve.engines.reasoning_limit import ReasoningLimit
from unspool.serve.engines.session import session_of
from unspool.writing.grammar.request_grammar import format_of
from unspool.writing.grammar_result import Grammar

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["EngineModel"]

_log = logging.getLogger("unspool.serve")

# Seconds between two checks that the engine answers.
_WATCH_S = 2.0


class EngineModel(ServedModel):
    """A model for the server, whose tokens come from an engine.

    In a server the engine's requests run on the server's event loop. Without a server, `stream` uses a loop in a thread
    that all models share.

    Args:
        engine: Runs the model.
        tokenizer: A `ChatTokenizer`, or a tokenizer of transformers or `tokenizers`; it has the chat template and the
            vocabulary. Without a vocabulary, answers are read as text.
        format, reasoning: As in `Parser`; "auto": detected from the tokenizer.
        also: As in `Parser`.
        max_new_tokens: The maximum number of tokens in an answer if the request sets no limit.

    Attributes:
        failure: The error of the last check, if the engine did not answer it; None: it did.
    """

    def __init__(
        self,
        engine: Engine,
        tokenizer: Any,
        *,
        format: str = "auto",
        reasoning: str | bool | None = None,
        also: Also = (),
        max_new_tokens: int = 1024,
    ) -> None:
        check_format_names(format, reasoning)
        self.engine, self.tokenizer = engine, tokenizer
        self.inference_name = engine.model_name
        self.format, self.reasoning, self._also = format, reasoning, also
        self._max_new_tokens = max_new_tokens
        has_vocabulary = getattr(tokenizer, "vocabulary", tokenizer) is not None
        self._vocabulary: Vocabulary | None = from_tokenizer(tokenizer) if has_vocabulary else None
        self._prompts = PromptReader(tokenizer, engine, self._vocabulary)
        self._left_out: LeftOutIds | None = None
        if engine.leaves_out_ids and self._vocabulary is not None:
            self._left_out = LeftOutIds(self._vocabulary)
        self._chosen: tuple[Any, str | bool | None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.failure: EngineError | None = None

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run the engine's requests on this event loop and check the engine regularly, while a server runs."""
        self._loop = asyncio.get_running_loop()
        await self._look()
        watch = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            await self.engine.aclose()
            self._loop = None

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_S)
            await self._look()

    async def _look(self) -> None:
        was_ready = self.is_ready
        try:
            await self.engine.check_ready()
            self.failure = None
        except EngineError as error:
            self.failure = error
        if self.is_ready != was_ready:
            _log.warning("%s", self.failure or "the engine answers again")

    @property
    def is_ready(self) -> bool:
        """Whether the engine answered the last check."""
        return self.failure is None

    @property
    def context_length(self) -> int | None:
        """The maximum number of token ids in a prompt and its answer together; None: the engine does not report it."""
        return self.engine.context_length

    def format_name(self, tools: Any = None) -> str:
        """The name of the format in which an answer with these tools is parsed."""
        chosen = self._choose_format(tools)[0]
        return chosen if isinstance(chosen, str) else chosen.name

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the server's first log line says of the model."""
        return {**super().facts, "engine": self.engine}

    def with_format(self, format: Any = None, reasoning: str | bool | None = None) -> Self:
        """Return the same model with another format, as in `StreamGenerator`."""
        check_format_names(format, reasoning)
        other = copy.copy(self)
        other.format = self.format if format is None else format
        other.reasoning = self.reasoning if reasoning is None else reasoning
        other._chosen = None
        return other

    def tokenize(
        self,
        prompt: Any,
        *,
        tools: Sequence[Any] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        prefill: bool | str = False,
    ) -> list[int]:
        """Return the token ids of a prompt, as in `StreamGenerator.tokenize`.

        Raises:
            ArgumentError: Neither this process nor the engine has a tokenizer.
        """
        read = self._prompts.read(prompt, tools, chat_template_kwargs, prefill)
        if read.ids is None:
            raise ArgumentError(
                "tokens cannot be counted: the engine has no tokenizer; start the server with --tokenizer"
            )
        return list(read.ids)

    def begin(self, request: AnswerRequest) -> DeltaStream:
        """Begin an answer, as in `StreamGenerator`. It always keeps to the context.

        Raises:
            ArgumentError: Also if the request needs a feature that the engine lacks: a grammar, log-probabilities, or a
                limit of the reasoning.
        """
        request.check_needs_no_torch()
        sampling = request.sampling
        count = sampling.n or 1
        if count > 1 and sampling.temperature == 0:
            raise same_answers(count)
        read = self._prompts.read(request.prompt, request.tools, request.template_kwargs, request.prefill)
        wants_text = self._vocabulary is None or not self.engine.gives_ids
        if wants_text:
            _check_text_alone(sampling, request.parsing)
        format, reasoning = ("none", None) if request.raw else self._choose_format(request.tools)
        reading = Reading(
            format=format,
            reasoning=reasoning,
            vocabulary=None if wants_text else self._vocabulary,
            syntax=self.engine.grammar_syntax,
            options={"also": self._also},
        )
        answer = prepare_answer(
            request,
            reading,
            sampling,
            lambda: self._prompts.end_of(read),
            prompt=read.ids if read.text is None else read.text,
        )
        sent = EngineRequest(
            prompt_ids=read.ids,
            prompt_text=read.text if read.ids is None else None,
            adds_special_tokens=read.adds_special_tokens,
            wants_text=wants_text,
            sampling=self._sampling(sampling, read),
            grammar=_own(answer.grammar),
            session=session_of(request.prompt),
            preserved_tokens=() if request.raw or not wants_text else _markers(format, reasoning),
        )
        loop = self._loop or background_loop()
        run = EngineRun(
            channel=answer.channel,
            answers=Answers(answer.parsers, has_logprobs=sampling.logprobs is not None),
            setups=answer.setups,
            prompt_tokens=len(read.ids or ()),
            engine=self.engine,
            requests=[_of_choice(sent, choice) for choice in range(count)],
            loop=loop,
            vocabulary=self._vocabulary,
            left_out=self._left_out,
            traced=Traced(
                operation=operation_of(request.prompt, request.raw),
                model=self.engine.model_name,
                provider=self.engine.label.lower(),
                sampling=sent.sampling.replace(n=count),
                is_elsewhere=True,
            ),
            limit=None if request.raw else self._reasoning_limit(request, reading),
        )
        return DeltaStream.start(run, TaskWorker(answer.channel, run.work, loop), request.timeout_s)

    def _sampling(self, sampling: SamplingParams, read: EnginePrompt) -> SamplingParams:
        """Return the parameters for one answer, with a `max_tokens` that fits the context."""
        limit: int | None = sampling.max_tokens or self._max_new_tokens
        if self.context_length is not None and read.ids is not None:
            limit = fit_limit(len(read.ids), self.context_length, limit, sampling.max_tokens is not None)
        return sampling.replace(max_tokens=limit, n=1)

    def _reasoning_limit(self, request: AnswerRequest, reading: Reading) -> ReasoningLimit | None:
        most = request.sampling.max_reasoning_tokens
        if most is None or self._vocabulary is None:
            return None
        closer = closer_of(reading.format, reading.reasoning, self._vocabulary)
        ids = None if closer is None else self._prompts.encode(closer)
        if closer is not None and ids is None:
            raise ArgumentError("max_reasoning_tokens needs a tokenizer; start the server with --tokenizer")
        if ids is None:
            return None

        def grammar_after(ids: Sequence[int]) -> Grammar | None:
            return _own(
                answer_grammar(request, reading, lambda: self._prompts.end_of(EnginePrompt(None, ids)))
            )

        return ReasoningLimit(most, list(ids), grammar_after)

    def _choose_format(self, tools: Any) -> tuple[Any, str | bool | None]:
        if self.format == "auto" and not tools and not getattr(self.tokenizer, "chat_template", None):
            return "none", None
        if self._chosen is None:  # inspecting the template takes as long as rendering it
            self._chosen = choose_format(self.format, self.tokenizer, self.reasoning)
        return self._chosen


def _own(grammar: str | Grammar | None) -> Grammar | None:
    """Return a grammar that was made for an engine; only a caller's own grammar is a str, and it is rejected earlier."""
    assert not isinstance(grammar, str)
    return grammar


def _check_text_alone(sampling: SamplingParams, parsing: ParsingOptions) -> None:
    """Raise ArgumentError for options that need token ids."""
    for name, is_set in (
        ("logprobs", sampling.logprobs is not None),
        ("max_reasoning_tokens", sampling.max_reasoning_tokens is not None),
        ("stop_in 'everywhere'", parsing.get("stop_in") == "everywhere" and bool(sampling.stop)),
        ("strict_markers", parsing.get("strict_markers", False)),
        ("stop_token_ids", bool(sampling.stop_token_ids)),
    ):
        if is_set:
            raise ArgumentError(
                f"{name} needs token ids, and this engine's answers are read as text; leave it out"
            )


def _markers(format: Any, reasoning: str | bool | None) -> tuple[str, ...]:
    """Return the markers of a format; an engine must not strip their text."""
    file = format_of(format, reasoning)
    return () if isinstance(file, Format) else tuple(file.facts.markers)


def _of_choice(request: EngineRequest, choice: int) -> EngineRequest:
    """Return the request for one of several answers, with its own seed."""
    seed = request.sampling.seed
    if seed is None or choice == 0:
        return request
    return replace(request, sampling=request.sampling.replace(seed=(seed + choice) % 2**64))
