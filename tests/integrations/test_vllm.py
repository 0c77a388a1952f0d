"""vLLM's serving layer with our parsers: what it sends, assembled, is what one shot gives."""

from __future__ import annotations

import functools
import json
import re
import runpy
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import unspool
from tokenizers import Tokenizer, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from unspool.testing import Case, shipped_cases
from unspool.testing.marker_tokenizer import marker_tokenizer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip(
        "vllm.parser.parser_manager", reason="vLLM >= 0.24 is not installed", exc_type=ImportError
    )
    from unspool.integrations import vllm as adapter
    from unspool.integrations.vllm import host
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.parser.abstract_parser import DelegatingParser
    from vllm.parser.parser_manager import ParserManager

if not host.COMPOSES:
    pytest.skip("vLLM before 0.24 composes no Parser", allow_module_level=True)

ROOT = Path(__file__).parents[2]
# vLLM's and pydantic's own warnings are not ours to fix.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::unspool")]
CASES = [
    case for case in shipped_cases() if not set(case.options) - {"prompt"} and "\ufffd" not in case.input
]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
# vLLM asks the reasoning parser no more once reasoning is over; a broken call's rest then begins anew.
ONE_STREAMER_ONLY = ("a second block of reasoning", "a marker where a name should be")
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@functools.cache
def make_tokenizer(format: str) -> PreTrainedTokenizerFast:
    """A token a byte, and one for each of the format's markers."""
    tokenizer = Tokenizer.from_str(marker_tokenizer(unspool.get_format(format), end=None).to_str())
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def tools_of(case: Case) -> list[dict[str, Any]]:
    known = case.tools or [{"name": name} for name in dict.fromkeys(name for name, _, _ in case.calls)]
    functions = [dict(tool.get("function") or tool) for tool in known] or [{"name": "f"}]
    return [{"type": "function", "function": function} for function in functions]


def parser_class(tool: str | None, reasoning: str | None) -> Any:
    return ParserManager.get_parser(
        tool_parser_name=tool and f"unspool_{tool}",
        reasoning_parser_name=reasoning and f"unspool_{reasoning}",
        enable_auto_tools=True,
    )


def class_of(case: Case) -> Any:
    file = unspool.get_format(case.format)
    return parser_class(file.name if file.has_tools else None, file.name if file.has_reasoning else None)


def chunks_of(tokenizer: Any, ids: Sequence[int], size: int) -> Iterator[tuple[str, list[int]]]:
    """As the engine gives them: a character with the id that completes it."""
    text = unspool.Detokenizer(unspool.Vocabulary.from_tokenizer(tokenizer), skip_special_tokens=False)
    for begin in range(0, len(ids), size):
        part = list(ids[begin : begin + size])
        yield text.put(part) + (text.end() if begin + size >= len(ids) else ""), part


def assemble(deltas: Sequence[Any], strict: bool) -> tuple[str, str, list[tuple[str, str]]]:
    content = reasoning = ""
    calls: list[list[str]] = []
    for delta in filter(None, deltas):
        content += delta.content or ""
        reasoning += delta.reasoning or ""
        indices = [call.index for call in delta.tool_calls]
        assert len(set(indices)) == len(indices) or not strict, "one entry an index a chunk"
        for call in delta.tool_calls:
            if call.id is not None:
                assert (call.index, call.type) == (len(calls), "function")
                calls.append([call.function.name, ""])
            else:
                assert call.function.name is None
            assert call.index == len(calls) - 1, "calls come one after the other"
            calls[-1][1] += call.function.arguments or ""
    return content, reasoning, [(name, arguments) for name, arguments in calls]


def stream(parser: Any, request: Any, chunks: list[tuple[str, list[int]]], prompt: list[int] | None) -> Any:
    return assemble(
        [
            parser.parse_delta(
                text, ids, request, prompt_token_ids=None if i else prompt, finished=i == len(chunks) - 1
            )
            for i, (text, ids) in enumerate(chunks)
        ],
        strict=isinstance(parser, adapter.UnspoolParser),  # vLLM's own glue appends what it flushes
    )


