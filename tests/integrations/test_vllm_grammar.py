"""vLLM with our grammar: its serving layer asks for it, and its engine applies it."""

from __future__ import annotations

import functools
import json
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
import unspool
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast
from unspool.testing.marker_tokenizer import END, marker_tokenizer

from ..outputs import render

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip(
        "vllm.parser.parser_manager", reason="vLLM >= 0.24 is not installed", exc_type=ImportError
    )
    from unspool.integrations.vllm import UnspoolReasoningParser, host, structural_tag
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
    from vllm.parser.parser_manager import ParserManager
    from vllm.tool_parsers.tool_strict_level import ToolStrictLevel

if host.resolve_tool_strictness is None:
    pytest.skip("vLLM before 0.32 knows no levels of strictness", allow_module_level=True)

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::unspool")]
FORMATS = [file.name for file in unspool.formats() if file.has_tools]
REASONING = [file.name for file in unspool.formats() if file.has_tools and file.has_reasoning]
#: What the writer leaves out, ids and recipients, by hand.
BY_HAND = {
    "functionary_v32": 'look\n{"KEY": "Paris"}',  # the prompt has written the arrows
    "muse": ' to=look<|message|><atem:function_calls>\n<atem:invoke name="look">\n<atem:parameter name="KEY">Paris'
    "</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>",
    "solar_open": '<|tool_calls|><|tool_call:begin|>a1b2c3d4e0<|tool_call:name|>look<|tool_call:args|>{"KEY": "Paris"}'
    "<|tool_call:end|><|calls|>",
}
#: The same; and a line break between messages, after a token that ends the answer.
NOT_AS_WRITTEN = {*BY_HAND, "hyperclovax"}
CHOICES = ["auto", "required", "named"]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


@functools.cache
def make_tokenizer(format: str) -> PreTrainedTokenizerFast:
    """A token a byte, and one for each of the format's markers."""
    tokenizer = Tokenizer.from_str(marker_tokenizer(unspool.get_format(format)).to_str())
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)


def is_keyless(format: str) -> bool:
    """Whether a call has one parameter, whose name is not written."""
    calls = unspool.get_format(format).patterns["call"]
    return any("${value}" in call and "${key}" not in call for call in calls)


def tools_of(format: str, strict: bool | None = True) -> list[dict[str, Any]]:
    properties = {"city": {"type": "string"}} if is_keyless(format) else SCHEMA["properties"]
    function = {"name": "look", "parameters": {**SCHEMA, "properties": properties}}
    if strict is not None:
        function["strict"] = strict
    return [{"type": "function", "function": function}]


def request_of(format: str, choice: str, strict: bool | None = True, **options: Any) -> Any:
    named = {"type": "function", "function": {"name": "look"}}
    options.setdefault("tools", tools_of(format, strict))
    return ChatCompletionRequest(
        model="m", messages=[], tool_choice=named if choice == "named" else choice, **options
    )


def parser_of(format: str, reasoning: str | None = None, level: str | None = None) -> Any:
    cls = ParserManager.get_parser(
        f"unspool_{format}", reasoning and f"unspool_{reasoning}", True, tool_strict_level=level
    )
    return cls(make_tokenizer(format), None)


def tag_of(request: Any) -> dict[str, Any] | None:
    outputs = request.structured_outputs
    return None if outputs is None or outputs.structural_tag is None else json.loads(outputs.structural_tag)


@functools.cache
def backend_of(format: str) -> Any:
    """vLLM's own xgrammar backend."""
    from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

    tokenizer = make_tokenizer(format)
    config = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(disable_any_whitespace=False),
        model_config=None,
        speculative_config=None,
    )
    return XgrammarBackend(config, tokenizer=tokenizer, vocab_size=len(tokenizer))


def grammar_of(format: str, request: Any) -> Any:
    """The request's grammar as the engine compiles it, after the checks of the server."""
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions
    from vllm.v1.structured_output.backend_xgrammar import validate_xgrammar_grammar

    validate_xgrammar_grammar(SimpleNamespace(structured_outputs=request.structured_outputs))
    text = request.structured_outputs.structural_tag
    stop = make_tokenizer(format).eos_token_id
    return backend_of(format).compile_grammar(StructuredOutputOptions.STRUCTURAL_TAG, text, {stop})


