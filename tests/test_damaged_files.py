"""A damaged or hostile tokenizer, format or template raises the error of its kind, soon, and nothing else."""

from __future__ import annotations

import base64
import copy
import json
import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool import ArgumentError, Format, FormatError, Vocabulary, VocabularyError
from unspool._core import PATTERN_KEYS
from unspool.formats.format_file import FormatFile

SPACE = "\u2581"
DECODERS: list[dict[str, Any]] = [
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    },
    {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "BPEDecoder", "suffix": "</w>"},
]


def tokenizer_json(decoder: dict[str, Any], is_unigram: bool = False) -> dict[str, Any]:
    vocab: Any = {"<unk>": 0, f"{SPACE}a": 1, "<0x0A>": 2, "##b": 3, "c</w>": 4}
    model: dict[str, Any] = {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": []}
    if is_unigram:
        model = {"type": "Unigram", "unk_id": 0, "vocab": [[text, -1.0] for text in vocab]}
    added = {"single_word": False, "lstrip": False, "rstrip": False}
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": 5, "content": "<call>", "normalized": False, "special": True, **added},
            {"id": 6, "content": "Word", "normalized": True, "special": False, **added},
        ],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": decoder,
        "model": model,
    }


WRONG: list[Any] = [
    None, True, -1, 1.5, 2**26, 2**70, "", "\ud800", "x" * 70_000, [], [[]], [1, None], {}, {"a": 1}
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def damaged(data: Any) -> Iterator[Any]:
    """Each member in turn: left out, of another type, doubled, deep."""
    for path in places(data):
        for wrong in ["leave out", "nest", *WRONG]:
            made = copy.deepcopy(data)
            parent = made
            for key in path[:-1]:
                parent = parent[key]
            if wrong == "leave out":
                del parent[path[-1]]
            elif wrong == "nest":
                value = parent[path[-1]]
                for _ in range(200):
                    value = {"type": "Sequence", "decoders": [value]}
                parent[path[-1]] = value
            else:
                parent[path[-1]] = wrong
            yield made


def reads(path: Path) -> bool:
    """Whether the file is read; anything but a VocabularyError comes out of here."""
    try:
        Vocabulary.from_file(path)
    except VocabularyError:
        return False
    return True


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("is_unigram", [False, True])
@pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder["type"])
def test_a_damaged_tokenizer_json(decoder: dict[str, Any], is_unigram: bool, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    whole = tokenizer_json(decoder, is_unigram)
    path.write_text(json.dumps(whole))
    assert reads(path)
    outcomes = []
    for made in damaged(whole):
        path.write_text(json.dumps(made))
        outcomes.append(reads(path))
    assert any(outcomes)
    assert not all(outcomes)


def test_text_that_is_no_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    texts = [
        "",
        "[]",
        "null",
        "{",
        "\ufeff{}",
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"model": ' + "9" * 5000 + "}",
    ]
    for text in texts:
        path.write_text(text)
        assert not reads(path)
    path.write_bytes(b"\xff\xfe")
    assert not reads(path)


TEKKEN: dict[str, Any] = {
    "config": {
        "pattern": "[^ ]+| ",
        "num_vocab_tokens": 256,
        "default_vocab_size": 266,
        "default_num_special_tokens": 10,
        "version": "v7",
    },
    "vocab": [
        {"rank": rank, "token_bytes": base64.b64encode(bytes([rank % 256])).decode(), "token_str": None}
        for rank in range(256)
    ],
    "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": True}],
}


def test_a_damaged_tekken_json(tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(TEKKEN))
    assert reads(path)
    for made in damaged({**TEKKEN, "vocab": TEKKEN["vocab"][:1]}):
        if isinstance(made.get("vocab"), list):
            made["vocab"] += TEKKEN["vocab"][1:]
        path.write_text(json.dumps(made))
        reads(path)


