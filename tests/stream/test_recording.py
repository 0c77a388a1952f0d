"""Records: an answer is read again as it was, a fault of then shows, and a file of anyone's does no harm."""

from __future__ import annotations

import copy
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from unspool import ArgumentError, Parser, TokenStreamer, UnspoolError, Vocabulary
from unspool.__main__ import cli
from unspool.formats.format_file import formats, get_format
from unspool.streams.recording.folder import RecordFolder
from unspool.streams.recording.recorded_answer import ParserSetup, record_answer
from unspool.streams.recording.redact import redact
from unspool.streams.recording.replay import load_record, replay
from unspool.streams.recording.show_replay import case_of
from unspool.testing.cases import parse_cases, shipped_cases
from unspool.testing.marker_tokenizer import marker_tokenizer

CALL = '<think>hm</think>Hi <tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


def text_record(format: str = "qwen3", output: str = CALL, **options: Any) -> dict[str, Any]:
    message = Parser(format, None, **options).parse(output)
    return record_answer(ParserSetup(format, None, options), "", [output[:9], output[9:]], message)


def file_of(folder: Path, *answers: Any, **fields: Any) -> str:
    path = folder / "record.json"
    path.write_text(json.dumps({"record": 1, "answers": list(answers), **fields}))
    return str(path)


@pytest.mark.parametrize("format", [file.name for file in formats()])
def test_every_case_is_read_again_by_its_ids(format: str) -> None:
    """From the record alone: the model's tokenizer is not at hand."""
    file = get_format(format)
    vocabulary = Vocabulary.from_tokenizer(tokenizer := marker_tokenizer(file, end=None))
    for case in shipped_cases(format):
        ids = tokenizer.encode(case.input, add_special_tokens=False).ids
        tools = None if case.tools is None else list(case.tools)
        streamer = TokenStreamer(vocabulary, file, tools, **case.options)
        streamer.put(ids)
        message = streamer.finish(case.finish_reason)
        setup = ParserSetup(file, tools, case.options, vocabulary)
        record = record_answer(setup, case.options.get("prompt") or "", ids, message)
        found = replay(json.loads(json.dumps(record)))
        assert found.differences == {}, case.name
        assert found.input == "".join(text for _, text in found.regions), case.name


def test_a_mention_that_was_no_token_stays_one() -> None:
    file = get_format("hermes")
    tokenizer = marker_tokenizer(file, end=None)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    text = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    ids = [id for letter in text for id in tokenizer.encode(letter, add_special_tokens=False).ids]
    streamer = TokenStreamer(vocabulary, file)
    streamer.put(ids)
    message = streamer.finish()
    assert message.content == text
    found = replay(record_answer(ParserSetup(file, None, {}, vocabulary), [], ids, message))
    assert found.differences == {}


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ("<|im_start|>user\nmy secret<|im_end|>\n<|im_start|>assistant\n<think>\n", "<|im_start|>assistant\n<think>\n"),
        ("USER my secret\nASSISTANT <think>\n", "<think>\n"),
        ("USER </think> my secret\nASSISTANT", None),
    ],
)  # fmt: skip
def test_of_a_prompt_only_the_answers_beginning_is_kept(prompt: str, kept: str | None) -> None:
    message = Parser("qwen3", prompt=prompt).parse("hm</think>Hi")
    assert bool(message.reasoning) == (kept is not None)
    record = record_answer(ParserSetup(get_format("qwen3")), prompt, ["hm</thi", "nk>Hi"], message)
    assert record["prompt"] == kept
    assert "secret" not in json.dumps(record)
    assert replay(record).differences == {}


def test_what_another_parser_read_is_a_difference(tmp_path: Path) -> None:
    record = text_record()
    record["message"]["content"] = "Hi <tool_call>"
    record["message"]["calls"] = []
    path = file_of(tmp_path, record)
    shown = CliRunner().invoke(cli, ["replay", path])
    assert shown.exit_code == 1
    assert 'content:\n  - "Hi <tool_call>"\n  + "Hi "' in shown.output
    as_json = json.loads(CliRunner().invoke(cli, ["replay", "--json", path]).output)
    assert set(as_json["differences"]) == {"content", "calls"}
    assert ["content", "Hi "] in as_json["regions"]
    assert CliRunner().invoke(cli, ["replay", file_of(tmp_path, text_record())]).exit_code == 0