def admits(format: str, request: Any, text: str) -> bool:
    """Whether the engine's grammar takes the whole text, and the end after it."""
    grammar, tokenizer = grammar_of(format, request), make_tokenizer(format)
    ids = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
    return len(grammar.validate_tokens(ids)) == len(ids)


def written(format: str, arguments: dict[str, Any]) -> str:
    """A call as the model's template writes it, after reasoning that the prompt has closed."""
    if format in BY_HAND:
        return BY_HAND[format].replace("KEY", *arguments)
    file = unspool.get_format(format)
    return render(file, "", "", [("look", arguments)]).removeprefix(render(file, "", "", []))


GOOD, MISSPELT = {"city": "Paris"}, {"citty": "Paris"}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("format", FORMATS)
def test_a_strict_tools_call_is_enforced(format: str, choice: str) -> None:
    """By the compiled grammar: the right call passes in the model's own syntax, one with a misspelt key does not."""
    request = parser_of(format).adjust_request(request_of(format, choice))
    assert tag_of(request) is not None
    assert request.response_format is None
    assert admits(format, request, written(format, GOOD))
    file = unspool.get_format(format)
    answer = render(file, "", "No.", [])
    answers = [
        answer,
        answer.removeprefix(render(file, "", "", [])),
        "No.",
        " to=user<|message|>No.",
        "all\nNo.",
    ]
    answers += [answer.removeprefix(turn) for turn in file.patterns.get("turn", ())]
    assert any(admits(format, request, text) for text in answers) == (choice == "auto")
    if not is_keyless(format) and (format, choice) != ("hyperclovax", "auto"):  # its header may be text
        assert not admits(format, request, written(format, MISSPELT))


@pytest.mark.parametrize("format", FORMATS)
def test_an_alias_has_the_same_grammar(format: str) -> None:
    file = unspool.get_format(format)
    tokenizer = make_tokenizer(format)
    for alias in file.aliases:
        own, other = (
            host.ToolParserManager.get_tool_parser(f"unspool_{name}")(tokenizer, None)
            for name in (format, alias)
        )
        request = request_of(format, "required")
        assert own.get_structural_tag(request) == other.get_structural_tag(request) != None  # noqa: E711


@pytest.mark.parametrize("format", FORMATS)
def test_what_the_grammar_admits_is_read(format: str) -> None:
    """Streamed, by ids, in the model's own syntax."""
    parser = parser_of(format)
    request = parser.adjust_request(request_of(format, "required"))
    ids = make_tokenizer(format).encode(written(format, GOOD), add_special_tokens=False)
    delta = parser.parse_delta(written(format, GOOD), ids, request, prompt_token_ids=[], finished=True)
    assert [(call.function.name, json.loads(call.function.arguments)) for call in delta.tool_calls] == [
        ("look", GOOD)
    ]
    assert not (delta.content or "").strip()


TWICE = written("hermes", GOOD) + written("hermes", GOOD)


@pytest.mark.parametrize(
    ("level", "strict", "choice", "is_constrained", "misspelt"),
    [
        (None, None, "auto", False, True),
        (None, True, "auto", True, False),
        ("function", None, "auto", True, True),
        ("parameter", None, "auto", True, False),
        (None, None, "required", True, True),
        (None, False, "named", True, True),
        ("parameter", False, "named", True, False),
    ],
)
def test_levels_of_strictness(
    level: str | None, strict: bool | None, choice: str, is_constrained: bool, misspelt: bool
) -> None:
    """As vLLM has them: a tool that is not strict keeps its arguments free, also if it is forced."""
    request = parser_of("hermes", level=level).adjust_request(request_of("hermes", choice, strict))
    assert (tag_of(request) is not None) == is_constrained
    if is_constrained:
        assert admits("hermes", request, written("hermes", MISSPELT)) == misspelt
        assert not admits("hermes", request, written("hermes", GOOD).replace("look", "book"))


