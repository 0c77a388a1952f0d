"""save_inference and load_inference: one JSON file, and nothing that runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from unspool import ArgumentError, Format, SamplingParams, get_format, register_format
from unspool.formats.format_file import read_format
from unspool.integrations.easydel import InferenceConfig, PreCompileConfig, vInference

CONFIG = InferenceConfig(
    max_new_tokens=24,
    streaming_chunks=3,
    num_return_sequences={16: 2, 64: 1},
    sampling_params=SamplingParams(temperature=0.5, stop=["END", "🙂"]),
    partition_rules=(("layer", ("tp", None)),),
)


@pytest.fixture
def saved(llama: Any, byte_tokenizer: Any, tmp_path: Path) -> tuple[vInference, Path]:
    generator = vInference(
        llama, byte_tokenizer, format="qwen3", reasoning=False, config=CONFIG, backend="native", prefill=32,
        name="my engine", repair=True, trust="either",
    )  # fmt: skip
    generator.precompile(PreCompileConfig([1, 2], [16, 64]))
    file = generator.save_inference(tmp_path / "deep" / "engine")
    assert file == tmp_path / "deep" / "engine" / "inference.json"
    return generator, file


def test_a_generator_comes_back(saved: Any, llama: Any, byte_tokenizer: Any) -> None:
    generator, file = saved
    loaded = vInference.load_inference(file.parent, llama, byte_tokenizer)
    assert loaded.inference_name == "my engine"
    assert loaded.config == generator.config
    assert loaded.config.sequence_count(16) == 2
    assert loaded.backend == "native"
    assert loaded.prefill == generator.prefill
    assert (loaded.format, loaded.reasoning) == ("qwen3", False)
    assert loaded.parser_options == {"repair": True, "trust": "either"}
    assert loaded.precompiled_shapes == ((1, 16), (2, 64))
    assert loaded.choose_bucket(20) == 64
    parameters = {"temperature": 0, "n": 1}
    assert loaded.process_prompt("Hi", parameters).text == generator.process_prompt("Hi", parameters).text
    again = loaded.save_inference(file.parent.parent)
    assert again.read_text(encoding="utf-8") == file.read_text(encoding="utf-8")


def test_it_is_one_file_of_plain_data(saved: Any) -> None:
    _, file = saved
    assert [entry.name for entry in file.parent.iterdir()] == ["inference.json"]
    data = json.loads(file.read_text(encoding="utf-8"))
    assert data["version"] == 1
    assert data["config"]["max_new_tokens"] == 24
    assert data["precompiled"] == [[1, 16], [2, 64]]


def test_what_was_warm_is_run_again_in_a_new_process(saved: Any, scripted: Any, byte_tokenizer: Any) -> None:
    model = scripted({})
    loaded = vInference.load_inference(str(saved[1].parent), model.model, byte_tokenizer)
    assert loaded.precompile(PreCompileConfig(1, 16)) is True
    assert model.forwards == 1
    assert loaded.precompile(PreCompileConfig(1, 16)) is True
    assert model.forwards == 1
    assert loaded.precompiled_shapes == ((1, 16), (2, 64))


def test_a_model_without_an_end_token(tmp_path: Path) -> None:
    class Tokenizer:
        eos_token_id = pad_token_id = bos_token_id = None

    class Model:
        generate = None

    generator = vInference(Model(), Tokenizer())
    loaded = vInference.load_inference(generator.save_inference(tmp_path).parent, Model(), Tokenizer())
    assert loaded.config == generator.config == InferenceConfig()


def test_a_class_of_ones_own_comes_back_as_it_is(saved: Any, llama: Any, byte_tokenizer: Any) -> None:
    class Mine(vInference):
        pass

    assert type(Mine.load_inference(saved[1].parent, llama, byte_tokenizer)) is Mine


# Formats


def own_format(folder: Path) -> Path:
    file = folder / "mine.toml"
    example = '[[example]]\ninput = "<r>a</r>b"\nreasoning = "a"\ncontent = "b"\n'
    file.write_text(f'name = "mine"\nreasoning = "<r>${{reasoning}}</r>"\n{example}', encoding="utf-8")
    return file


def test_formats_that_have_a_name(llama: Any, byte_tokenizer: Any, tmp_path: Path) -> None:
    for format, name in (("none", "none"), ("auto", "auto"), (get_format("hermes"), "hermes")):
        vInference(llama, byte_tokenizer, format=format).save_inference(tmp_path)
        assert vInference.load_inference(tmp_path, llama, byte_tokenizer).format == name
    registered = register_format(own_format(tmp_path))
    vInference(llama, byte_tokenizer, format=registered).save_inference(tmp_path)
    assert vInference.load_inference(tmp_path, llama, byte_tokenizer).format == "mine"


def test_formats_to_which_no_name_leads(llama: Any, byte_tokenizer: Any, tmp_path: Path) -> None:
    file = read_format(own_format(tmp_path))
    for format in (file, Format(file)):
        with pytest.raises(ArgumentError, match="register_format it"):
            vInference(llama, byte_tokenizer, format=format).save_inference(tmp_path / "engine")
    assert not (tmp_path / "engine").exists()


def test_a_format_that_is_not_registered_here(saved: Any, llama: Any, byte_tokenizer: Any) -> None:
    change(saved[1], format="mine")
    with pytest.raises(ArgumentError, match=r"unknown format 'mine'.*register_format"):
        vInference.load_inference(saved[1].parent, llama, byte_tokenizer)


# What cannot be loaded


def change(file: Path, **changes: Any) -> None:
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**data, **changes}), encoding="utf-8")


def test_a_path_that_is_missing(llama: Any, byte_tokenizer: Any, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(FileNotFoundError, match="save_inference"):
            vInference.load_inference(path, llama, byte_tokenizer)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version(saved: Any, llama: Any, byte_tokenizer: Any, version: Any) -> None:
    change(saved[1], version=version)
    with pytest.raises(ArgumentError, match=f"is of version {version!r}.*reads version 1"):
        vInference.load_inference(saved[1].parent, llama, byte_tokenizer)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"3", b"{}", b"\xff\xfe", b'{"version": 1}', b"[" * 10**5]
)
def test_a_broken_file(saved: Any, llama: Any, byte_tokenizer: Any, content: bytes) -> None:
    saved[1].write_bytes(content)
    with pytest.raises(ArgumentError, match=r"inference\.json"):
        vInference.load_inference(saved[1].parent, llama, byte_tokenizer)


@pytest.mark.parametrize(
    "changes",
    [
        {"config": None}, {"config": {"max_new_tokens": 0}}, {"config": {"colour": 1}}, {"format": None},
        {"prefill": {"chunk_tokens": 0}}, {"prefill": "x"}, {"precompiled": [[1]]}, {"precompiled": [[1, "2"]]},
        {"precompiled": 3}, {"parser_options": 3}, {"parser_options": {"colour": 1}}, {"backend": "jax"},
        {"name": ""}, {"name": 3}, {"extra": 1},
    ],
)  # fmt: skip
def test_a_value_that_cannot_be(saved: Any, llama: Any, byte_tokenizer: Any, changes: Any) -> None:
    change(saved[1], **changes)
    with pytest.raises(ArgumentError, match=r"inference\.json"):
        vInference.load_inference(saved[1].parent, llama, byte_tokenizer)


def test_what_is_no_fault_of_the_file(saved: Any, llama: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^there is no tokenizer"):
        vInference.load_inference(saved[1].parent, llama)