def test_another_format_reads_it_in_another_way(tmp_path: Path) -> None:
    path = file_of(tmp_path, text_record(output="<think>hm</think>Hi"))
    assert CliRunner().invoke(cli, ["replay", path]).exit_code == 0
    assert CliRunner().invoke(cli, ["replay", "--format", "none", path]).exit_code == 1


def test_a_record_becomes_a_case() -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
    message = Parser("qwen3", tools).parse(CALL)
    found = replay(record_answer(ParserSetup("qwen3", tools), "", [CALL], message))
    (case,) = parse_cases(case_of(found))
    assert (
        case.differences(Parser(case.format, list(case.tools or ()), **case.options).parse(case.input)) == {}
    )


BROKEN: list[Any] = [
    b"", b"\xff", b"[" * 100_000, b"{}", b"[]", b'{"record": 2, "answers": [{}]}', b'{"record": 1, "answers": []}',
    b'{"record": 1, "answers": [1]}', b'{"record": 1, "answers": [{}]}',
]  # fmt: skip


@pytest.mark.parametrize("data", BROKEN)
def test_a_broken_file_is_one_line_of_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(data)
    with pytest.raises(ArgumentError, match=r"record\.json"):
        load_record(path)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "no such"}, {"format": "/etc/passwd"}, {"format": "hf"}, {"options": {"no_such": 1}},
        {"options": {"max_depth": "x"}}, {"options": {"stop": [1]}}, {"tools": [1]}, {"tokens": [1]},
        {"tokens": ["x y"]}, {"tokens": ["1"]}, {"markers": {"a": 1, "b": "x"}, "tokens": ["1 a", "2 b"]},
        {"message": {}}, {"message": None}, {"prompt": 3}, {"tokens": ["1 \ud800"]}, {"tokens": ["- \ud800"]},
        {"options": {"rollback_window": 1 << 60}}, {"options": {"tokenizer": "x", "prompt": 1}},
        {"options": {"also": "any", "labels": True}}, {"markers": {"": True}, "tokens": ["1 ", "2 a"]},
    ],
)  # fmt: skip
def test_a_hostile_record_raises_what_the_command_line_reports(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    record = {**copy.deepcopy(text_record()), **change}
    try:
        for answer in load_record(file_of(tmp_path, record)):
            replay(answer)
    except (UnspoolError, TypeError, ValueError):
        pass


def test_a_request_is_redacted_and_its_schemas_stay() -> None:
    body = {
        "model": "m", "temperature": 0.5, "metadata": {"user": "secret"}, "input": "secret", "prompt": [1, 2, 3],
        "messages": [
            {"role": "user", "name": "secret", "content": [{"type": "text", "text": "secret"}]},
            {"role": "assistant", "tool_calls": [{"function": {"name": "secret", "arguments": '{"secret": 1}'}}]},
            {"content": [{"type": "tool_use", "input": {"secret": "secret"}}]},
        ],
        "secret text": 1,
        "tools": [{"function": {"name": "f", "description": "secret", "parameters": {
            "properties": {"description": {"type": "string", "description": "secret", "enum": ["a"]}}}}}],
    }  # fmt: skip
    found = redact(body)
    assert "secret" not in json.dumps(found)
    assert found["tools"] == [{"function": {"name": "f", "parameters": {
        "properties": {"description": {"type": "string", "enum": ["a"]}}}}}]  # fmt: skip
    assert (found["model"], found["temperature"], found["messages"][0]["role"]) == ("m", 0.5, "user")


def test_a_folder_keeps_to_its_size_and_to_its_own_files(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "records"
    files = [RecordFolder(folder, 1_000_000).write("req/../../x", {"text": "x" * 300_000}) for _ in range(3)]
    (folder / "notes.json").write_text("x" * 2_000_000)
    last = RecordFolder(folder, 1_000_000).write("", {"text": "x" * 300_000})
    assert {file.name for file in folder.iterdir()} == {
        "notes.json",
        last.name,
        *(file.name for file in files[1:]),
    }
    assert all(file.parent == folder for file in files)
    assert stat.S_IMODE(last.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with pytest.raises(OSError, match="larger than"):
        RecordFolder(folder, 1_000_000).write("", {"text": "x" * 2_000_000})


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="name another folder"):
        RecordFolder(tmp_path / "file", 1_000_000)
    with pytest.raises(ArgumentError, match="1 MB"):
        RecordFolder(tmp_path, 10)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