@pytest.mark.parametrize("level", list(ToolStrictLevel))
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("strict", [True, False, None])
def test_older_hosts_have_the_same_levels(
    level: ToolStrictLevel, choice: str, strict: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before 0.32 vLLM does not say which tools are strict."""
    parser = host.ToolParserManager.get_tool_parser("unspool_hermes")(make_tokenizer("hermes"), None)
    request = request_of("hermes", choice, strict)
    new = parser.get_structural_tag(request, strict_level=level)
    monkeypatch.setattr(structural_tag, "resolve_tool_strictness", None)
    assert parser.get_structural_tag(request, strict_level=level) == new


def test_glm47_constrains_calls_that_no_one_asked_to() -> None:
    """vLLM's own parser of the name does, and so does ours."""
    request = parser_of("glm47").adjust_request(request_of("glm47", "auto", None))
    own = ParserManager.get_parser("glm47", None, True).tool_parser_cls
    assert own.default_tool_strict_level == ToolStrictLevel.FUNCTION
    assert tag_of(request) is not None


@pytest.mark.parametrize("choice", CHOICES)
def test_parallel_calls_can_be_off(choice: str) -> None:
    parser = parser_of("hermes")
    assert admits("hermes", parser.adjust_request(request_of("hermes", choice)), TWICE)
    single = parser.adjust_request(request_of("hermes", choice, parallel_tool_calls=False))
    assert admits("hermes", single, written("hermes", GOOD))
    assert not admits("hermes", single, TWICE)


def test_a_call_or_the_answer_that_was_asked_for() -> None:
    answer = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object", "properties": {
        "ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}}}  # fmt: skip
    request = parser_of("hermes").adjust_request(request_of("hermes", "auto", response_format=answer))
    assert admits("hermes", request, '{"ok": true}')
    assert admits("hermes", request, written("hermes", GOOD))
    assert not admits("hermes", request, "No.")
    assert not admits("hermes", request, written("hermes", MISSPELT))


def test_responses_are_constrained_too() -> None:
    tool = {"type": "function", **tools_of("hermes")[0]["function"]}
    request = ResponsesRequest(input="Hi", tools=[tool], tool_choice="required")
    request = parser_of("hermes").adjust_request(request)
    assert admits("hermes", request, written("hermes", GOOD))
    assert not admits("hermes", request, written("hermes", MISSPELT))


@pytest.mark.parametrize("choice", ["required", "named"])
@pytest.mark.parametrize("format", ["cwm", "hermes"])
def test_json_forces_what_has_no_grammar(format: str, choice: str, caplog: pytest.LogCaptureFixture) -> None:
    """Two parameters where a call names none, and a schema that no value fits."""
    schema = SCHEMA if is_keyless(format) else {**SCHEMA, "properties": {"city": False}}
    tools = [{"type": "function", "function": {"name": "look", "strict": True, "parameters": schema}}]
    parser = parser_of(format)
    request = parser.adjust_request(request_of(format, choice, tools=tools))
    assert tag_of(request) is None
    assert request.structured_outputs.json is not None
    assert "no grammar constrains" in caplog.text
    text = json.dumps(GOOD if choice == "named" else [{"name": "look", "parameters": GOOD}])
    ids = make_tokenizer(format).encode(text, add_special_tokens=False)
    delta = parser.parse_delta(text, ids, request, prompt_token_ids=[], finished=True)
    assert [(call.function.name, json.loads(call.function.arguments)) for call in delta.tool_calls] == [
        ("look", GOOD)
    ]


def test_no_grammar_if_vllm_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.envs, "VLLM_ENFORCE_STRICT_TOOL_CALLING", False)
    request = parser_of("hermes").adjust_request(request_of("hermes", "required"))
    assert tag_of(request) is None
    assert request.structured_outputs.json is not None


def test_a_response_template_has_no_grammar() -> None:
    tokenizer = make_tokenizer("hermes")
    cls = ParserManager.get_parser("unspool_auto", None, True)
    tokenizer.chat_template = "<tool_call>\n{{ tools }}"
    request = cls(tokenizer, None).adjust_request(request_of("hermes", "required"))
    assert tag_of(request) is not None, "what the tokenizer shows is a format"
    tokenizer.response_template = {"fields": {"content": {}}, "start_anchor": "a"}
    request = ParserManager.get_parser("unspool_hf", None, True)(tokenizer, None).adjust_request(
        request_of("hermes", "required")
    )
    assert tag_of(request) is None
    assert request.structured_outputs.json is not None


