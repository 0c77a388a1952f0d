"""SGLang's choice of a constraint with our detectors: the grammar of the format's own file."""

from __future__ import annotations

import functools
import json
from types import SimpleNamespace
from typing import Any

import pytest
import unspool
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast
from unspool.testing.marker_tokenizer import END, marker_tokenizer

from ..outputs import render

host = pytest.importorskip(
    "unspool.integrations.sglang", reason="SGLang is not installed", exc_type=ImportError
)
xgrammar = pytest.importorskip("xgrammar")
pytestmark = pytest.mark.filterwarnings("ignore")  # SGLang's own

host.register()
#: All whose messages have no headers: there SGLang's own grammar counts.
FORMATS = [file.name for file in unspool.formats() if file.has_tools and not file.facts.headers]
#: The writer writes no ids as the model does.
NOT_AS_WRITTEN = {"solar_open"}
CHOICES = ["auto", "required", "named"]
PROPERTIES = {"city": {"type": "string"}, "days": {"type": "integer"}}
GOOD, MISSPELT = {"city": "Paris"}, {"citty": "Paris"}


@functools.cache
def make_tokenizer(format: str) -> PreTrainedTokenizerFast:
    """A token a byte, and one for each of the format's markers."""
    tokenizer = Tokenizer.from_str(marker_tokenizer(unspool.get_format(format)).to_str())
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)


def is_keyless(format: str) -> bool:
    """Whether a call has one parameter, whose name is not written."""
    calls = unspool.get_format(format).patterns["call"]
    return any("${value}" in call and "${key}" not in call for call in calls)


def tools_of(format: str, strict: bool, **properties: Any) -> list[Any]:
    from sglang.srt.entrypoints.openai.protocol import Tool

    known = properties or ({"city": {"type": "string"}} if is_keyless(format) else PROPERTIES)
    schema = {"type": "object", "properties": known, "required": ["city"], "additionalProperties": False}
    return [Tool(type="function", function={"name": "look", "strict": strict, "parameters": schema})]


def choice_of(choice: str) -> Any:
    from sglang.srt.entrypoints.openai.protocol import ToolChoice

    return ToolChoice(function={"name": "look"}) if choice == "named" else choice


def constraint_of(format: str, choice: str, strict: bool = True, **options: Any) -> Any:
    """As the chat endpoint asks for it."""
    tools = options.pop("tools", None) or tools_of(format, strict)
    parser = host.FunctionCallParser(tools, host.PREFIX + format, tokenizer=make_tokenizer(format))
    return parser.get_structure_constraint(choice_of(choice), **options)


@functools.cache
def compiler_of(format: str) -> Any:
    tokenizer = make_tokenizer(format)
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
    return xgrammar.GrammarCompiler(info, max_threads=1)


def admits(format: str, tag: Any, text: str) -> bool:
    """Whether the grammar takes the whole text and its end, compiled as SGLang's backend compiles it."""
    key = json.dumps(tag.model_dump(by_alias=True))
    matcher = xgrammar.GrammarMatcher(compiler_of(format).compile_structural_tag(key))
    ids = make_tokenizer(format).encode(text + END, add_special_tokens=False)
    return all(matcher.accept_token(id) for id in ids)


def written(format: str, arguments: dict[str, Any]) -> str:
    file = unspool.get_format(format)
    return render(file, "", "", [("look", arguments)]).removeprefix(render(file, "", "", []))


def read(format: str, choice: str, text: str) -> list[tuple[str, Any]]:
    """What the endpoint sends of a streamed answer."""
    tools, tokenizer = tools_of(format, True), make_tokenizer(format)
    options = {} if choice == "auto" else {"tool_choice": choice_of(choice)}
    parser = host.FunctionCallParser(tools, host.PREFIX + format, tokenizer=tokenizer, **options)
    assert choice == "auto" or parser.owns_tool_format()
    items = [item for piece in text for item in parser.parse_stream_chunk(piece)[1]]
    items += parser.parse_stream_end()[1]
    names = [item.name for item in items if item.name]
    return [(name, json.loads("".join(item.parameters for item in items))) for name in names]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("format", FORMATS)
def test_a_strict_tools_call_is_enforced_and_read(format: str, choice: str) -> None:
    """In the model's own syntax; a misspelt key does not pass."""
    kind, tag = constraint_of(format, choice)
    assert kind == "structural_tag"
    if not is_keyless(format):
        assert not admits(format, tag, written(format, MISSPELT))
    if format not in NOT_AS_WRITTEN:
        assert admits(format, tag, written(format, GOOD))
        assert read(format, choice, written(format, GOOD)) == [("look", GOOD)]
    assert choice == "auto" or not admits(format, tag, "No.")


@pytest.mark.parametrize("choice", CHOICES)
def test_arguments_of_other_tools_are_free(choice: str) -> None:
    """As SGLang has it: "auto" constrains no calls, and forced ones may hold any arguments."""
    found = constraint_of("hermes", choice, strict=False)
    assert (found is None) == (choice == "auto")
    assert found is None or admits("hermes", found[1], written("hermes", MISSPELT))
    level = type(host.envs.SGLANG_TOOL_STRICT_LEVEL.get())
    with host.envs.SGLANG_TOOL_STRICT_LEVEL.override(level.PARAMETER):
        kind, tag = constraint_of("hermes", choice, strict=False)
    assert kind == "structural_tag"
    assert not admits("hermes", tag, written("hermes", MISSPELT))


def test_parallel_calls_can_be_off() -> None:
    twice = written("hermes", GOOD) * 2
    assert admits("hermes", constraint_of("hermes", "required")[1], twice)
    tag = constraint_of("hermes", "required", parallel_tool_calls=False)[1]
    assert admits("hermes", tag, written("hermes", GOOD))
    assert not admits("hermes", tag, twice)


@pytest.mark.parametrize("choice", CHOICES)
def test_what_has_no_grammar_is_forced_as_before(choice: str, caplog: pytest.LogCaptureFixture) -> None:
    """Never an error: SGLang would leave the calls unconstrained."""
    tools = tools_of("cwm", True, **PROPERTIES)
    found = constraint_of("cwm", choice, tools=tools)
    assert "constrains this request's calls" in caplog.text
    assert (found is None) if choice == "auto" else found[0] == "json_schema"
    guided = json.dumps([{"name": "look", "parameters": GOOD}])
    assert choice == "auto" or read("cwm", choice, guided) == [("look", GOOD)]
    kind, tag = constraint_of("hermes", choice, tools=tools_of("hermes", True, city=False))
    assert kind == "structural_tag"
    assert tag.structures, "SGLang's own, of the older kind"


@pytest.mark.parametrize(("backend", "is_ours"), [("xgrammar", True), (None, True), ("llguidance", False)])
def test_other_backends_read_sglangs_older_tags(
    backend: str | None, is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sglang.srt import runtime_context

    monkeypatch.setattr(runtime_context, "get_server_args", lambda: SimpleNamespace(grammar_backend=backend))
    _, tag = constraint_of("hermes", "required")
    assert hasattr(tag, "structures") != is_ours


def test_thoughts_come_first_where_no_other_grammar_waits_for_their_end() -> None:
    tag = constraint_of("qwen3", "required", thinking_mode=True)[1]
    call = written("qwen3", GOOD)
    assert admits("qwen3", tag, "<think>\nHm.\n</think>\n\n" + call)
    assert not admits("qwen3", constraint_of("qwen3", "required")[1], "<think>\nHm.\n</think>\n\n" + call)
