"""Models that replay the formats' cases, so that clients can be tried without a model or a download."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from unspool._core import DeltaChannel, ToolSchemas
from unspool.core.stream.custom_tools import as_function
from unspool.core.stream.parser_options import AnswerOptions
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile, formats, get_format
from unspool.generation.answer_request import AnswerRequest
from unspool.generation.answers import Answers
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.prepare_answer import Reading, open_parser, parser_options
from unspool.generation.sampling_params import same_answers
from unspool.generation.served_model import ServedModel
from unspool.generation.telemetry import Traced, operation_of
from unspool.generation.worker import GenerationWorker
from unspool.serve.models.demo_run import DemoRun, Script
from unspool.serve.models.example_value import example_value
from unspool.serve.wires.tools import said_of
from unspool.streams.parser import Parser
from unspool.streams.recording.recorded_answer import ParserSetup
from unspool.testing.cases import Case, shipped_cases
from unspool.writing.render.render import write_text
from unspool.writing.schemas.json_schema import normalise

__all__ = ["DemoModel", "DemoModels"]

# A made-up tokenizer: words with the space before them, numbers, runs of signs.
_PIECE = re.compile(r" ?[A-Za-z]{1,6}|[0-9]{1,3}|[^A-Za-z0-9]{1,2}", re.DOTALL)


class DemoModels(Mapping[str, "DemoModel"]):
    """A demo model for each format; the name "hermes:one call" is the model that always replays that case.

    Args:
        delay_s: Seconds that a model takes for a token.
    """

    def __init__(self, delay_s: float = 0.0) -> None:
        self._delay_s = delay_s
        self._names = [file.name for file in formats()]
        _cases_by_format()  # now, not during the first requests

    def __getitem__(self, name: str) -> DemoModel:
        format, _, case = name.partition(":")
        file = get_format(format)  # a LookupError if there is none
        model = DemoModel(file, delay_s=self._delay_s)
        if not case:
            return model
        return DemoModel(file, model.find_case(case), self._delay_s)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class DemoModel(ServedModel):
    """Replays the cases of one format in a worker, piece by piece, as if a model wrote them.

    Replays the case that is named: in the arguments below, as `case` in the request's metadata, or by a last
    message that is the case's name. Otherwise `seed` chooses among the cases that fit the request. Tools that no
    case calls are called with made-up arguments.

    Args:
        file: The format.
        case: The case to replay for every request.
        delay_s: Seconds that a token takes.
    """

    #: Variables that switch reasoning off; then a case without reasoning is replayed.
    template_names = ("enable_thinking", "reasoning_effort")

    def __init__(self, file: FormatFile, case: Case | None = None, delay_s: float = 0.0) -> None:
        self._file = file
        self._case = case
        self._delay_s = delay_s
        self.served_name = file.name

    def with_metadata(self, metadata: Mapping[str, Any]) -> DemoModel:
        """Return the model that replays `metadata["case"]`, or this model if there is none."""
        name = metadata.get("case")
        if name is None:
            return self
        try:
            return DemoModel(self._file, self.find_case(str(name)), self._delay_s)
        except LookupError as error:
            raise ArgumentError(f"metadata.case: {error.args[0]}") from None

    def with_format(self, format: Any = None, reasoning: str | bool | None = None) -> Any:
        """Return the model that writes in another format."""
        if reasoning is not None:
            raise ArgumentError("a demo model reasons as its format does; leave the reasoning's format out")
        return self if format is None else DemoModel(get_format(format), delay_s=self._delay_s)

    def find_case(self, name: str) -> Case:
        """Return the case with this name.

        Raises:
            LookupError: The format has no such case.
        """
        for case in _cases(self._file.name):
            if case.name == name:
                return case
        raise LookupError(f"format '{self._file.name}' has no case '{name}'")

    def format_name(self, tools: Any = None) -> str:  # noqa: ARG002
        """The name of the format whose cases it replays."""
        return self._file.name

    def count_tokens(self, prompt: Any, *, tools: Any = None, **_: Any) -> int:
        """Count the pieces into which the made-up tokenizer splits a prompt."""
        text = prompt if isinstance(prompt, str) else json.dumps([prompt, tools], ensure_ascii=False)
        return len(_PIECE.findall(text))

    def begin(self, request: AnswerRequest) -> DeltaStream:
        """Begin to replay a case."""
        request.check_needs_no_torch()
        sampling, stop_in = request.sampling, request.parsing.get("stop_in", "content")
        count = sampling.n or 1
        if count > 1 and not sampling.temperature:
            raise same_answers(count)
        if request.parsing.get("strict_markers"):
            raise ArgumentError("a demo replays text, which has no tokens; leave strict_markers out")
        if request.response is not None and request.response.schema is None:
            raise ArgumentError(
                "a demo replays text, so it keeps to no choice, regex or grammar; leave it out"
            )
        schema = None if request.response is None else request.response.schema
        if schema is not None:
            normalise(schema)  # raises if the schema is malformed, as its grammar would
        tools = None if isinstance(request.tools, ToolSchemas) else request.tools
        tool_choice = request.tool_choice
        wants = _Wants(request.prompt, tools, tool_choice, _is_thinking(request.template_kwargs), schema)
        reading = Reading(format="none" if request.raw else self._file)
        options = parser_options(request, reading, sampling)
        options["tool_choice"] = "auto"  # the outputs have calls in their format's own form
        if stop_in == "everywhere":  # a parser of text does not look into calls for them
            options["stop"], options["stop_in"] = (), "content"
        channel = DeltaChannel()
        setups, parsers, scripts = list[ParserSetup](), list[Parser](), list[Script]()
        for choice in range(count):
            case = self._case or self._choose(wants, (sampling.seed or 0) + choice)
            case_options = options.copy()
            if not request.raw:
                case_options |= cast("AnswerOptions", case.options)
            if tool_choice == "none":
                case_options["tool_choice"] = "none"
            case_tools = None if case.tools is None else list(case.tools)
            setups.append(ParserSetup(reading.format, case_tools, case_options))
            parsers.append(open_parser(reading, case_tools, case_options, channel, choice))
            output, finish_reason, stop = _stopped(case, sampling.stop if stop_in == "everywhere" else ())
            pieces = _PIECE.findall(output)
            if sampling.max_tokens is not None and len(pieces) > sampling.max_tokens:
                pieces, finish_reason, stop = pieces[: sampling.max_tokens], "length", None
            scripts.append(Script(pieces, finish_reason, stop))
        run = DemoRun(
            channel=channel,
            answers=Answers(parsers),
            setups=setups,
            prompt_tokens=self.count_tokens(request.prompt, tools=tools),
            scripts=scripts,
            traced=Traced(
                operation=operation_of(request.prompt, request.raw),
                model=None,
                provider="unspool",
                sampling=sampling,
            ),
            delay_s=self._delay_s,
        )
        return DeltaStream.start(run, GenerationWorker(channel, run.work), request.timeout_s)

    def _choose(self, wants: _Wants, number: int) -> Case:
        named = next((case for case in _cases(self._file.name) if case.name == wants.last_text), None)
        if named is not None:
            return named
        if wants.calls and self._file.has_tools:
            offered = {said_of(tool)["name"] for tool in wants.tools or ()}
            fitting = [case for case in _calling_cases(self._file.name) if _names(case) <= offered]
            return _nth(fitting, number) or self._made_up_call(wants)
        if wants.schema is not None:
            value = json.dumps(example_value(wants.schema), ensure_ascii=False)
            return self._made_up("", value, [], ())
        fitting = [case for case in _plain_cases(self._file.name) if wants.thinks or not case.reasoning]
        return _nth(fitting, number) or self._made_up("", "This is the answer of a demo.", [], None)

    def _made_up_call(self, wants: _Wants) -> Case:
        tools = [dict(as_function(tool)["function"]) for tool in wants.tools or ()]
        name = tools[0]["name"]
        arguments = example_value(tools[0].get("parameters") or {})
        # A tool without parameters takes no arguments.
        return self._made_up("", "", [(name, arguments if isinstance(arguments, dict) else {})], tools)

    def _made_up(self, reasoning: str, content: str, calls: list[Any], tools: Any) -> Case:
        made = [{"name": name, "arguments": arguments} for name, arguments in calls]
        text = write_text(self._file, {"reasoning": reasoning, "content": content, "tool_calls": made})
        return Case(self._file.name, "made up", text, tools=None if tools is None else tuple(tools))


@dataclasses.dataclass(frozen=True)
class _Wants:
    """What a request demands of its answer."""

    prompt: Any
    tools: Sequence[Mapping[str, Any]] | None
    tool_choice: str | Mapping[str, Any] | None
    thinks: bool
    schema: Mapping[str, Any] | None

    @property
    def calls(self) -> bool:
        """Whether the answer should hold calls: there are tools, and they have no results yet."""
        return bool(self.tools) and self.tool_choice != "none" and self._last.get("role") != "tool"

    @property
    def last_text(self) -> str:
        text = self.prompt if isinstance(self.prompt, str) else self._last.get("content")
        return text.strip() if isinstance(text, str) else ""

    @property
    def _last(self) -> Mapping[str, Any]:
        is_chat = isinstance(self.prompt, list) and self.prompt and isinstance(self.prompt[-1], Mapping)
        return self.prompt[-1] if is_chat else {}


@functools.cache
def _cases_by_format() -> Mapping[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in shipped_cases():
        found.setdefault(case.format, []).append(case)
    return found


def _cases(format: str) -> Sequence[Case]:
    return _cases_by_format().get(format, ())


@functools.cache
def _calling_cases(format: str) -> tuple[Case, ...]:
    """Return the cases that end normally and have calls."""
    return tuple(case for case in _cases(format) if case.calls and _ends_well(case))


@functools.cache
def _plain_cases(format: str) -> tuple[Case, ...]:
    """Return the cases that end normally and have only content, possibly after reasoning."""
    return tuple(case for case in _cases(format) if case.content and not case.calls and _ends_well(case))


def _ends_well(case: Case) -> bool:
    complete = all(status == "complete" for _, _, status in case.calls)
    usual = set(case.options) <= {"prompt"}
    return case.finish_reason == "stop" and complete and usual and not case.malformed


def _names(case: Case) -> set[str]:
    return {name for name, _, _ in case.calls}


def _nth(cases: Sequence[Case], number: int) -> Case | None:
    return cases[number % len(cases)] if cases else None


def _stopped(case: Case, stop: Sequence[str]) -> tuple[str, str, str | None]:
    """Return the output up to the first stop string, its finish reason, and the stop string."""
    places = [(place, -len(text), text) for text in stop if (place := case.input.find(text)) >= 0]
    if not places:
        return case.input, case.finish_reason, None
    place, _, text = min(places)
    return case.input[:place], "stop", text


def _is_thinking(template_kwargs: Mapping[str, Any]) -> bool:
    return (
        template_kwargs.get("enable_thinking", True) is not False
        and template_kwargs.get("reasoning_effort") != "none"
    )
