"""A model for the server whose tokens come from an engine; template, grammar and parser are unspool's."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unspool._core import DeltaChannel, Vocabulary
from unspool.core.format.other_families import Also
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError, EngineError
from unspool.formats.choose_format import check_format_names, choose_format
from unspool.generation.answers import Answers
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.prefill.context_limit import fit_limit
from unspool.generation.reasoning_budget import closer_of
from unspool.generation.sampling_params import SamplingParams, same_answers
from unspool.generation.task_worker import TaskWorker, background_loop
from unspool.generation.telemetry import Traced, operation_of
from unspool.serve.engines.engine import Engine, EngineRequest
from unspool.serve.engines.engine_prompt import EnginePrompt, PromptReader
from unspool.serve.engines.engine_run import EngineRun
from unspool.serve.engines.left_out_ids import LeftOutIds
from unspool.serve.engines.reasoning_limit import ReasoningLimit
from unspool.serve.engines.session import session_of
from unspool.streams.parser import ChannelParser, Parser
from unspool.streams.recording.recorded_answer import ParserSetup
from unspool.streams.token_streamer import TokenStreamer
from unspool.writing.grammar.request_grammar import (
    check_beside_grammar,
    choice_beside,
    format_of,
    request_grammar,
)
from unspool.writing.grammar_result import Grammar

if TYPE_CHECKING:
    from typing_extensions import Self

    from unspool.core.stream.stream_options import StopIn

__all__ = ["EngineModel"]

_log = logging.getLogger("unspool.serve")

# Seconds between two checks that the engine answers.
_WATCH_S = 2.0


class EngineModel:
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

    @property
    def inference_name(self) -> str | None:
        """The name under which the server serves it."""
        return self.engine.model_name

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
        return str(getattr(chosen := self._choose_format(tools)[0], "name", chosen))

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

    def count_tokens(self, prompt: Any, **options: Any) -> int:
        """Count the token ids of a prompt; the arguments are those of `tokenize`."""
        return len(self.tokenize(prompt, **options))

    def stream(
        self,
        prompt: Any,
        *,
        sampling: SamplingParams | Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = "auto",
        response_format: Any = None,
        prefill: bool | str = False,
        raw: bool = False,
        timeout: float | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        parallel_tool_calls: bool = True,
        reasoning_field: str = "reasoning_content",
        stop_in: StopIn = "content",
        strict_markers: bool = False,
        within_context: bool = True,
    ) -> DeltaStream:
        """Begin an answer. The arguments and errors are those of `StreamGenerator.stream`.

        Raises:
            ArgumentError: Also if the request needs a feature that the engine lacks: a grammar, log-probabilities, or a
                limit of the reasoning.
        """
        sampling = SamplingParams.read(sampling)
        count = sampling.n or 1
        if count > 1 and sampling.temperature == 0:
            raise same_answers(count)
        read = self._prompts.read(prompt, tools, chat_template_kwargs, prefill)
        wants_text = self._vocabulary is None or not self.engine.gives_ids
        if wants_text:
            _check_text_alone(sampling, stop_in, strict_markers)
        format, reasoning = ("none", None) if raw else self._choose_format(tools)

        def grammar_behind(read: EnginePrompt) -> Grammar | None:
            made = request_grammar(
                format,
                reasoning,
                None if raw else tools,
                tool_choice=tool_choice,
                response_format=response_format,
                parallel=parallel_tool_calls,
                read_prompt_end=lambda: self._prompts.end_of(read),
                start_in="auto",
                vocabulary=None if wants_text else self._vocabulary,
                syntax=self.engine.grammar_syntax,
            )
            assert not isinstance(made, str)  # only a caller's own grammar is a str
            return made

        grammar = grammar_behind(read)
        if grammar is not None:
            check_beside_grammar(bool(prefill), bool(sampling.ignore_eos))
        options: dict[str, Any] = {
            "tool_choice": choice_beside(grammar, tool_choice, tools),
            "reasoning": reasoning,
            "also": () if raw else self._also,
            "stop": tuple(sampling.stop),
            "stop_in": stop_in,
            "parallel_tool_calls": parallel_tool_calls,
            "reasoning_field": reasoning_field,
            "strict_markers": strict_markers and not raw,
        }
        for name in ("include_stop", "skip_special_tokens"):
            if (value := getattr(sampling, name)) is not None:
                options[name] = value
        channel = DeltaChannel()
        delivery: dict[str, Any] = {"channel": channel, "closes_channel": False}
        delivery["prompt"] = read.ids if read.text is None else read.text
        parsers: list[Parser] = [
            ChannelParser(format, tools, choice=choice, **delivery, **options)
            if wants_text
            else TokenStreamer(
                self._vocabulary, format, tools, choice=choice, skip_prompt=False, **delivery, **options
            )
            for choice in range(count)
        ]
        request = EngineRequest(
            prompt_ids=read.ids,
            prompt_text=read.text if read.ids is None else None,
            adds_special_tokens=read.adds_special_tokens,
            wants_text=wants_text,
            sampling=self._sampling(sampling, read, within_context),
            grammar=grammar,
            session=session_of(prompt),
            preserved_tokens=() if raw or not wants_text else _markers(format, reasoning),
        )
        loop = self._loop or background_loop()
        run = EngineRun(
            channel=channel,
            answers=Answers(parsers, has_logprobs=sampling.logprobs is not None),
            setups=[ParserSetup(format, tools, options, None if wants_text else self._vocabulary)] * count,
            prompt_tokens=len(read.ids or ()),
            engine=self.engine,
            requests=[_of_choice(request, choice) for choice in range(count)],
            loop=loop,
            vocabulary=self._vocabulary,
            left_out=self._left_out,
            traced=Traced(
                operation=operation_of(prompt, raw),
                model=self.engine.model_name,
                provider=self.engine.label.lower(),
                sampling=request.sampling.replace(n=count),
                is_elsewhere=True,
            ),
            limit=None if raw else self._reasoning_limit(sampling, format, reasoning, grammar_behind),
        )
        return DeltaStream.start(run, TaskWorker(channel, run.work, loop), timeout)

    def _sampling(self, sampling: SamplingParams, read: EnginePrompt, within_context: bool) -> SamplingParams:
        """Return the parameters for one answer, with a `max_tokens` that fits the context."""
        limit: int | None = sampling.max_tokens or self._max_new_tokens
        if within_context and self.context_length is not None and read.ids is not None:
            limit = fit_limit(len(read.ids), self.context_length, limit, sampling.max_tokens is not None)
        return sampling.replace(max_tokens=limit, n=1)

    def _reasoning_limit(
        self,
        sampling: SamplingParams,
        format: Any,
        reasoning: str | bool | None,
        grammar_behind: Callable[[EnginePrompt], Grammar | None],
    ) -> ReasoningLimit | None:
        most = sampling.max_reasoning_tokens
        if most is None or self._vocabulary is None:
            return None
        closer = closer_of(format, reasoning, self._vocabulary)
        ids = None if closer is None else self._prompts.encode(closer)
        if closer is not None and ids is None:
            raise ArgumentError("max_reasoning_tokens needs a tokenizer; start the server with --tokenizer")
        return (
            None
            if ids is None
            else ReasoningLimit(most, list(ids), lambda ids: grammar_behind(EnginePrompt(None, ids)))
        )

    def _choose_format(self, tools: Any) -> tuple[Any, str | bool | None]:
        if self.format == "auto" and not tools and not getattr(self.tokenizer, "chat_template", None):
            return "none", None
        if self._chosen is None:  # inspecting the template takes as long as rendering it
            self._chosen = choose_format(self.format, self.tokenizer, self.reasoning)
        return self._chosen


def _check_text_alone(sampling: SamplingParams, stop_in: StopIn, strict_markers: bool) -> None:
    """Raise ArgumentError for options that need token ids."""
    for name, is_set in (
        ("logprobs", sampling.logprobs is not None),
        ("max_reasoning_tokens", sampling.max_reasoning_tokens is not None),
        ("stop_in 'everywhere'", stop_in == "everywhere" and bool(sampling.stop)),
        ("strict_markers", strict_markers),
        ("stop_token_ids", bool(sampling.stop_token_ids)),
    ):
        if is_set:
            raise ArgumentError(
                f"{name} needs token ids, and this engine's answers are read as text; leave it out"
            )


def _markers(format: Any, reasoning: str | bool | None) -> tuple[str, ...]:
    """Return the markers of a format; an engine must not strip their text."""
    markers: tuple[str, ...] = getattr(getattr(format_of(format, reasoning), "facts", None), "markers", ())
    return markers


def _of_choice(request: EngineRequest, choice: int) -> EngineRequest:
    """Return the request for one of several answers, with its own seed."""
    seed = request.sampling.seed
    if seed is None or choice == 0:
        return request
    return replace(request, sampling=request.sampling.replace(seed=(seed + choice) % 2**64))