def test_a_damaged_tiktoken_file(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    for rank in [b"", b"-1", b"1.5", b"4294967296", b"9" * 5000, b"1 2", b"\xff", str(2**26).encode()]:
        path.write_bytes(b"YQ== 0\nYg== " + rank + b"\n")
        with pytest.raises(VocabularyError):
            Vocabulary.from_tiktoken(path)
    path.write_bytes(b"YQ== 0\n")
    for specials in [{"<x>": -1}, {"<x>": "a"}, {"\ud800": 1}, {1: 2}]:
        with pytest.raises(VocabularyError):
            Vocabulary.from_tiktoken(path, specials)  # type: ignore[arg-type]


def test_a_damaged_sentencepiece_model(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    path = tmp_path / "tokenizer.model"
    generator = random.Random(1)
    for size in [0, 1, 10, 1000]:
        path.write_bytes(generator.randbytes(size))
        assert not reads(path) or size == 0


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def gguf(facts: list[tuple[bytes, bytes]], count: int | None = None, version: int = 3) -> bytes:
    head = struct.pack("<4sIQQ", b"GGUF", version, 0, len(facts) if count is None else count)
    return head + b"".join(text(key) + value for key, value in facts)


def listed(kind: int, items: list[bytes], count: int | None = None) -> bytes:
    return struct.pack("<IIQ", 9, kind, len(items) if count is None else count) + b"".join(items)


TOKENS = [b"a", b"<0x0A>", "\u2581b".encode(), b"<s>", b"<tool>"]
GGUF_FACTS: list[tuple[bytes, bytes]] = [
    (b"general.name", struct.pack("<I", 8) + text(b"tiny")),
    (b"general.alignment", struct.pack("<II", 4, 32)),
    (b"tokenizer.ggml.model", struct.pack("<I", 8) + text(b"llama")),
    (b"tokenizer.ggml.tokens", listed(8, [text(token) for token in TOKENS])),
    (b"tokenizer.ggml.scores", listed(6, [struct.pack("<f", 0)] * 5)),
    (b"tokenizer.ggml.token_type", listed(5, [struct.pack("<i", kind) for kind in (1, 6, 1, 3, 4)])),
    (b"tokenizer.ggml.add_space_prefix", struct.pack("<I?", 7, False)),
    (b"tokenizer.ggml.eos_token_id", struct.pack("<II", 4, 3)),
    (b"tokenizer.chat_template", struct.pack("<I", 8) + text(b"{{ messages }}")),
]


def test_a_damaged_gguf_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    whole = gguf(GGUF_FACTS)

    def reads_both(data: bytes) -> bool:
        path.write_bytes(data)
        try:
            unspool.ChatTokenizer.from_pretrained(path)
        except VocabularyError:
            assert not reads(path) or data != whole  # a template may be wrong where the tokens are right
            return False
        return reads(path)

    assert reads_both(whole)
    outcomes = [reads_both(whole[:size]) for size in range(len(whole))]
    assert not any(outcomes)
    for place in range(len(whole)):
        for wrong in (0, 1, 0x7F, 0xFF):
            outcomes.append(reads_both(whole[:place] + bytes([wrong]) + whole[place + 1 :]))
    assert any(outcomes)
    for at in range(len(GGUF_FACTS)):
        reads_both(gguf(GGUF_FACTS[:at] + GGUF_FACTS[at + 1 :]))
        assert not reads_both(gguf([*GGUF_FACTS, GGUF_FACTS[at]])), "a key twice"


@pytest.mark.parametrize(
    "data",
    [
        gguf([], count=2**63),
        gguf([(b"a", listed(7, [], count=2**62))]),
        gguf([(b"a", listed(8, [], count=2**62))]),
        gguf([(b"a", listed(9, [listed(9, [])] * 100))]),
        gguf([(b"a", struct.pack("<IQ", 8, 2**63))]),
        gguf([(b"a", listed(8, [text(b"")] * 2**16, count=2**22))]),
        gguf([(b"%d" % at, listed(8, [text(b"")] * 2**12)) for at in range(2**8)], count=2**16),
        gguf(GGUF_FACTS, version=1),
        gguf([(b"\xff", struct.pack("<II", 4, 0))]),
        b"",
        b"GGUF",
    ],
)
def test_a_hostile_gguf_file_costs_little(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(data)
    begin = time.thread_time()
    assert not reads(tmp_path / "x.gguf")
    assert time.thread_time() - begin < 20


CHAT_FILES: dict[str, Any] = {
    "tokenizer_config.json": {
        "bos_token": {"content": "<call>", "lstrip": False},
        "eos_token": "</s>",
        "added_tokens_decoder": {"7": {"content": "<more>", "special": True}},
        "extra_special_tokens": ["<extra>", {"content": "<other>"}],
        "chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}],
        "response_template": {"version": 1},
    },
    "special_tokens_map.json": {"pad_token": "<pad>"},
    "generation_config.json": {"eos_token_id": [1, 2]},
    "chat_template.json": {"chat_template": "c"},
}


@pytest.mark.parametrize("name", CHAT_FILES)
def test_damaged_files_beside_a_tokenizer(name: str, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json(DECODERS[0])))
    path = tmp_path / name
    texts = [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"a": ' + "9" * 5000 + "}",
        *map(json.dumps, damaged(CHAT_FILES[name])),
    ]
    outcomes = []
    for made in [json.dumps(CHAT_FILES[name]), *texts]:
        path.write_text(made)
        try:
            tokenizer = unspool.ChatTokenizer.from_pretrained(tmp_path)
        except (VocabularyError, ArgumentError):
            outcomes.append(False)
            continue
        outcomes.append(True)
        tokenizer.encode("a")
        unspool.detect(tokenizer, learn=False)
    assert outcomes[0]
    assert not all(outcomes)


def a_vocabulary(count: int, steps: list[dict[str, Any]]) -> Vocabulary:
    return Vocabulary({f"a{i}": i for i in range(count)}, [], steps)


def replace(content: str, replacement: str) -> dict[str, Any]:
    return {"kind": "replace", "content": content, "replacement": replacement}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Vocabulary({"a": 2**26 - 1}, []), "67108863 is too large.*below 1048576"),
        (lambda: Vocabulary({"a": 1}, [(2**32 - 1, "<x>", "<x>", True)]), "4294967295 is too large"),
        (lambda: a_vocabulary(10, [replace("a", "a" * 100)] * 4), "longer than 1048576 bytes"),
        (lambda: a_vocabulary(100_000, [replace("a", "a" * 100)] * 2), "more than 268435456 bytes"),
        (
            lambda: a_vocabulary(100_000, [replace("a", "a" * 1000), replace("a" * 1000, "a")] * 20),
            "more than 536870912 bytes",
        ),
        (lambda: a_vocabulary(100_000, [{"kind": "fuse"}] * 10_000), "10000 steps that handle more"),
        (lambda: Vocabulary({"a" * (2**20 + 1): 0}, []), "at most 1048576"),
        (
            lambda: a_vocabulary(50_000, [{"kind": "strip", "content": "a", "start": 2**32 - 1}]),
            None,
        ),
    ],
)
def test_a_hostile_tokenizer_costs_little(make: Any, message: str | None) -> None:
    begin = time.thread_time()
    if message is None:
        make()
    else:
        with pytest.raises(VocabularyError, match=message):
            make()
    assert time.thread_time() - begin < 20  # it took minutes