class Engine:
    """vLLM's manager of structured output for one request, whose tokens come as the test says."""

    def __init__(self, format: str, reasoning: str, request: Any, prompt: str) -> None:
        from vllm.v1.structured_output import StructuredOutputManager

        self.tokenizer = make_tokenizer(format)
        self.manager = object.__new__(StructuredOutputManager)
        self.manager.enable_in_reasoning = False
        self.manager.tokenizer = self.tokenizer
        self.manager.reasoner_cls = host.ReasoningParserManager.get_reasoning_parser(f"unspool_{reasoning}")
        assert issubclass(self.manager.reasoner_cls, UnspoolReasoningParser)
        ids = self.tokenizer.encode(prompt, add_special_tokens=False)
        self.request = SimpleNamespace(
            request_id="1",
            use_structured_output=True,
            prompt_token_ids=ids,
            all_token_ids=list(ids),
            structured_output_request=SimpleNamespace(
                grammar=grammar_of(format, request),
                reasoner=None,
                reasoning_ended=None,
                reasoning_parser_kwargs=None,
                masked_reasoning_end_ids=None,
            ),
        )

    def takes(self, text: str, step: int) -> bool:
        """Whether the engine accepts the output, so many tokens at a time."""
        self.manager._get_constraint_bounds(self.request, ())  # the prompt's state, as before the first token
        ids = [*self.tokenizer.encode(text, add_special_tokens=False), self.tokenizer.eos_token_id]
        for begin in range(0, len(ids), step):
            part = ids[begin : begin + step]
            self.request.all_token_ids += part
            if not self.manager.accept_tokens(self.request, part):
                return False
        return True


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("format", REASONING)
def test_the_engine_applies_it_after_the_reasoning(format: str, choice: str) -> None:
    if format in NOT_AS_WRITTEN:
        return
    file = unspool.get_format(format)
    request = parser_of(format, format).adjust_request(request_of(format, choice))
    turn = next((turn for turn in file.patterns.get("turn", ())), "")
    for arguments, is_right in ((GOOD, True), (MISSPELT, False)):
        text = render(file, "Hm.", "", [("look", arguments)])
        for step in (1, 5):
            took = Engine(format, format, request, turn).takes(text, step)
            assert took == (is_right or is_keyless(format)), (text, step)


@pytest.mark.parametrize("format", ["qwen3", "qwen3_coder", "glm45", "kimi_k2", "mistral", "deepseek_v31"])
def test_a_call_that_ends_the_reasoning_is_constrained(format: str) -> None:
    """Its opener is a token, and the grammar reads it."""
    file = unspool.get_format(format)
    request = parser_of(format, format).adjust_request(request_of(format, "required"))
    opener = file.facts.reasoning.openers[0]
    for arguments, is_right in ((GOOD, True), (MISSPELT, False)):
        text = f"{opener}Hm.{written(format, arguments).lstrip()}"
        for step in (1, 4):
            assert Engine(format, format, request, "Hi").takes(text, step) == is_right, (text, step)


def test_thoughts_are_text_if_nothing_reads_them() -> None:
    """Without a reasoning parser the tags are no markers, and a grammar that refused them would stop the model."""
    tokenizer = make_tokenizer("qwen3")
    assert len(tokenizer.encode("<think>", add_special_tokens=False)) == 1
    request = parser_of("qwen3").adjust_request(request_of("qwen3", "auto"))
    assert admits("qwen3", request, "<think>\nHm.\n</think>\n\nNo." + written("qwen3", GOOD))
    assert not admits("qwen3", request, "<think>\nHm.\n</think>\n\nNo." + written("qwen3", MISSPELT))
    request = parser_of("qwen3", "qwen3").adjust_request(request_of("qwen3", "auto"))
    assert not admits("qwen3", request, "</think>No.")