def request_of(**options: Any) -> Any:
    return ChatCompletionRequest(model="m", messages=[], **options)


def expected(message: unspool.Message) -> tuple[str, str, list[tuple[str, str]]]:
    return message.content, message.reasoning, [(call.name, call.arguments) for call in message.tool_calls]


@pytest.mark.parametrize("case", [c for c in CASES if c.format != "none"], ids=str)
def test_stream_and_whole_are_what_one_shot_gives(case: Case) -> None:
    tokenizer, tools = make_tokenizer(case.format), tools_of(case)
    ids = tokenizer.encode(case.input, add_special_tokens=False)
    prompt = tokenizer.encode(case.options.get("prompt", ""), add_special_tokens=False)
    one_shot = expected(unspool.parse(ids, case.format, tools, tokenizer=tokenizer, prompt=prompt))
    cls, request = class_of(case), request_of(tools=tools)
    assert issubclass(cls, adapter.UnspoolParser)
    for size in (1, 3, len(ids)):
        parser = cls(tokenizer, request.tools)
        assert stream(parser, request, list(chunks_of(tokenizer, ids, size)), prompt) == one_shot, size
    parser = cls(tokenizer, request.tools)
    if parser._reasoning_parser is not None:
        parser._reasoning_parser.set_prompt_token_ids(prompt)
    text = "".join(text for text, _ in chunks_of(tokenizer, ids, len(ids)))
    reasoning, content, calls = parser.parse(text, request, True, ids)
    message = unspool.parse(ids, case.format, tools, tokenizer=tokenizer, prompt=prompt)
    complete = [(call.name, call.arguments) for call in message.tool_calls if call.is_complete]
    assert (content or "", reasoning or "", [(c.name, c.arguments) for c in calls]) == (
        *one_shot[:2],
        complete,
    )


@pytest.mark.parametrize(
    "name", ["qwen3", "hermes", "qwen3_coder", "kimi_k2", "deepseek_v31", "glm45", "mistral"]
)
def test_two_parsers_through_the_hosts_own_glue(name: str) -> None:
    """A pair that is not both ours goes this way; here both are, so that the answer is known."""
    wrong = []
    for case in (c for c in CASES if c.format == name and c.name not in ONE_STREAMER_ONLY):
        tokenizer, tools = make_tokenizer(name), tools_of(case)
        ids = tokenizer.encode(case.input, add_special_tokens=False)
        prompt = tokenizer.encode(case.options.get("prompt", ""), add_special_tokens=False)
        one_shot = expected(unspool.parse(ids, name, tools, tokenizer=tokenizer, prompt=prompt))
        ours = class_of(case)
        parts = {"tool_parser_cls": ours.tool_parser_cls, "reasoning_parser_cls": ours.reasoning_parser_cls}
        cls, request = type("Delegating", (DelegatingParser,), parts), request_of(tools=tools)
        for size in (1, 4, len(ids)):
            parser = cls(tokenizer, request.tools)
            found = stream(parser, request, list(chunks_of(tokenizer, ids, size)), prompt)
            if (found[0].strip(), *found[1:]) != (one_shot[0].strip(), *one_shot[1:]):
                wrong.append((case.name, size, found, one_shot))
    assert not wrong


def test_text_that_comes_later_than_its_ids() -> None:
    tokenizer, request = make_tokenizer("qwen3"), request_of(tools=TOOLS)
    output = f"<think>\nhm\n</think>\n\nOk.\n{CALL}"
    ids = tokenizer.encode(output, add_special_tokens=False)
    chunks = list(chunks_of(tokenizer, ids, 1))
    for lag in (1, 7):
        texts = [""] * lag + [text for text, _ in chunks]
        late = [(texts[i], ids) for i, (_, ids) in enumerate(chunks)]
        late[-1] = ("".join(texts[len(chunks) - 1 :]), late[-1][1])
        parser = parser_class("qwen3", "qwen3")(tokenizer, request.tools)
        assert stream(parser, request, late, []) == ("Ok.", "hm", [("f", '{"a": 1}')])