def test_ids_may_be_far_apart_where_there_are_many_tokens() -> None:
    assert len(Vocabulary({"a": 2**20 - 1}, [])) == 2**20
    count = 300_000
    tokens = {f"{i:x}": i for i in range(count)} | {"last": 4 * count - 1}
    assert len(Vocabulary(tokens, [])) == 4 * count


FORMAT: dict[str, Any] = {
    "name": "f",
    "models": ["m"],
    "end": ["<end>"],
    "id": "${random:9}",
    "turn": "<turn>",
    "reasoning": "<think>${reasoning:verbatim}</think>",
    "calls": ["<calls>${calls}</calls>"],
    "header": "<|a|>${_}<|b|>",
    "call": [
        "\n<call>${object}</call>",
        "<function=${name}>${parameters}</function>",
        "<args>${name}<x>${arguments}</args>",
        "[${name}(${key}=${value}, ${...}), ${...}]",
    ],
    "object": '{"tool": ${name}, "args": ${arguments}}',
    "parameter": "<p=${key} type=${type}>\n${value:json,xml}\n</p>",
    "string": "<|q|>${value}<|q|>",
    "detect": {"template": ["<think>"], "names": ["f"]},
    "example": [{"input": "Hi", "content": "Hi"}],
}


def to_toml(value: dict[str, Any]) -> str:
    inline = (json.dumps(item, separators=(", ", " = ")) for item in value.values())
    return "\n".join(f"{key} = {text}" for key, text in zip(value, inline, strict=True))


