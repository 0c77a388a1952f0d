"""What `unspool detect` reads of a model's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.formats.detect_command import detected, detected_json, detected_text
from unspool.formats.model_facts import read_model_facts

CODER = "{{ '<tool_call>' }}{{ '<function=' + name }}{{ '<parameter=' + key }}{{ '</function>' }}"


def best(path: Path | str) -> str:
    return detected(str(path))[0][0].format


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chat_template.jinja", CODER),
        ("chat_template.json", json.dumps({"chat_template": CODER})),
        ("tokenizer_config.json", json.dumps({"chat_template": CODER})),
        ("tokenizer_config.json", json.dumps({"chat_template": [{"name": "default", "template": CODER}]})),
        ("tokenizer.json", json.dumps({"added_tokens": [{"content": "<|tool_calls_section_begin|>"}, 3]})),
        ("config.json", json.dumps({"model_type": "gpt_oss"})),
    ],
)
def test_each_file_shows_it(tmp_path: Path, name: str, content: str) -> None:
    file = tmp_path / name
    file.write_text(content)
    expected = {"tokenizer.json": "kimi_k2", "config.json": "openai"}.get(name, "qwen3_coder")
    assert best(tmp_path) == best(file) == expected


def test_a_gguf_file(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_string("tokenizer.chat_template", CODER)
    writer.add_token_list(["a", "<|im_end|>"])
    writer.add_token_types([1, 3])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    assert best(path) == best(tmp_path) == "qwen3_coder"
    assert read_model_facts(str(path))[0]["added_tokens"] == ["<|im_end|>"]
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(unspool.VocabularyError, match=r"model\.gguf"):
        detected(str(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", b"{", "not JSON"),
        ("config.json", b"[1]", "not a JSON object"),
        ("chat_template.jinja", b"\xff", "not UTF-8"),
        ("readme.md", b"", "has none of config.json"),
        ("config.json", b"{}", "has none of config.json"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(unspool.ArgumentError, match=message):
        detected(str(tmp_path))


def test_a_repository_that_cannot_be_read_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no network\nand more")

    monkeypatch.setattr(hub, "snapshot_download", fail)
    found, problem = detected("Qwen/Qwen3-8B")
    assert (found[0].format, problem) == ("qwen3", "its files were not read: no network")
    text = detected_text(found, problem, "Qwen/Qwen3-8B")
    assert text.splitlines()[0] == "qwen3"
    assert "by the name alone, since its files were not read: no network" in text
    with pytest.raises(
        unspool.ArgumentError, match=r"no format matches 'nobody/nothing' \(its files were not read"
    ):
        detected("nobody/nothing")


def test_a_downloaded_repository_is_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    (tmp_path / "chat_template.jinja").write_text(CODER)
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: str(tmp_path))
    found, problem = detected("nobody/nothing")
    assert (found[0].format, problem) == ("qwen3_coder", None)
    assert detected_json(found)[0]["evidence"][0]["kind"] == "template"
    assert "reads tools and reasoning" in detected_text(found, None, "nobody/nothing")