def test_a_marker_that_is_only_spelt_is_text() -> None:
    tokenizer, request = make_tokenizer("qwen3"), request_of(tools=TOOLS)
    text = "Write </think> or <tool_call>."
    ids = [
        i
        for word, _ in pre_tokenizers.ByteLevel(False).pre_tokenize_str(text)
        for i in map(tokenizer.convert_tokens_to_ids, word)
    ]
    parser = parser_class("qwen3", "qwen3")(tokenizer, request.tools)
    assert stream(parser, request, list(chunks_of(tokenizer, ids, 1)), [])[0] == text


def run_one(output: str, prompt: str = "", **options: Any) -> tuple[str, str, list[tuple[str, str]]]:
    tokenizer, request = make_tokenizer("qwen3"), request_of(**options)
    parser = parser_class("hermes", "qwen3")(tokenizer, request.tools)
    request = parser.adjust_request(request)
    ids = tokenizer.encode(output, add_special_tokens=False)
    start = tokenizer.encode(prompt, add_special_tokens=False)
    return stream(parser, request, list(chunks_of(tokenizer, ids, 2)), start)  # type: ignore[no-any-return]


def test_tool_choice_as_the_host_treats_it() -> None:
    assert run_one(CALL, tools=TOOLS, tool_choice="none") == (CALL, "", [])
    assert run_one(CALL) == (CALL, "", []), "a request without tools keeps its text"
    guided = '[{"name": "f", "parameters": {"a": 1}}]'
    assert run_one(guided, tools=TOOLS, tool_choice="required") == ("", "", [("f", '{"a": 1}')])
    named = {"type": "function", "function": {"name": "f"}}
    assert run_one('{"a": 1}', tools=TOOLS, tool_choice=named) == ("", "", [("f", '{"a": 1}')])
    assert run_one(CALL, tools=TOOLS, tool_choice="required") == ("", "", [("f", '{"a": 1}')])


def test_parallel_calls_can_be_off() -> None:
    assert run_one(CALL + CALL, tools=TOOLS, parallel_tool_calls=False)[2] == [("f", '{"a": 1}')]
    assert len(run_one(CALL + CALL, tools=TOOLS)[2]) == 2


def test_the_prompt_says_where_the_output_starts() -> None:
    turn = "<|im_start|>assistant\n"
    assert run_one("hm</think>Ok", turn + "<think>\n")[:2] == ("Ok", "hm")
    assert run_one("Ok", turn + "<think>\n\n</think>\n\n")[:2] == ("Ok", "")
    assert run_one("Ok", "<think>user's</think>" + turn)[:2] == ("Ok", "")


def both(tool: str | None, reasoning: str, output: str, prompt: str, **options: Any) -> list[Any]:
    """What our pair and vLLM's own pair of these names say, streamed and whole."""
    tokenizer = make_tokenizer(reasoning)
    request = request_of(**options)
    ids = tokenizer.encode(output, add_special_tokens=False)
    start = tokenizer.encode(prompt, add_special_tokens=False)
    template = {"chat_template_kwargs": options.get("chat_template_kwargs")}
    found = []
    for prefix in ("unspool_", ""):
        cls = ParserManager.get_parser(tool and prefix + tool, prefix + reasoning, enable_auto_tools=True)
        streamed = stream(
            cls(tokenizer, request.tools, **template), request, list(chunks_of(tokenizer, ids, 2)), start
        )
        parser = cls(tokenizer, request.tools, **template)
        parser.set_prompt_token_ids(start)
        thought, content, calls = parser.parse(output, request, True, ids)
        whole = content or "", thought or "", [(call.name, call.arguments) for call in calls or ()]
        found.append((streamed, whole))
    return found


