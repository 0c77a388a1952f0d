"""SGLang's parser classes with our detectors, driven as its chat endpoint drives them."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.testing import Case, pieces_of, shipped_cases

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

host = pytest.importorskip(
    "unspool.integrations.sglang", reason="SGLang is not installed", exc_type=ImportError
)
pytestmark = pytest.mark.filterwarnings("ignore")  # SGLang's own

host.register()
FORMATS = [file.name for file in unspool.formats()]
TOOLS = [{"type": "function", "function": {"name": "now", "parameters": {}}}]
KEEP_REASONING = ("minimax-append-think", "minimax_m2_append_think")
STACK_NAMES = Path(__file__).parents[2] / "docs" / "stack_names.toml"
PAGE = STACK_NAMES.with_name("sglang.md")
NEEDS_THE_PROMPT = {"inkling: the tool's name is in the header that the prompt opens"}

#: The reasoning parser takes the white space before a header, and cannot know that the header is cut off.
DIFFERS_IN_WHITE_SPACE = {"hyperclovax: cut off inside a header"}

Answer = tuple[str, str, list[tuple[str, str]]]


@pytest.fixture
def forwards_unknown_tools() -> Any:
    with host.envs.SGLANG_FORWARD_UNKNOWN_TOOLS.override(True):
        yield


def tool(function: dict[str, Any]) -> Any:
    from sglang.srt.entrypoints.openai.protocol import Tool

    return Tool(type="function", function=function)


def parsers(case: Case, stream: bool = True) -> tuple[Any, Any]:
    """As SGLang's endpoint makes them. Where a case knows no tools, those that it calls."""
    file = unspool.get_format(case.format)
    reasoner = caller = None
    if case.tools is None:
        tools = [tool({"name": name}) for name in dict.fromkeys(name for name, *_ in case.calls)]
    else:
        tools = [tool(function) for function in case.tools]
    name = host.PREFIX + case.format
    if file.has_tools and tools:
        caller = host.FunctionCallParser(tools, name)
    if file.has_reasoning:
        reasoner = host.ReasoningParser(
            name,
            stream_reasoning=stream,
            force_reasoning=starts_in_reasoning(case),
            tool_call_parser_active=bool(caller),
        )
    return reasoner, caller


def stream(case: Case, pieces: list[str]) -> Answer:
    reasoner, caller = parsers(case)
    content, reasoning = "", ""
    calls: list[list[str]] = []
    for number, piece in enumerate(pieces, 1):
        text = piece
        is_last = number == len(pieces)
        if reasoner:
            thought, text = reasoner.parse_stream_chunk(piece)
            reasoning += thought
            if is_last:
                thought, rest = reasoner.parse_stream_end()
                reasoning, text = reasoning + thought, text + rest
        if not caller:
            content += text
            continue
        steps = [caller.parse_stream_chunk(text), *([caller.parse_stream_end()] if is_last else [])]
        for normal, items in steps:
            content += normal
            for item in items:
                if item.name:
                    assert item.tool_index == len(calls), "calls come one after the other"
                    calls.append([item.name, ""])
                assert item.tool_index == len(calls) - 1
                calls[-1][1] += item.parameters
    if caller:  # what the endpoint compares at the end
        assert caller.detector.streamed_args_for_tool == [arguments for _, arguments in calls]
        assert [call["arguments"] for call in caller.detector.prev_tool_call_arr] == [a for _, a in calls]
    return content, reasoning, [(name, arguments) for name, arguments in calls]


def whole(case: Case) -> Answer:
    reasoner, caller = parsers(case, stream=False)
    reasoning, text = reasoner.parse_non_stream(case.input) if reasoner else ("", case.input)
    items: list[Any] = []
    if caller and caller.has_tool_call(text):
        text, items = caller.parse_non_stream(text)
    return text, reasoning, [(item.name, item.parameters) for item in items]


