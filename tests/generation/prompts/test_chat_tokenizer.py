"""A tokenizer without transformers: the same ids, texts, end tokens and formats as with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool import ArgumentError, ChatTokenizer, Detokenizer, Vocabulary, VocabularyError

pytest.importorskip("jinja2")
pytest.importorskip("transformers", minversion="5", reason="today's transformers is the measure")

from transformers import AutoTokenizer

from ...tiny_models import TEMPLATE, make_byte_tokenizer
from .gguf_files import byte_level_tokens, sentencepiece_tokens, write_gguf

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the limits of templates are POSIX's")

MESSAGES = [{"role": "user", "content": "Grüße <|im_end|> \N{SNOWMAN}"}]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
TEXTS = ["", "Hi", "Grüße \N{SNOWMAN}", " <think>a</think><|im_end|>", "<extra> <named><more>", "a" * 5000]


def change(path: Path, **values: Any) -> None:
    data = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**data, **values}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_byte_tokenizer(chat_template=TEMPLATE).save_pretrained(tmp_path)
    return tmp_path


def same(folder: Path) -> ChatTokenizer:
    """Our tokenizer of the folder, after a comparison with that of transformers."""
    ours, theirs = ChatTokenizer.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert ours.special_tokens_map == theirs.special_tokens_map
    assert ours.chat_template == theirs.chat_template
    for text in TEXTS:
        for adds in (True, False):
            assert ours.encode(text, adds) == theirs.encode(text, add_special_tokens=adds), text
    vocabulary = Vocabulary.from_tokenizer(theirs)
    assert ours.vocabulary.to_bytes() == vocabulary.to_bytes()
    assert Vocabulary.from_tokenizer(ours) is ours.vocabulary
    assert ours.get_added_vocab() == theirs.get_added_vocab()
    return ours


def test_a_folder(folder: Path) -> None:
    ours = same(folder)
    assert ours.eos_token == "<eos>"
    assert ours.eos_token_ids == (256,)
    assert ours.apply_chat_template(MESSAGES, add_generation_prompt=True) == (
        "<|im_start|>user\nGrüße <|im_end|> \N{SNOWMAN}<|im_end|>\n<|im_start|>assistant\n"
    )
    with pytest.raises(AttributeError):
        ours.bos_token  # noqa: B018


def test_it_stands_where_a_tokenizer_does(folder: Path) -> None:
    ours, theirs = ChatTokenizer.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert unspool.detect(ours) == unspool.detect(theirs)
    call = {"function": {"name": "f", "arguments": "{}"}}
    messages = [*MESSAGES, {"role": "assistant", "tool_calls": [call]}]
    assert unspool.prepare_messages(messages, ours) == unspool.prepare_messages(messages, theirs)
    streamer = unspool.TokenStreamer(ours, format="auto")
    streamer.put(ours.encode("<think>a</think>b", False) or ())
    streamer.end()
    assert streamer.message.reasoning == "a"


def test_tokens_that_only_the_configuration_has(folder: Path) -> None:
    count = len(make_byte_tokenizer())
    tokens = {str(count): {"content": "<extra>", "special": False, "normalized": False}}
    change(
        folder / "tokenizer_config.json",
        added_tokens_decoder=tokens,
        additional_special_tokens=["<more>", "<think>"],
        bos_token={"__type": "AddedToken", "content": "<named>", "lstrip": False, "normalized": False},
        image_token="<image>",
        add_bos_token=False,
    )
    ours = same(folder)
    assert ours.bos_token == "<named>"
    assert ours.image_token == "<image>"


def test_special_tokens_of_the_old_file(folder: Path) -> None:
    change(folder / "special_tokens_map.json", bos_token={"content": "<|im_start|>", "lstrip": False})
    assert same(folder).bos_token == "<|im_start|>"


def test_a_length_in_tokenizer_json_cuts_nothing(folder: Path) -> None:
    change(
        folder / "tokenizer.json",
        truncation={"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
    )
    assert len(ChatTokenizer.from_pretrained(folder).encode("abcdef") or ()) == 6


def test_end_tokens(folder: Path) -> None:
    change(folder / "config.json", eos_token_id=1)
    assert ChatTokenizer.from_pretrained(folder).eos_token_ids == (256, 1)
    change(folder / "generation_config.json", eos_token_id=[258, 256, 10**9, None])
    assert ChatTokenizer.from_pretrained(folder).eos_token_ids == (256, 258)


def test_where_templates_are(folder: Path) -> None:
    config = folder / "tokenizer_config.json"
    (folder / "chat_template.jinja").unlink()
    assert same(folder).chat_template is None
    with pytest.raises(ArgumentError, match="no default chat template"):
        ChatTokenizer.from_pretrained(folder).apply_chat_template(MESSAGES)
    (folder / "chat_template.json").write_text(json.dumps({"chat_template": "of a processor"}))
    assert ChatTokenizer.from_pretrained(folder).chat_template == "of a processor"
    change(config, chat_template="of the configuration")
    assert same(folder).apply_chat_template(MESSAGES) == "of the configuration"
    named = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "with tools"}]
    change(config, chat_template=named)
    assert same(folder).apply_chat_template(MESSAGES) == "plain"
    (folder / "chat_template.jinja").write_text("a file")
    assert same(folder).apply_chat_template(MESSAGES) == "a file"
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text("tools")
    ours = same(folder)
    assert ours.apply_chat_template(MESSAGES, tools=TOOLS) == "tools"
    assert ours.apply_chat_template(MESSAGES, chat_template="tool_use") == "tools"
    assert ours.get_chat_template() == "a file"
    assert ours.apply_chat_template(MESSAGES, chat_template="{{ messages[0].role }}") == "user"
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ArgumentError, match="of tool_use, name one"):
        same(folder).apply_chat_template(MESSAGES)


def test_a_template_of_the_callers(folder: Path) -> None:
    ours = ChatTokenizer.from_pretrained(folder, chat_template="{{ eos_token }}!")
    assert ours.apply_chat_template(MESSAGES) == "<eos>!"


@pytest.mark.parametrize("trusts", [False, True])
def test_limits_are_those_of_templates_that_are_not_trusted(folder: Path, trusts: bool) -> None:
    (folder / "chat_template.jinja").write_text(
        "{% for a in range(99999) %}{% for b in range(900) %}{% endfor %}{% endfor %}"
    )
    ours = ChatTokenizer.from_pretrained(folder, trust_template=trusts, template_timeout_s=1)
    if trusts:
        assert (
            ours.apply_chat_template(MESSAGES, chat_template="{{ messages[0].content }}")
            == MESSAGES[0]["content"]
        )
    else:
        with pytest.raises(ArgumentError, match=r"took longer|too much memory or time"):
            ours.apply_chat_template(MESSAGES)


def test_other_vocabularies(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ArgumentError, match=r"has none of tokenizer\.json"):
        ChatTokenizer.from_pretrained(folder)
    (folder / "tiktoken.model").write_bytes(b"YQ== 0\nYg== 1\n")
    change(
        folder / "tokenizer_config.json", added_tokens_decoder={"2": {"content": "<eos>", "special": True}}
    )
    ours = ChatTokenizer.from_pretrained(folder)
    assert ours.encode("a") is None
    assert ours.eos_token_ids == (2,)
    assert Detokenizer(ours.vocabulary).put([0, 1, 2]) == "ab"


def test_what_is_neither_folder_nor_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ArgumentError, match="is no folder or file, nor a repository"):
        ChatTokenizer.from_pretrained("./no/such/folder")


def test_a_gguf_file_of_bytes(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    tokens = byte_level_tokens()
    ids = {text: id for id, text in enumerate(tokens)}
    path = write_gguf(
        tmp_path / "Qwen3-0.6B-Q8_0.gguf",
        "gpt2",
        tokens,
        eos_token_id=ids["<|im_end|>"],
        eot_token_id=3,
        chat_template=TEMPLATE,
    )
    ours = ChatTokenizer.from_pretrained(path)
    assert ours.encode("a") is None
    assert ours.special_tokens_map == {"eos_token": "<|im_end|>"}
    assert ours.eos_token_ids == (ids["<|im_end|>"], 3)
    assert ours.apply_chat_template(MESSAGES).startswith("<|im_start|>user\n")
    vocabulary = Vocabulary.from_file(path)
    assert vocabulary.to_bytes() == ours.vocabulary.to_bytes()
    of_json = make_byte_tokenizer()
    spelled = of_json.convert_ids_to_tokens(range(256))
    for byte in range(256):
        (one,) = [id for id in range(256) if vocabulary.token_bytes(id) == bytes([byte])]
        assert list(tokens)[one] in spelled
    assert vocabulary.token_bytes(ids["\u0120word"]) == b" word"
    assert vocabulary.token_bytes(ids["été  "]) == "été  ".encode()
    assert vocabulary.is_special(ids["<|im_end|>"])
    assert vocabulary.is_added(ids["<think>"])
    assert not vocabulary.is_special(ids["<think>"])
    assert [found.format for found in unspool.detect(ours)] == ["qwen3"]


@pytest.mark.parametrize("adds_space", [None, False])
def test_a_gguf_file_of_sentencepiece(tmp_path: Path, adds_space: bool | None) -> None:
    pytest.importorskip("gguf")
    tokens = sentencepiece_tokens()
    ids = {text: id for id, text in enumerate(tokens)}
    facts = {} if adds_space is None else {"add_space_prefix": adds_space}
    path = write_gguf(tmp_path / "x.gguf", "llama", tokens, bos_token_id=1, **facts)
    stream = Detokenizer(Vocabulary.from_file(path))
    shown = [
        "<s>",
        "\u2581Hello",
        "\u2581w",
        "orld",
        "<tool>",
        "<0xE2>",
        "<0x98>",
        "<0x83>",
        "[TOOL_CALLS]",
        "!",
    ]
    text = stream.put([ids[token] for token in shown]) + stream.end()
    assert text == ("" if adds_space is None else " ") + "Hello world<tool>\N{SNOWMAN}!"
    ours = ChatTokenizer.from_pretrained(path)
    assert ours.chat_template is None
    assert ours.bos_token == "<s>"


def test_a_gguf_file_of_another_kind(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    path = write_gguf(tmp_path / "x.gguf", "rwkv", {"a": 1})
    with pytest.raises(
        VocabularyError, match=r"x\.gguf: the GGUF file's tokenizer 'rwkv' is none of gpt2, llama"
    ):
        ChatTokenizer.from_pretrained(path)


def test_neither_torch_nor_transformers_is_imported(folder: Path) -> None:
    code = (
        "import sys, unspool, unspool.serve, unspool.generation.delta_stream\n"
        f"tokenizer = unspool.ChatTokenizer.from_pretrained({str(folder)!r})\n"
        "unspool.TokenStreamer(tokenizer, format='auto').put(tokenizer.encode('Hi'))\n"
        "call = {'function': {'name': 'f', 'arguments': '{}'}}\n"
        "tokenizer.apply_chat_template(unspool.prepare_messages([{'role': 'assistant', 'tool_calls': [call]}], tokenizer))\n"
        "print([name for name in ('torch', 'transformers', 'numpy', 'gguf') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr
