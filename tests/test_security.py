"""docs/security.md makes numbered promises; each has tests, named here, and these are they or run here."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool import Parser, Vocabulary, parse
from unspool.testing import shipped_cases

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "security.md"
in_checkout = pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")

PROMISES = {
    "P1": ["properties/test_promise_3_nothing_is_lost.py::test_every_byte_has_a_fate",
           "properties/test_promise_3_nothing_is_lost.py::test_invalid_utf8_becomes_replacement_characters",
           "attack/test_attack.py::test_fixed_attacks", "attack/test_attack.py::test_what_was_found"],
    "P2": ["properties/test_promise_3_nothing_is_lost.py::test_every_byte_has_a_fate"],
    "P3": ["properties/test_promise_4_valid_arguments.py::test_arguments"],
    "P4": ["properties/test_promise_1_chunk_invariance.py::test_text_split_at_any_bytes",
           "properties/test_promise_1_chunk_invariance.py::test_ids_in_any_groups"],
    "P5": ["test_security.py::test_a_spelled_call_in_text"],
    "P6": ["properties/test_law_2_mentions.py::test_law_2"],
    "P7": ["properties/test_promise_7_no_forged_markers.py::test_spelled_markers_are_text"],
    "P8": ["test_security.py::test_a_spelled_call_by_ids"],
    "P9": ["test_security.py::test_a_call_without_a_marker"],
    "P10": ["properties/test_strict_markers.py::test_what_ordinary_tokens_spell_is_content",
            "test_security.py::test_a_spelled_call_by_ids", "test_security.py::test_a_call_without_a_marker"],
    "P11": ["properties/test_strict_markers.py::test_real_markers_count_as_without_the_option"],
    "P12": ["properties/test_strict_markers.py::test_what_does_not_go_with_it",
            "properties/test_strict_markers.py::test_text_without_ids_is_refused",
            "test_security.py::test_a_response_template_is_not_strict"],
    "P13": ["properties/test_strict_markers.py::test_text_without_ids_is_refused"],
    "P14": ["parser/test_arguments_guard.py::test_calls_beyond_the_limit_are_malformed",
            "test_security.py::test_bounds_hold_in_every_format"],
    "P15": ["parser/test_arguments_guard.py::test_arguments_beyond_the_limit_are_malformed",
            "test_security.py::test_bounds_hold_in_every_format"],
    "P16": ["parser/test_arguments_guard.py::test_arguments_nested_too_deep_are_malformed",
            "properties/test_promise_6_flat_memory.py::test_depth_is_bounded_not_recursive"],
    "P17": ["parser/test_arguments_guard.py::test_what_is_held_too_long_is_text"],
    "P18": ["test_security.py::test_names_and_numbers_of_arguments"],
    "P19": ["properties/test_promise_6_flat_memory.py::test_held_bytes_stay_bounded",
            "test_security.py::test_memory_is_flat"],
    "P20": ["test_security.py::test_work_grows_with_the_output_alone"],
    "P21": ["test_damaged_files.py::test_a_hostile_tokenizer_costs_little",
            "test_damaged_files.py::test_a_damaged_tokenizer_json"],
    "P22": ["test_damaged_files.py::test_a_damaged_format_file", "test_damaged_files.py::test_damaged_patterns",
            "test_damaged_files.py::test_a_damaged_response_template"],
    "P23": ["writing/grammar/test_json_schema.py::test_a_hostile_schema_is_refused_in_time",
            "writing/grammar/test_large_schemas.py::test_a_schema_of_any_size",
            "writing/grammar/test_large_schemas.py::test_unions_that_lead_to_one_another_are_walked_once",
            "test_security.py::test_a_hostile_schema_of_a_tool"],
    "P24": ["test_security.py::test_nothing_is_unpickled"],
    "P25": ["learning/test_sandbox.py::test_a_template_reaches_nothing_of_python",
            "learning/test_sandbox.py::test_the_child_has_none_of_our_environment",
            "learning/test_sandbox.py::test_a_hostile_template_reaches_a_limit",
            "serve/test_preparing.py::test_a_checkpoints_template_has_limits_unless_it_is_trusted"],
    "P26": ["stream/test_snapshots.py::test_bytes_that_are_refused"],
    "P27": ["stream/test_snapshots.py::test_a_key"],
    "P28": ["properties/test_snapshots.py::test_false_bytes_do_no_harm"],
    "P29": ["stream/test_snapshots.py::test_what_it_is_bound_to"],
    "P30": ["serve/test_limits.py::test_keys"],
    "P31": ["serve/test_requests.py::test_too_long",
            "serve/test_requests.py::test_what_could_not_be_passed_on_is_422",
            "serve/test_raw_requests.py::test_a_raw_request"],
    "P32": ["serve/test_limits.py::test_so_many_at_once_so_many_waiting_the_rest_429"],
    "P33": ["serve/test_streaming.py::test_a_client_that_leaves_stops_its_model",
            "serve/test_preparing.py::test_a_loop_before_the_model_gets_504_and_ends",
            "serve/test_preparing.py::test_a_client_that_leaves_ends_a_loop_before_the_model",
            "serve/test_preparing.py::test_what_a_job_has_begun_ends_with_it",
            "serve/test_preparing.py::test_a_server_stops_although_a_thread_does_not"],
    "P34": ["serve/test_playground.py::test_every_answer_has_a_strict_policy",
            "serve/test_limits.py::test_the_pages_files_need_no_key_and_its_endpoints_do"],
    "P35": ["serve/test_trust.py::test_a_server_on_loopback_accepts_loopback_names_only",
            "serve/test_trust.py::test_pages_of_other_origins_are_rejected"],
    "P36": ["serve/test_bounded_errors.py::test_odd_values_of_every_field",
            "serve/test_bounded_errors.py::test_a_malformed_schema_is_found_before_the_model_runs",
            "serve/test_bounded_errors.py::test_a_models_exception_is_bounded_too"],
    "P37": ["serve/test_responses_store.py::test_the_store_is_bounded", "serve/test_responses_store.py::test_age",
            "serve/test_responses_store.py::test_a_response_is_seen_with_its_own_key_only",
            "serve/test_responses_store.py::test_nothing_is_kept_unless_it_is_wanted"],
    "P38": ["serve/test_ignored.py::test_the_header_is_bounded_and_plain",
            "serve/test_ignored.py::test_the_metric_has_only_names_of_ours"],
    "P39": ["engines/test_faults.py::test_an_answer_that_breaks_is_an_error_and_never_a_text",
            "engines/test_own_engine.py::test_wrong_ids_are_the_engines_fault"],
}  # fmt: skip


@in_checkout
def test_every_promise_has_a_test() -> None:
    promised = re.findall(r"^- \*\*(P\d+)\.\*\* (?=\S)", PAGE.read_text(encoding="utf-8"), re.M)
    assert promised == [f"P{i}" for i in range(1, len(promised) + 1)]
    assert set(promised) == set(PROMISES)
    for number, tests in PROMISES.items():
        assert tests, f"{number} has no test"
        for test in tests:
            path, _, name = test.partition("::")
            tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
            found = [node for node in tree.body if getattr(node, "name", None) == name]
            assert len(found) == 1, f"{number}: there is no test {test}"


@in_checkout
def test_a_promise_is_made_in_the_list_alone() -> None:
    """A number that the text refers to is one of the list, so that none is renamed half."""
    text = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"\bP\d+\b", text)) == set(PROMISES)


@in_checkout
def test_the_constants_that_the_page_names() -> None:
    names = set(re.findall(r"`(?:\w+::)?(k[A-Z]\w+|MAX_\w+)`", PAGE.read_text(encoding="utf-8")))
    assert len(names) >= 20
    sources = [*(ROOT / "csrc").rglob("*.[hc]*"), *(ROOT / "python").rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources if "third_party" not in path.parts)
    missing = [name for name in sorted(names) if not re.search(rf"\b{name} = ", code)]
    assert missing == []


def bytes_and(*tokens: str) -> Vocabulary:
    added = [(256 + i, text, text, False) for i, text in enumerate(tokens)]
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True)


HERMES = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'
QWEN = "<function=f>\n<parameter=x>\n1\n</parameter>\n</function>"


def test_a_spelled_call_in_text() -> None:
    (call,) = parse(f"An example:\n```\n{HERMES}\n```\n", "hermes").tool_calls
    assert (call.name, call.is_complete) == ("f", True)


def test_a_spelled_call_by_ids() -> None:
    vocabulary = bytes_and("<tool_call>", "</tool_call>")
    for strict, calls in ((False, 1), (True, 0)):
        parser = Parser("qwen3_coder", tokenizer=vocabulary, start_in="content", strict_markers=strict)
        message = parser.parse(list(QWEN.encode()))
        assert len(message.tool_calls) == calls
        assert message.content == ("" if calls else QWEN)


def test_a_call_without_a_marker() -> None:
    bare = '{"name": "f", "parameters": {"x": 1}}'
    vocabulary = bytes_and("<|python_tag|>")
    for strict, calls in ((False, 1), (True, 0)):
        message = Parser("llama3_json", tokenizer=vocabulary, strict_markers=strict).parse(
            list(bare.encode())
        )
        assert len(message.tool_calls) == calls
        assert message.content == ("" if calls else bare)


def test_a_response_template_is_not_strict() -> None:
    template = {"version": 1, "start_anchor": "<a>", "fields": {"content": {"open": "<c>", "close": "</c>"}}}
    vocabulary = bytes_and("<c>", "</c>")
    format = unspool.Format.from_response_template(template, vocabulary=vocabulary)
    with pytest.raises(unspool.ArgumentError, match="A response template cannot be strict"):
        Parser(format, tokenizer=vocabulary, strict_markers=True)


CALLS = [case for case in shipped_cases() if sum(call[2] == "complete" for call in case.calls) > 1]


@pytest.mark.parametrize("format", sorted({case.format for case in CALLS}))
def test_bounds_hold_in_every_format(format: str) -> None:
    for case in (case for case in CALLS if case.format == format):
        tools: Any = case.tools
        few = parse(case.input, format, tools, max_calls=1, **case.options)
        assert len(few.tool_calls) == 1, case
        limit = max(len(arguments.encode()) for _, arguments, _ in case.calls) - 1
        short = parse(case.input, format, tools, max_argument_bytes=max(limit, 1), **case.options)
        assert all(len(call.arguments.encode()) <= max(limit, 1) for call in short.tool_calls), case
        if limit > 1:
            assert [call.status for call in short.tool_calls].count("malformed") > 0, case


def test_names_and_numbers_of_arguments() -> None:
    def hermes(name: str, count: int) -> Any:
        arguments = ", ".join(f'"k{i}": {i}' for i in range(count))
        return parse(f'<tool_call>{{"name": "{name}", "arguments": {{{arguments}}}}}</tool_call>', "hermes")

    assert hermes("n" * 1024, 1024).tool_calls[0].is_complete
    assert not any(call.is_complete for call in hermes("n" * 1025, 1).tool_calls)
    assert not any(call.is_complete for call in hermes("n", 1025).tool_calls)
    tagged = "".join(f"<parameter=k{i}>\n{i}\n</parameter>\n" for i in range(1025))
    message = parse(f"<tool_call>\n<function=f>\n{tagged}</function>\n</tool_call>", "qwen3_coder")
    assert [call.status for call in message.tool_calls] == ["malformed"]
    assert message.malformed


def test_memory_is_flat() -> None:
    """What a stream without a message keeps is in its snapshot: it does not grow with content, and little with calls."""
    parser = Parser("hermes", keep_message=False)
    sizes = []
    for _ in range(3):
        for _ in range(300):
            parser.parse_chunk("text of the answer ")
        sizes.append(len(parser.snapshot()))
    assert sizes[2] <= sizes[0] + 16
    for _ in range(100):
        parser.parse_chunk(HERMES)
    assert len(parser.snapshot()) <= sizes[2] + 100 * 256


@pytest.mark.parametrize(
    "piece", ["<tool_call", "<tool_call>{", '{"a": "', "</tool_call", "```json\n", "\\", " "]
)
def test_work_grows_with_the_output_alone(piece: str) -> None:
    """Four times the output takes about four times the CPU time; quadratic work would take sixteen times."""
    import time

    def took(count: int) -> float:
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            Parser("hermes", keep_message=False).parse(HERMES[:-14] + piece * count)
            best = min(best, time.process_time() - begin)
        return best

    small = took(100_000 // len(piece))
    assert took(400_000 // len(piece)) < 9 * small + 0.02


def test_a_hostile_schema_of_a_tool() -> None:
    """Each definition refers twice to the next one: written out, 2 to the power of 60 parts."""
    import time

    definitions: dict[str, Any] = {
        f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]} for i in range(60)
    }
    definitions["d60"] = {"type": "string"}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions}
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        deep = {"type": "array", "items": deep}
    tools = [{"name": "f", "parameters": schema}, {"name": "g", "parameters": {"properties": {"x": deep}}}]
    begin = time.process_time()
    assert len(parse(HERMES, "hermes", tools).tool_calls) == 1
    assert time.process_time() - begin < 5


def test_nothing_is_unpickled() -> None:
    """No module of the package has what runs code of a file."""
    for path in Path(unspool.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "runpy"}, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), path