def cases_of(format: str) -> list[Case]:
    found = []
    for case in shipped_cases(format):
        file = unspool.get_format(case.format)
        knows = case.tools is not None or case.calls or not file.has_tools
        if knows and set(case.options) <= {"prompt"} and str(case) not in NEEDS_THE_PROMPT and case.input:
            found.append(case)
    return found


def complete_calls(case: Case) -> list[tuple[str, str]]:
    """A whole answer has no others."""
    return [(call.name, call.arguments) for call in message_of(case).tool_calls if call.is_complete]


def expected(case: Case) -> Answer:
    message = message_of(case)
    return message.content, message.reasoning, [(call.name, call.arguments) for call in message.tool_calls]


# SGLang tells its parsers of the prompt that one fact alone, whether it has opened the reasoning.
def message_of(case: Case) -> unspool.Message:
    start = {}
    if unspool.get_format(case.format).has_reasoning:
        start["start_in"] = "reasoning" if starts_in_reasoning(case) else "content"
    if host._has_headers(unspool.get_format(case.format)):
        start = {}
    tools = case.tools if case.tools is not None else [{"name": name} for name, *_ in case.calls] or None
    return unspool.parse(case.input, case.format, tools, **start)


def starts_in_reasoning(case: Case) -> bool:
    return unspool.Parser(case.format, prompt=case.options.get("prompt")).region == "reasoning"


@pytest.mark.usefixtures("forwards_unknown_tools")
@pytest.mark.parametrize("format", FORMATS)
def test_streams_and_whole_outputs_are_what_parse_gives(format: str) -> None:
    rng = random.Random(format)
    for case in cases_of(format):
        want = expected(case)
        text = case.input
        some = pieces_of(text, [rng.randrange(len(text) + 1) for _ in range(4)])
        if str(case) in DIFFERS_IN_WHITE_SPACE:
            assert want[0].lstrip() != want[0]
            want = (want[0].lstrip(), *want[1:])
        for pieces in ([text], list(text), some):
            assert stream(case, pieces) == want, (str(case), pieces)
        assert whole(case) == (*want[:2], complete_calls(case)), str(case)


def test_every_format_is_registered() -> None:
    for file in unspool.formats():
        for alias in (file.name, *file.aliases):
            name = host.PREFIX + alias.lower()
            has_reasoning = file.has_reasoning or alias in KEEP_REASONING
            assert (name in host.FunctionCallParser.ToolCallParserEnum) == file.has_tools
            assert (name in host.ReasoningParser.DetectorMap) == has_reasoning
            assert (name in host.TOOL_CALL_PARSER_NAMES) == file.has_tools
            assert (name in host.REASONING_PARSER_NAMES) == has_reasoning


@pytest.mark.skipif(not STACK_NAMES.is_file(), reason="runs in a checkout")
def test_every_name_of_the_host_has_a_twin() -> None:
    """All that SGLang registers, and all that docs/stack_names.toml lists of it."""
    listed = tomllib.loads(STACK_NAMES.read_text(encoding="utf-8"))["sglang"]
    for kind, (registry, names) in (("tools", host._TOOLS), ("reasoning", host._REASONING)):
        own = {name for name in registry if not name.startswith(host.PREFIX)}
        missing = {name for name in own | set(listed[kind]) if host.PREFIX + name not in registry}
        assert not missing, kind
        assert {host.PREFIX + name for name in own} <= set(names)


def test_the_checkpoints_own_template_is_the_hosts_to_read() -> None:
    for registry, _ in (host._TOOLS, host._REASONING):
        assert registry["unspool_response_template"] is registry["response_template"]


