"""How formats are found by name, and what of their files is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import unspool
from unspool._core import FormatSource
from unspool.core.format import registry


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the files that are read, in a registry that has read none."""
    names: list[str] = []

    def read(text: str, source: str) -> Any:
        names.append(source)
        return FormatSource(text, source)

    monkeypatch.setattr(registry, "FormatSource", read)
    for cached in (registry._shipped, registry._aliases):
        cached.cache_clear()
    yield names
    for cached in (registry._shipped, registry._aliases):
        cached.cache_clear()


def test_a_format_is_read_alone_and_once(read_files: list[str]) -> None:
    assert unspool.get_format("hermes") == unspool.get_format("Hermes")
    unspool.Parser("hermes", reasoning="qwen3")
    assert read_files == ["hermes.toml", "qwen3.toml"]


def test_an_alias_and_the_list_read_every_file_once(read_files: list[str]) -> None:
    assert unspool.get_format("qwen25").name == "hermes"
    assert len(unspool.formats()) == len(read_files) == len(set(read_files)) == 83


def test_a_file_has_its_formats_name() -> None:
    """`find_source` opens the file of this name."""
    assert all(file.source == f"{file.name}.toml" for file in unspool.formats())


def test_the_same_object_comes_back() -> None:
    assert unspool.get_format("hermes") is unspool.get_format("qwen25")
    assert unspool.get_format("hermes") in unspool.formats()


def test_no_json_crosses_for_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a format crosses as JSON text")

    text = registry._files()["hermes"].read_text(encoding="utf-8")
    for name in ("dumps", "loads"):
        monkeypatch.setattr(json, name, refuse)
    file = unspool.FormatFile(text, "hermes.toml")
    assert unspool.Format(file).name == file.name
    assert (file.facts.ends, file.shape.forms[0].call.body) == (
        ("<|im_end|>", "<|endoftext|>"),
        "json_call",
    )
    assert file.sentences
    assert file.with_reasoning(unspool.get_format("qwen3")).has_reasoning


def test_equal_patterns_have_one_fingerprint() -> None:
    patterns = {"call": ["<c>${object}</c>"], "end": ["<e>"]}
    made = unspool.FormatFile(name="x", patterns=patterns)
    read = unspool.FormatFile('end = "<e>"\nnotes = "n"\nname = "x"\ncall = "<c>${object}</c>"\n')
    assert made.fingerprint == read.fingerprint
    assert made != read
    assert made.fingerprint != unspool.FormatFile(name="y", patterns=patterns).fingerprint
    assert type(made.with_reasoning(None)) is unspool.FormatFile