@pytest.mark.parametrize("wanted", [{"force_nonempty_content": True}, {"force_nonempty_content": False}, {}])
@pytest.mark.parametrize("output", ["hm", "hm</think>", "hm</think>Ok", f"hm</think>{CALL}"])
@pytest.mark.parametrize("tool", [None, "hermes"])
def test_reasoning_is_content_if_there_is_no_other(
    wanted: dict[str, bool], output: str, tool: str | None
) -> None:
    """As vLLM's parsers of the families that know the option; ours knows it for all."""
    prompt = "<|im_start|>assistant\n<think>\n"
    options = {"chat_template_kwargs": wanted, "tools": TOOLS if tool else None}
    (streamed, whole), (own_streamed, own_whole) = both(tool, "nemotron_v3", output, prompt, **options)
    assert whole == own_whole
    closed_and_empty = output == "hm</think>" and wanted.get("force_nonempty_content")
    if not closed_and_empty:  # vLLM's stream leaves the content empty there
        assert streamed == own_streamed
    for family in ("nemotron_v3", "qwen3", "deepseek_r1"):
        turn = unspool.get_format(family).patterns["turn"][0].partition("<think>")[0] + "<think>\n"
        cls, request = parser_class(tool, family), request_of(**options)
        tokenizer = make_tokenizer(family)
        ids, start = (tokenizer.encode(text, add_special_tokens=False) for text in (output, turn))
        parser = cls(tokenizer, request.tools, chat_template_kwargs=wanted)
        content = stream(parser, request, list(chunks_of(tokenizer, ids, 1)), start)[0]
        is_forced = wanted.get("force_nonempty_content") and output in ("hm", "hm</think>")
        rest = CALL if tool is None and CALL in output else "Ok" if output.endswith("Ok") else ""
        assert content == ("hm" if is_forced else rest), family


def test_reasoning_is_content_beside_a_parser_of_vllm() -> None:
    cls = ParserManager.get_parser("hermes", "unspool_qwen3", enable_auto_tools=True)
    tokenizer, request = make_tokenizer("qwen3"), request_of(tools=TOOLS)
    ids = tokenizer.encode("<think>hm", add_special_tokens=False)
    forced = {"chat_template_kwargs": {"force_nonempty_content": True}}
    parser = cls(tokenizer, request.tools, **forced)
    assert stream(parser, request, list(chunks_of(tokenizer, ids, 2)), [])[:2] == ("hm", "hm")
    parser = cls(tokenizer, request.tools, **forced)
    assert parser.parse("<think>hm", request, True, ids)[:2] == (None, "hm")


HISTORY = [
    {"role": "user", "content": "Hi"},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": f"functions.f:{i}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            for i in range(2)
        ],
    },
    *({"role": "tool", "tool_call_id": f"functions.f:{i}", "content": "1"} for i in range(2)),
]
GUIDED = '[{"name": "f", "parameters": {"a": 1}}, {"name": "f", "parameters": {"a": 2}}]'
OWN = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:5<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>"
)


@pytest.mark.parametrize(
    ("output", "choice", "ids"),
    [
        (GUIDED, "required", ["functions.f:2", "functions.f:3"]),
        ('{"a": 1}', {"type": "function", "function": {"name": "f"}}, ["functions.f:2"]),
        (OWN, "auto", ["functions.f:5"]),
        (OWN.replace("5", "0"), "auto", ["functions.f:0"]),  # the model's own, as in vLLM
    ],
)
def test_kimis_ids_count_on_over_the_conversation(output: str, choice: Any, ids: list[str]) -> None:
    tokenizer = make_tokenizer("kimi_k2")
    request = ChatCompletionRequest(model="m", messages=HISTORY, tools=TOOLS, tool_choice=choice)
    written = tokenizer.encode(output, add_special_tokens=False)
    cls = parser_class("kimi_k2", "kimi_k2")
    chunks = list(chunks_of(tokenizer, written, 3))
    parser = cls(tokenizer, request.tools)
    deltas = [
        parser.parse_delta(
            text, part, request, prompt_token_ids=None if i else [], finished=i == len(chunks) - 1
        )
        for i, (text, part) in enumerate(chunks)
    ]
    assert [call.id for delta in filter(None, deltas) for call in delta.tool_calls if call.id] == ids
    assert [call.id for call in cls(tokenizer, request.tools).parse(output, request, True, written)[2]] == ids