@pytest.mark.parametrize("name", KEEP_REASONING)
@pytest.mark.parametrize(("opened", "tag"), [(True, "<think>"), (None, "<think>"), (False, "")])
def test_reasoning_that_stays_in_the_content(name: str, opened: bool | None, tag: str) -> None:
    """With the tag if the prompt wrote it; SGLang writes it in any case."""
    text = "hm\n</think>\n\nOk."
    for whole in (True, False):
        parser = host.ReasoningParser(host.PREFIX + name, force_reasoning=opened)
        if whole:
            assert parser.parse_non_stream(text) == ("", tag + text)
            continue
        steps = [*map(parser.parse_stream_chunk, text), parser.parse_stream_end()]
        assert "".join(thought or "" for thought, _ in steps) == ""
        assert "".join(normal for _, normal in steps) == tag + text
    if opened:
        own = host.ReasoningParser("minimax-append-think", force_reasoning=True)
        assert own.parse_non_stream(text)[1] == tag + text


def test_the_hosts_own_parser_is_the_one_of_the_same_name() -> None:
    """It knows the family's grammar, so that a twin forces calls as the host's own parser does."""
    registry = host.FunctionCallParser.ToolCallParserEnum
    for name in [name for name in registry if not name.startswith(host.PREFIX)]:
        twin = registry[host.PREFIX + name]
        assert getattr(twin, "own_name", name) in (name, ""), name


def call_parser(format: str, **options: Any) -> Any:
    return host.FunctionCallParser([tool({"name": "now", "parameters": {}})], host.PREFIX + format, **options)


UNKNOWN = '<tool_call>\n{"name": "never", "arguments": {}}\n</tool_call>'