# What other stacks and users call a format: LMDeploy, mlx-lm, Ollama, Dynamo, TensorRT-LLM, SMG, Rapid-MLX and vLLM's Rust
# frontend. docs/stack_names.toml has whole lists.
NAMES = {
    "cohere_command3": ["cohere", "cohere_cmd", "command-a"],
    "cohere_command4": ["north"],
    "deepseek_r1": ["deepseek_r1_distill", "vibethinker"],
    "deepseek_v3": ["deepseek", "deepseek_r1_0528"],
    "deepseek_v31": ["deepseek3", "deepseek_v3_1", "deepseekv3.1", "deepseek31"],
    "deepseek_v32": ["deepseek-v32", "deepseek-v3.2", "deepseek_v3_2", "deepseek32"],
    "deepseek_v4": ["deepseek_v4_0731", "deepseek-v4-flash"],
    "devstral": ["ministral", "mistral_v13", "ministral3", "devstral2"],
    "functionary": ["meetkai"],
    "functiongemma": ["function_gemma"],
    "gemma4": ["gemma-4", "gemma4-no-thinking"],
    "glm45": ["glm4", "glm45_moe", "glm-ocr"],
    "glm47": ["glm47_moe"],
    "granite": ["granite3"],
    "hermes": ["qwen2d5", "json_tools", "qwen3-vl-instruct", "nous", "smollm3"],
    "hy_v3": ["hy3"],
    "hy_v4": ["hy4"],
    "internlm": ["intern-s1"],
    "iquest_q1": ["iquest"],
    "kimi_k2": ["kimi-k2", "kimik2", "kimi_k25", "kimi-k2.5", "kimi_thinking", "moonshot"],
    "lfm2": ["lfm2-thinking", "lfm", "liquid"],
    "ling3": ["ling"],
    "llama3_json": ["llama", "llama4"],
    "mimo": ["qwen3_tagged_direct"],
    "minicpm5": ["minicpm"],
    "mistral": ["magistral"],
    "muse": ["muse_spark", "glimmer"],
    "nemotron_v2": ["default"],
    "nemotron_v3": ["nemotron-3-nano", "nemotron-3.5-nano", "nemotron_nano", "nemotron", "nano_v3"],
    "none": ["plain"],
    "olmo3": ["olmo3-think"],
    "poolside_v1": ["poolside-v1"],
    "qwen3": ["qwen3-vl-thinking", "base", "basic", "qwen-qwq"],
    "qwen3_coder": [
        "qwen3.5",
        "qwen3-coder",
        "qwen_xml",
        "qwen_coder",
        "Qwen3-Coder",
        "ornith",
        "interns2-preview",
        "qwen3_tagged",
        "qwen3_coder_xml",
        "qwen3.6",
    ],
    "seed_oss": ["seed"],
    "step3p5": ["step-3.7"],
    "telechat4": ["xing4_0"],
    "xingchen4": ["XingChen4"],
}


@pytest.mark.parametrize(("format", "names"), NAMES.items(), ids=NAMES)
def test_other_stacks_names(format: str, names: list[str]) -> None:
    assert [unspool.get_format(name).name for name in names] == [format] * len(names)


#: Names of models that other stacks use for another format, which reads the model too.
OTHER_STACKS_NAMES = {"glm-5.3": "glm53_flash", "llama-4": "llama3_json", "ministral": "devstral"}


@pytest.mark.parametrize("file", unspool.formats(), ids=lambda file: file.name)
def test_a_models_name_is_a_name_of_its_format(file: unspool.FormatFile) -> None:
    for name in file.detect.get("names", ()):
        format = OTHER_STACKS_NAMES.get(name, file.name)
        written = (name, name.upper(), name.replace("-", "_"), name.replace("-", "").replace(".", ""))
        assert {unspool.get_format(one).name for one in written} == {format}, name
        if format == file.name:
            assert format in [found.format for found in unspool.detect(name=name)]


def test_a_models_name_gives_way_to_a_registered_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(registry, "_registrations", [])
    assert unspool.get_format("smollm3").name == "hermes"
    mine = 'call = "<c>${object}</c>"\n[detect]\nnames = ["my-model-7b", "qwen3"]\n'
    registry.add_source(FormatSource('name = "mine"\n' + mine, "mine.toml"))
    assert registry.find_source("My_Model-7B").name == "mine"
    assert registry.find_source("qwen3").name == "qwen3"
    registry.add_source(FormatSource('name = "SmolLM3"\n' + mine, "other.toml"))
    assert registry.find_source("smollm3").name == "SmolLM3"


def test_no_two_formats_share_a_folded_name() -> None:
    names: dict[str, str] = {}
    for file in unspool.formats():
        for name in (file.name, *file.aliases):
            assert names.setdefault(registry._folded(name), file.name) == file.name


def test_a_registered_name_differs_by_more_than_separators() -> None:
    text = registry._files()["hermes"].read_text(encoding="utf-8")
    source = FormatSource(text.replace('name = "hermes"', 'name = "Qwen-3.Coder"', 1), "mine.toml")
    with pytest.raises(unspool.FormatError, match="is taken"):
        registry.add_source(source)