PAGES = [ROOT / "README.md", ROOT / "docs" / "vllm.md"]
PAIRS = sorted(
    {
        pair
        for page in PAGES
        if page.is_file()
        for pair in re.findall(
            r"--tool-call-parser unspool_(\w+) --reasoning-parser unspool_(\w+)",
            page.read_text(encoding="utf-8"),
        )
    }
)


def comparable(answer: tuple[str, str, list[tuple[str, str]]]) -> Any:
    """White space around texts aside, and arguments as values; those that are no JSON to the letter."""

    def value(text: str) -> str:
        try:
            return json.dumps(json.loads(text), sort_keys=True)
        except ValueError:
            return f"not JSON: {text}"

    content, reasoning, calls = answer
    return content.strip(), reasoning.strip(), [(name, value(arguments)) for name, arguments in calls]


@pytest.mark.parametrize(("tool", "reasoning"), PAIRS)
def test_documented_pairs_answer_as_vllms_own(tool: str, reasoning: str) -> None:
    """On all cases of both families, streamed and whole; what differs has its reason in vllm_pairs.toml."""
    listed = tomllib.loads(Path(__file__).with_name("vllm_pairs.toml").read_text(encoding="utf-8"))
    spaced = set(listed.pop("white_space").get(f"{tool}+{reasoning}", ()))
    known = {case for reason in listed.values() for case in reason.get(f"{tool}+{reasoning}", ())}
    differing, only_spaced = set(), set()
    for case in [case for case in CASES if case.format in (tool, reasoning)]:
        call = unspool.get_format(case.format).patterns["call"]
        if "<tool_call>" in case.input and call[0] != unspool.get_format(tool).patterns["call"][0]:
            continue  # calls in another syntax
        # As a server's prompt ends: open, or closed if the answer has no reasoning.
        turn = "<|im_start|>assistant\n" + ("" if "<think>" in case.input else "<think>\n\n</think>\n\n")
        prompt = case.options.get("prompt", turn)
        try:
            ours, own = both(tool, reasoning, case.input, prompt, tools=tools_of(case))
        except AssertionError:  # vLLM's deltas are out of order
            differing.add(str(case))
            continue
        if [comparable(answer) for answer in ours] != [comparable(answer) for answer in own]:
            differing.add(str(case))
        elif [texts for *texts, _ in ours] != [texts for *texts, _ in own]:
            only_spaced.add(str(case))
    assert (differing, only_spaced) == (known, spaced)