def compiles(text: str) -> bool:
    try:
        Format(FormatFile(text))
    except FormatError:
        return False
    return True


def test_a_damaged_format_file() -> None:
    outcomes = []
    for made in [FORMAT, *damaged(FORMAT)]:
        text = to_toml(made)
        if "null" not in text:  # which TOML does not have
            outcomes.append(compiles(text))
    assert outcomes[0]
    assert not all(outcomes)
    for text in [
        "[" * 100_000,
        "a = " + "[" * 100_000,
        "a." * 10_000 + "b = 1",
        "[(]",
        "\0",
        "\ufebf",
        'name = "\\ud800"',
    ]:
        assert not compiles(text)


def test_damaged_patterns() -> None:
    """As Python hands them to the core, without the checks of a file."""
    outcomes = set()
    for made in [FORMAT, *damaged(FORMAT)]:
        try:
            texts = {key: made[key] for key in PATTERN_KEYS if key in made}
            patterns = {key: [text] if isinstance(text, str) else text for key, text in texts.items()}
            format = Format(FormatFile(name=made.get("name"), patterns=patterns))
        except (FormatError, TypeError):
            outcomes.add("refused")
            continue
        outcomes.add(unspool.parse("Hi", format).finish_reason)
    assert outcomes == {"refused", "stop"}


TEMPLATE: dict[str, Any] = {
    "version": 1,
    "start_anchor": "<a>",
    "defaults": {"role": "assistant"},
    "fields": {
        "thinking": {
            "open_pattern": r"^<think>\n?",
            "close": ["</think>", "</t>"],
            "repeats": True,
            "join": "+",
        },
        "tool_calls": {
            "open_pattern": r"<call:(?P<name>\w+)>",
            "close_pattern": r"</call>\s*",
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": r"<(?P<key>\w)>(?P<value>.*?)(?=<|$)",
                "value_parser": {"name": "json", "args": {"allow_non_json": True}},
            },
            "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"content": "text", "content_args": {"strip": False}, "optional": True},
    },
}


def test_a_damaged_response_template() -> None:
    outcomes = []
    for made in [TEMPLATE, *damaged(TEMPLATE)]:
        try:
            format = Format.from_response_template(made)
        except FormatError:
            outcomes.append(False)
            continue
        outcomes.append(True)
        assert unspool.parse("<call:f><a>1</call>Hi", format).finish_reason in ("stop", "tool_calls")
    assert outcomes[0]
    assert not all(outcomes)
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for field in (deep, {"open": deep}, {"content_args": {"value_parser": deep}}):
        with pytest.raises(FormatError):
            Format.from_response_template({"start_anchor": "<a>", "fields": {"content": field}})