@pytest.mark.parametrize("forwards", [True, False])
def test_an_unknown_tool_is_sent_or_left_out_as_sglang_is_set(
    forwards: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with host.envs.SGLANG_FORWARD_UNKNOWN_TOOLS.override(forwards):
        parser = call_parser("hermes")
        text, calls = parser.parse_non_stream(UNKNOWN)
        streamed = parser.parse_stream_chunk(UNKNOWN)[1] + parser.parse_stream_end()[1]
    assert text == ""
    assert [(call.name, call.tool_index) for call in calls] == ([("never", -1)] if forwards else [])
    assert [call.name for call in streamed] == (["never"] if forwards else [])
    assert ("not one of the request's" in caplog.text) == (not forwards)


def test_what_is_held_comes_out_at_the_end() -> None:
    parser = call_parser("hermes")
    assert parser.parse_stream_chunk("a <tool_") == ("a ", [])
    assert parser.parse_stream_end() == ("<tool_", [])
    assert parser.parse_stream_end() == ("", [])


def test_a_call_that_is_cut_off_is_known_to_be_incomplete() -> None:
    parser = call_parser("hermes")
    parser.parse_stream_chunk('<tool_call>\n{"name": "now", "arguments": {"a": ')
    parser.parse_stream_end()
    assert parser.detector.incomplete_tool_call_indices == {0}


def test_half_a_call_is_not_in_a_whole_answer(caplog: pytest.LogCaptureFixture) -> None:
    """A stop string cut it: SGLang would say `tool_calls`, and a client would run it."""
    cut = '<tool_call>\n{"name": "now", "arguments": {"a": 1'
    assert call_parser("hermes").parse_non_stream("Ok." + cut) == ("Ok.", [])
    assert "incomplete: 'now' '{\"a\": 1'" in caplog.text
    calls = call_parser("hermes").parse_non_stream(cut + "}}\n</tool_call>" + cut)[1]
    assert [call.parameters for call in calls] == ['{"a": 1}']


@pytest.fixture
def other_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server whose backend reads no tags of xgrammar's."""
    from unspool.integrations import sglang_grammar

    monkeypatch.setattr(sglang_grammar, "_takes_tags", lambda: False)


@pytest.mark.parametrize("tool_choice", ["required", "named"])
@pytest.mark.parametrize("format", ["seed_oss", "qwen3", "glm45"])
@pytest.mark.usefixtures("other_backend")
def test_forced_calls_without_a_grammar_are_a_json_list(format: str, tool_choice: str) -> None:
    from sglang.srt.entrypoints.openai.protocol import ToolChoice

    choice = ToolChoice(function={"name": "now"}) if tool_choice == "named" else tool_choice
    kind, schema = call_parser(format).get_structure_constraint(choice)
    assert (kind, schema["type"]) == ("json_schema", "array")
    parser = call_parser(format, tool_choice=choice)
    assert parser.owns_tool_format()
    text = '[{"name": "now", "parameters": {"a": 1}}]'
    for items in (
        parser.parse_non_stream(text)[1],
        [item for piece in text for item in parser.parse_stream_chunk(piece)[1]],
    ):
        assert "".join(item.name or "" for item in items) == "now"
        assert json.loads("".join(item.parameters for item in items)) == {"a": 1}


@pytest.mark.usefixtures("other_backend")
def test_forced_calls_use_sglangs_grammar_where_ours_cannot_be_used() -> None:
    kind, tag = call_parser("hermes").get_structure_constraint("required")
    assert kind == "structural_tag"
    own = host.FunctionCallParser([tool({"name": "now"})], "hermes").detector.structure_info()("now")
    assert tag.structures[0].begin == own.begin
    # What the grammar lets through is what we read.
    calls = call_parser("hermes", tool_choice="required").parse_non_stream(own.begin + "{}" + own.end)[1]
    assert [(call.name, call.parameters) for call in calls] == [("now", "{}")]


def reason(text: str, *, pieces: int = 1, **options: Any) -> tuple[list[str], str]:
    parser = host.ReasoningParser(host.PREFIX + "qwen3", **options)
    steps = [parser.parse_stream_chunk(text[i : i + pieces]) for i in range(0, len(text), pieces)]
    steps.append(parser.parse_stream_end())
    return [thought for thought, _ in steps if thought], "".join(rest for _, rest in steps)


def test_force_reasoning_says_where_the_output_begins() -> None:
    assert reason("Hm.</think>Hi", force_reasoning=True) == (["H", "m", "."], "Hi")
    assert reason("<think>Hm.</think>Hi", force_reasoning=True) == (["H", "m", "."], "Hi")
    assert reason("Hi", force_reasoning=False) == ([], "Hi")


@pytest.mark.parametrize("text", ["<think>Hm.</think>Hi", "<think>Hm."])
def test_reasoning_in_one_piece(text: str) -> None:
    thoughts, _ = reason(text, stream_reasoning=False)
    assert thoughts == ["Hm."]


def test_reasoning_is_the_content_where_there_is_no_other() -> None:
    detector = host.ReasoningParser.DetectorMap[host.PREFIX + "qwen3"]
    assert detector(force_nonempty_content=True).detect_and_parse("<think>Hm.").normal_text == "Hm."
    streamed = detector(force_nonempty_content=True)
    streamed.parse_streaming_increment("<think>Hm.")
    assert streamed.finish().normal_text == "Hm."
    answered = detector(force_nonempty_content=True)
    answered.parse_streaming_increment("<think>Hm.</think>Hi")
    assert answered.finish().normal_text == ""


@pytest.mark.parametrize(
    ("before", "thinks"), [("<think>So", True), ("<think>So</think>", False), ("So", False)]
)
def test_an_answer_goes_on_where_it_was(before: str, thinks: bool) -> None:
    detector = host.ReasoningParser.DetectorMap[host.PREFIX + "qwen3"]
    result = detector(continue_final_message=True, previous_content=before).detect_and_parse(" on")
    assert (result.reasoning_text, result.normal_text) == ((" on", "") if thinks else ("", " on"))


def test_the_history_can_be_written_with_the_formats_own_tags() -> None:
    for name, detector in host.ReasoningParser.DetectorMap.items():
        if issubclass(detector, host.ReasoningDetector):
            made = detector()
            assert made.think_start_token, name
            assert made.think_end_token, name


#: What our documented pairs stand for: SGLang's own parsers of the family, and the formats whose cases fit.
OWN = {("qwen3", "qwen3"): ("qwen25", "qwen3", ("qwen3", "hermes"))}
PAIRS = sorted(
    set(
        re.findall(
            r"--tool-call-parser unspool_(\w+) --reasoning-parser unspool_(\w+)",
            (PAGE.read_text(encoding="utf-8") if PAGE.is_file() else "").replace("\\\n", ""),
        )
    )
)


def answers(caller_name: str, reasoner_name: str, case: Case) -> list[Answer]:
    """What these parsers make of a case, streamed in pieces of four characters and whole, with arguments as values."""
    functions = case.tools if case.tools is not None else [{"name": call[0]} for call in case.calls]
    tools = [tool(dict(one)) for one in {one["name"]: one for one in functions}.values()]

    def make(is_streamed: bool) -> tuple[Any, Any]:
        reasoner = host.ReasoningParser(
            reasoner_name,
            stream_reasoning=is_streamed,
            force_reasoning=starts_in_reasoning(case),
            tool_call_parser_active=bool(tools),
        )
        return reasoner, host.FunctionCallParser(tools, caller_name) if tools else None

    reasoner, caller = make(True)
    steps = [reasoner.parse_stream_chunk(case.input[i : i + 4]) for i in range(0, len(case.input), 4)]
    steps.append(reasoner.parse_stream_end())
    thought = "".join(part or "" for part, _ in steps)
    normal, calls = "".join(text or "" for _, text in steps) if caller is None else "", []
    if caller is not None:
        read = [caller.parse_stream_chunk(text or "") for _, text in steps] + [caller.parse_stream_end()]
        normal = "".join(text or "" for text, _ in read)
        for item in [item for _, items in read for item in items]:
            if item.name:
                calls.append((item.name, ""))
            if calls:
                calls[-1] = (calls[-1][0], calls[-1][1] + item.parameters)
    reasoner, caller = make(False)
    thoughts, text = reasoner.parse_non_stream(case.input)
    items: list[Any] = []
    if caller is not None and caller.has_tool_call(text):
        text, items = caller.parse_non_stream(text)
    whole = (text, thoughts or "", [(item.name, item.parameters) for item in items])
    return [
        (content, reasoning, [(name, plain(arguments)) for name, arguments in called])
        for content, reasoning, called in ((normal, thought, calls), whole)
    ]


def trimmed(answer: list[Any]) -> list[Any]:
    """Without white space around texts."""
    return [(content.strip(), reasoning.strip(), called) for content, reasoning, called in answer]


def plain(arguments: str) -> str:
    """As a value; what is no JSON to the letter."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return f"not JSON: {arguments}"


def test_white_space_is_trimmed_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSPOOL_WHITE_SPACE", "trim")
    text = "<think>\n\n hm \n\n</think>\n\nOk. \n\n"
    case = Case("qwen3", "trim", text, tools=({"name": "now"},))
    for content, reasoning, _ in answers(host.PREFIX + "qwen3", host.PREFIX + "qwen3", case):
        assert (content, reasoning) == ("Ok.", "hm")


@pytest.mark.usefixtures("forwards_unknown_tools")
@pytest.mark.parametrize(("tool_name", "reasoning"), PAIRS)
def test_documented_pairs_answer_as_sglangs_own(tool_name: str, reasoning: str) -> None:
    """On all cases of the family's formats; what differs has its reason in sglang_pairs.toml."""
    listed = tomllib.loads(Path(__file__).with_name("sglang_pairs.toml").read_text(encoding="utf-8"))
    spaced = set(listed.pop("white_space").get(f"{tool_name}+{reasoning}", ()))
    known = {case for reason in listed.values() for case in reason.get(f"{tool_name}+{reasoning}", ())}
    caller, reasoner, formats = OWN[tool_name, reasoning]
    differing, only_spaced = set(), set()
    for case in [case for format in formats for case in cases_of(format)]:
        ours = answers(host.PREFIX + tool_name, host.PREFIX + reasoning, case)
        own = answers(caller, reasoner, case)
        if trimmed(ours) != trimmed(own):
            differing.add(str(case))
        elif ours != own:
            only_spaced.add(str(case))
    assert (differing, only_spaced) == (known, spaced)