@pytest.mark.parametrize("tool", ["unspool_hermes", "hermes"])
def test_white_space_is_trimmed_where_the_environment_says_so(
    tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one streamer for both names, and by a reasoning parser of ours beside vLLM's tool parser."""
    monkeypatch.setenv("UNSPOOL_WHITE_SPACE", "trim")
    tokenizer, request = make_tokenizer("qwen3"), request_of(tools=TOOLS)
    ids = tokenizer.encode("<think>\n\n hm \n\n</think>\n\nOk. \n\n", add_special_tokens=False)
    cls = ParserManager.get_parser(tool, "unspool_qwen3", enable_auto_tools=True)
    content, reasoning, _ = stream(
        cls(tokenizer, request.tools), request, list(chunks_of(tokenizer, ids, 2)), []
    )
    assert reasoning == "hm"
    assert content.strip() == "Ok."
    assert (content == "Ok.") == tool.startswith("unspool")


def test_reasoning_that_is_not_wanted_is_left_out() -> None:
    assert run_one("<think>hm</think>Ok", include_reasoning=False)[:2] == ("Ok", "")


def test_cut_off_output_is_flushed() -> None:
    assert run_one("5 <tool_ca", tools=TOOLS)[0] == "5 <tool_ca"
    assert run_one('<tool_call>\n{"name": "f", "arguments": {"a', tools=TOOLS)[2] == [("f", '{"a')]


CUT = '<tool_call>\n{"name": "f", "arguments": {"a": "x'  # before a stop string


@pytest.mark.parametrize(
    ("output", "reason", "whole"),
    [
        (CUT, "stop", []),
        (CALL, "tool_calls", ['{"a": 1}']),
        (CALL + CUT, "stop", ['{"a": 1}']),
        ("Ok.", "stop", []),
    ],
)
@pytest.mark.parametrize("reasoning", ["unspool_qwen3", "qwen3", None])
def test_a_stop_string_inside_a_call(
    output: str, reason: str, whole: list[str], reasoning: str | None
) -> None:
    """The reason stays "stop", and a whole answer has no half of a call."""
    processors = pytest.importorskip("vllm.entrypoints.openai.chat_completion.stream_processor")
    tokenizer, request = make_tokenizer("qwen3"), request_of(tools=TOOLS)
    cls = ParserManager.get_parser("unspool_hermes", reasoning, enable_auto_tools=True)
    prompt = tokenizer.encode("<|im_start|>assistant\n<think>\n\n</think>\n\n", add_special_tokens=False)
    ids = tokenizer.encode(output, add_special_tokens=False)
    chunks = list(chunks_of(tokenizer, ids, 2))
    for ending in ("stop", "length"):
        processor = processors.ChatStreamProcessor(
            request, cls(tokenizer, request.tools), enable_auto_tools=True, parser_cls=cls
        )
        steps = [
            processor.step(text, part, ending if i == len(chunks) - 1 else None, None if i else prompt)
            for i, (text, part) in enumerate(chunks)
        ]
        assert [step.finish_reason for step in steps][:-1] == [None] * (len(steps) - 1)
        assert steps[-1].finish_reason == (reason if ending == "stop" else ending)
    parser = cls(tokenizer, request.tools)
    parser.set_prompt_token_ids(prompt)
    assert [call.arguments for call in parser.parse(output, request, True, ids)[2] or ()] == whole


def test_reasoning_ends_where_a_marker_closes_it() -> None:
    tokenizer = make_tokenizer("qwen3")
    encode = functools.partial(tokenizer.encode, add_special_tokens=False)
    parser = parser_class(None, "qwen3").reasoning_parser_cls(tokenizer)
    turn = "<|im_start|>assistant\n"
    assert parser.is_reasoning_end(encode(turn + "<think>\n\n</think>\n\n"))
    assert not parser.is_reasoning_end(encode(turn + "<think>\n"))
    assert not parser.is_reasoning_end(encode(turn + "<think>a</think>b<|im_end|>" + turn))
    output = encode("hm</think>Ok")
    ends = [
        parser.is_reasoning_end_streaming(output[:end], output[end - 1 : end])
        for end in range(1, len(output) + 1)
    ]
    assert ends.index(True) == 2
    assert sum(ends) == 1
    assert parser.extract_content_ids(output) == encode("Ok")
    assert (parser.reasoning_start_str, parser.reasoning_end_str) == ("<think>", "</think>")


def test_a_call_ends_reasoning_where_the_format_says_so() -> None:
    tokenizer = make_tokenizer("mistral")
    encode = functools.partial(tokenizer.encode, add_special_tokens=False)
    parser = parser_class(None, "mistral").reasoning_parser_cls(tokenizer)
    called = "[INST]Hi[/INST][THINK]hm[TOOL_CALLS]f[ARGS]{}"
    assert parser.is_reasoning_end(encode(called))
    assert not parser.is_reasoning_end(encode(called + "</s>[TOOL_RESULTS]1[/TOOL_RESULTS]"))
    output = encode("hm[TOOL_CALLS]f")
    assert parser.is_reasoning_end_streaming(output[:3], output[2:3])


def test_text_before_reasoning_is_kept_beside_another_tool_parser() -> None:
    parser = parser_class(None, "mistral").reasoning_parser_cls(make_tokenizer("mistral"))
    whole = "Before. [THINK]hm[/THINK]After[TOOL_CALLS]f[ARGS]{}"
    assert parser.extract_reasoning(whole, request_of()) == ("hm", "Before. After[TOOL_CALLS]f[ARGS]{}")


def test_markers_that_are_special_tokens_stay_in_the_text() -> None:
    tokenizer = make_tokenizer("qwen3")
    for cls, request in (
        (parser_class("hermes", None), request_of(tools=TOOLS)),
        (parser_class(None, "qwen3"), request_of()),
    ):
        assert cls(tokenizer, request.tools).adjust_request(request).skip_special_tokens is False
    request = request_of()
    assert parser_class("hermes", None)(tokenizer).adjust_request(request).skip_special_tokens is not False


def test_every_format_and_alias_is_known() -> None:
    tools = host.ToolParserManager.list_registered()
    reasoning = host.ReasoningParserManager.list_registered()
    for file in unspool.formats():
        for name in (file.name, *file.aliases):
            keeps = name in ("minimax_m2_append_think", "minimax-append-think")
            assert (f"unspool_{name}" in tools) == file.has_tools
            assert (f"unspool_{name}" in reasoning) == (file.has_reasoning or keeps)


@pytest.mark.skipif(not (ROOT / "docs" / "stack_names.toml").is_file(), reason="runs in a checkout")
def test_every_name_of_the_hosts_has_a_twin() -> None:
    """All that vLLM registers, and all that docs/stack_names.toml lists of it."""
    listed = tomllib.loads((ROOT / "docs" / "stack_names.toml").read_text(encoding="utf-8"))["vllm"]
    for kind, manager in (
        ("tools", host.ToolParserManager),
        ("reasoning", host.ReasoningParserManager),
    ):
        names = manager.list_registered()
        own = {name for name in names if not name.startswith("unspool_")}
        missing = {name for name in own | set(listed[kind]) if f"unspool_{name}" not in names}
        assert not missing, kind


@pytest.mark.parametrize(
    ("prompt", "begin"), [("]~b]ai\n<think>\n", "<think>"), ("]~b]ai\n<think>\n\n</think>\n\n", "")]
)
@pytest.mark.parametrize("tool", [None, "minimax_m2", "hermes"])
def test_reasoning_that_stays_in_the_content(prompt: str, begin: str, tool: str | None) -> None:
    """With the tag if the prompt wrote it; vLLM writes it in any case."""
    tokenizer, request = make_tokenizer("minimax_m2"), request_of(tools=TOOLS)
    thought = "hm\n</think>\n\nOk."
    ids = tokenizer.encode(thought, add_special_tokens=False)
    start = tokenizer.encode(prompt, add_special_tokens=False)
    cls = parser_class(tool, "minimax_m2_append_think")
    for size in (1, 4, len(ids)):
        parser = cls(tokenizer, request.tools)
        assert stream(parser, request, list(chunks_of(tokenizer, ids, size)), start) == (
            begin + thought,
            "",
            [],
        )
    parser = cls(tokenizer, request.tools)
    parser.set_prompt_token_ids(start)
    assert parser.parse(thought, request, True, ids)[:2] == (None, begin + thought)


@pytest.mark.parametrize("end", ["hm\n</think>\n\nOk.", "hm"])
def test_reasoning_that_stays_in_the_content_beside_a_parser_of_vllm(end: str) -> None:
    own = [
        ParserManager.get_parser("hermes", name, enable_auto_tools=True)
        for name in ("unspool_minimax_m2_append_think", "minimax_m2_append_think")
    ]
    tokenizer, request = make_tokenizer("minimax_m2"), request_of(tools=TOOLS)
    start = tokenizer.encode("]~b]ai\n<think>\n", add_special_tokens=False)
    ids = tokenizer.encode(end, add_special_tokens=False)
    ours, theirs = (
        stream(cls(tokenizer, request.tools), request, list(chunks_of(tokenizer, ids, 3)), start)
        for cls in own
    )
    assert ours == theirs == ("<think>" + end, "", [])


def test_a_registered_format_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = (Path(unspool.__file__).parent / "parsers" / "hermes.toml").read_text(encoding="utf-8")
    text = re.sub(r"^name = .*$", 'name = "mine"', text, flags=re.M)
    path.write_text(re.sub(r"^aliases = \[.*?\]$", "", text, flags=re.M | re.S), encoding="utf-8")
    unspool.register_format(path)
    adapter.register()
    assert "unspool_mine" in host.ToolParserManager.list_registered()


def test_other_names_are_composed_as_before() -> None:
    cls = ParserManager.get_parser(
        tool_parser_name="hermes", reasoning_parser_name="unspool_qwen3", enable_auto_tools=True
    )
    assert not issubclass(cls, adapter.UnspoolParser)
    tokenizer, request = make_tokenizer("qwen3"), request_of(tools=TOOLS)
    ids = tokenizer.encode(f"<think>hm</think>\n\nOk.{CALL}", add_special_tokens=False)
    content, reasoning, calls = stream(
        cls(tokenizer, request.tools), request, list(chunks_of(tokenizer, ids, 1)), []
    )
    assert (content, reasoning, [(name, json.loads(text)) for name, text in calls]) == (
        "Ok.",
        "hm",
        [("f", {"a": 1})],
    )


@pytest.mark.skipif(not (ROOT / "docs" / "vllm.md").is_file(), reason="runs in a checkout")
def test_the_pages_first_block_is_what_vllm_takes() -> None:
    """Its flags through vLLM's own argument parser and checks, then its names through the serving layer."""
    page = (ROOT / "docs" / "vllm.md").read_text(encoding="utf-8")
    command = re.search(r"```bash\n.*?^(vllm serve .*?)$", page, re.M | re.S)
    assert command
    cli_args = pytest.importorskip("vllm.entrypoints.common.cli_args")
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = cli_args.make_arg_parser(FlexibleArgumentParser())
    args = parser.parse_args(["--model", *shlex.split(command.group(1))[2:]])
    assert args.enable_auto_tool_choice
    assert args.tool_call_parser in host.ToolParserManager.list_registered()
    assert args.reasoning_parser in host.ReasoningParserManager.list_registered()
    example = runpy.run_path(str(ROOT / "examples" / "vllm" / "serving_layer.py"))
    chunks = list(example["stream"](example["OUTPUT"], args.tool_call_parser, args.reasoning_parser))
    assert "".join(chunk["delta"].get("content", "") for chunk in chunks) == "One moment."
    assert (
        "".join(chunk["delta"].get("reasoning", "") for chunk in chunks) == "The user asks for the weather."
    )
    calls = [call for chunk in chunks for call in chunk["delta"].get("tool_calls", ())]
    assert calls[0]["function"]["name"] == "get_weather"
    assert "".join(call["function"]["arguments"] for call in calls) == '{"city": "Zürich"}'
    assert chunks[-1]["finish_reason"] == "tool_calls"


@pytest.mark.skipif(not (ROOT / "examples").is_dir(), reason="runs in a checkout")
def test_the_example_runs_by_itself() -> None:
    path = ROOT / "examples" / "vllm" / "serving_layer.py"
    done = subprocess.run(
        [sys.executable, str(path)], check=False, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["finish_reason"] == "tool_calls"
