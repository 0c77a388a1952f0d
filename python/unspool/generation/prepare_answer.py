"""Turns a request into the parsers and the grammar of its answers, for every kind of model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unspool._core import DeltaChannel, Format, Vocabulary
from unspool.core.stream.parser_options import AnswerOptions, ParsingOptions
from unspool.generation.answer_request import AnswerRequest
from unspool.generation.sampling_params import SamplingParams
from unspool.streams.parser import ChannelParser, Parser
from unspool.streams.recording.recorded_answer import ParserSetup
from unspool.streams.token_streamer import TokenStreamer
from unspool.writing.grammar.request_grammar import check_beside_grammar, choice_beside, request_grammar
from unspool.writing.grammar_result import Grammar, Syntax

if TYPE_CHECKING:
    from unspool.formats.format_file import FormatFile

__all__ = ["PreparedAnswer", "Reading", "answer_grammar", "open_parser", "parser_options", "prepare_answer"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the answers of a model are read and constrained.

    Attributes:
        format, reasoning: As in `Parser`; never "auto".
        vocabulary: The vocabulary of the answers' ids; None: the answers are text.
        syntax: The syntax of grammars that constrain the model; None: nothing can.
        options: The model's own options of a parser, for every request.
    """

    format: str | FormatFile | Format
    reasoning: str | bool | None = None
    vocabulary: Vocabulary | None = None
    syntax: Syntax | None = "lark"
    options: ParsingOptions = field(default_factory=ParsingOptions)


@dataclass(frozen=True, kw_only=True)
class PreparedAnswer:
    """What a run needs to turn tokens into deltas.

    Attributes:
        channel: Receives the deltas of all answers.
        parsers, setups: One for each answer.
        grammar: Constrains each answer; None: the answers are free.
    """

    channel: DeltaChannel
    parsers: Sequence[Parser]
    setups: Sequence[ParserSetup]
    grammar: str | Grammar | None


def prepare_answer(
    request: AnswerRequest,
    reading: Reading,
    sampling: SamplingParams,
    read_prompt_end: Callable[[], str | None],
    *,
    prompt: str | Sequence[int] | None = None,
    puts_prompt: bool = False,
) -> PreparedAnswer:
    """Make the grammar and the parsers of a request's answers.

    Args:
        sampling: The request's sampling parameters, with the model's defaults.
        read_prompt_end: Returns the end of the prompt as text, or None if it is not known. Called only if a grammar is
            made.
        prompt: The prompt, if it is known now.
        puts_prompt: Whether the first `put` of each parser is the prompt.

    Raises:
        ArgumentError: No grammar can enforce the request, or an option is invalid.
    """
    grammar = answer_grammar(request, reading, read_prompt_end)
    if grammar is not None:
        check_beside_grammar(bool(request.prefill), bool(sampling.ignore_eos))
    options = parser_options(request, reading, sampling, prompt)
    if request.grammar is None:
        options["tool_choice"] = choice_beside(grammar, request.tool_choice, request.tools)
    setup = ParserSetup(reading.format, request.tools, options, reading.vocabulary)
    channel = DeltaChannel()
    parsers = [
        open_parser(reading, request.tools, options, channel, choice, puts_prompt)
        for choice in range(sampling.n or 1)
    ]
    return PreparedAnswer(channel=channel, parsers=parsers, setups=[setup] * len(parsers), grammar=grammar)


def answer_grammar(
    request: AnswerRequest, reading: Reading, read_prompt_end: Callable[[], str | None]
) -> str | Grammar | None:
    """Return the grammar that constrains a request's answer; the arguments are those of `prepare_answer`."""
    options: ParsingOptions = {**reading.options, **request.parsing}
    return request_grammar(
        reading.format,
        reading.reasoning,
        None if request.raw else request.tools,
        tool_choice=request.tool_choice,
        response=request.response,
        parallel=options.get("parallel_tool_calls", True),
        read_prompt_end=read_prompt_end,
        start_in=options.get("start_in", "auto"),
        vocabulary=reading.vocabulary,
        own=request.grammar,
        syntax=reading.syntax,
    )


def parser_options(
    request: AnswerRequest,
    reading: Reading,
    sampling: SamplingParams,
    prompt: str | Sequence[int] | None = None,
) -> AnswerOptions:
    """Return the options of the answers' parsers. The request's override the model's."""
    options: AnswerOptions = {
        **reading.options,
        **request.parsing,
        "reasoning": reading.reasoning,
        "tool_choice": request.tool_choice,
        "stop": sampling.stop,
        "prompt": prompt,
    }
    if sampling.include_stop is not None:
        options["include_stop"] = sampling.include_stop
    if sampling.skip_special_tokens is not None:
        options["skip_special_tokens"] = sampling.skip_special_tokens
    if request.raw:  # there are no markers
        options.pop("also", None)
        options.pop("strict_markers", None)
    return options


def open_parser(
    reading: Reading,
    tools: Any,
    options: AnswerOptions,
    channel: DeltaChannel,
    choice: int,
    puts_prompt: bool = False,
) -> Parser:
    """Make the parser of one answer.

    Args:
        choice: The index of the answer.
        puts_prompt: As in `prepare_answer`.
    """
    if reading.vocabulary is None:
        return ChannelParser(
            reading.format, tools, channel=channel, choice=choice, closes_channel=False, **options
        )
    return TokenStreamer(
        reading.vocabulary,
        reading.format,
        tools,
        channel=channel,
        choice=choice,
        closes_channel=False,
        skip_prompt=puts_prompt,
        **options,
    )
