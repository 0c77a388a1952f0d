"""unspool.detect: templates of every family, tokenizers of every kind, names on word boundaries."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import unspool
from unspool import ArgumentError, FormatError, UnknownFormatError, detect
from unspool.formats.format_file import FormatFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
TEMPLATES: dict[str, str] = tomllib.loads((HERE / "templates.toml").read_text(encoding="utf-8"))
REAL: dict[str, str] = tomllib.loads((HERE / "real_templates.toml").read_text(encoding="utf-8"))
RULES = {file.name: file.detect for file in unspool.formats() if file.detect}
HERMES = TEMPLATES["hermes"]
PLAIN = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def first(*args: Any, **kwargs: Any) -> str | None:
    found = detect(*args, **kwargs)
    return found[0].format if found else None


def canonical(name: str) -> str:
    return unspool.get_format(name).name


@pytest.mark.parametrize("name", TEMPLATES)
def test_template_shows_the_format(name: str) -> None:
    found = detect(TEMPLATES[name])
    assert found[0].format == canonical(name), [str(item) for item in found]
    assert found[0].evidence[0].kind == "template"


def test_every_rule_with_a_template_has_one_here() -> None:
    with_template = {name for name, rule in RULES.items() if "template" in rule and "named" not in rule}
    assert set(TEMPLATES) == with_template


@pytest.mark.parametrize("name", RULES)
def test_every_family_is_found_by_each_of_its_names(name: str) -> None:
    rule = RULES[name]
    for word in rule.get("names", ()):
        assert first(f"some-org/{word.upper()}-Instruct") == canonical(name), word
    for model_type in rule.get("model_types", ()):
        assert first(model_type=model_type) == canonical(name), model_type


def test_every_shipped_format_can_be_detected() -> None:
    for file in unspool.formats():
        assert file.detect or file.is_plain, f"{file.name}: write [detect]"


@pytest.mark.parametrize("name", REAL)
def test_real_template(name: str) -> None:
    file = Path(os.environ.get("UNSPOOL_TEMPLATES", "")) / f"{name}.jinja"
    if not file.is_file():
        pytest.skip("not in UNSPOOL_TEMPLATES")
    expected = REAL[name]
    assert first(file.read_text(encoding="utf-8")) == (canonical(expected) if expected else None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Qwen/Qwen3-8B", "qwen3"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder"),
        ("Qwen/Qwen3.5-4B", "qwen3_coder"),
        ("/models/phi/Qwen2.5-7B-Instruct/", "hermes"),
        ("~/.cache/huggingface/hub/models--zai-org--GLM-4.7-Flash/snapshots/0a1b2c", "glm47"),
        ("stepfun-ai/step3", "step3"),
        ("stepfun-ai/Step-3.5-Flash", "step3p5"),
        ("step35", None),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi_k2"),
        ("deepseek-ai/DeepSeek-V3", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v31"),
        ("deepseek-ai/DeepSeek-V4.1-Flash", "deepseek_v41"),
        ("gpt_oss", "openai"),
        ("Phi-4-mini-instruct", "phi4_mini_json"),
        ("ByteDance-Seed/UI-TARS-1.5-7B", "ui_tars"),
        ("sapphire-4-minimal", None),
        ("allenai/Molmo-7B-D-0924", None),
        ("timestep3", None),
        ("bert", None),
        ("gpt2", None),
    ],
)  # fmt: skip
def test_names_match_whole_words(name: str, expected: str | None) -> None:
    assert first(name) == (expected and canonical(expected))


@pytest.mark.parametrize(
    ("model_type", "expected"),
    [("llama", "llama3_json"), ("phi4", "phi4_mini_json"), ("qwen3_next", "qwen3")],
)
def test_g9_a_model_type_alone(model_type: str, expected: str) -> None:
    assert first(model_type=model_type) == first(model_type) == canonical(expected)
    # Several families are of type "llama": a name counts more, and a template says it itself.
    shared = first(model_type=model_type, name="xlam-2-8b")
    assert shared == (canonical("qwen3") if model_type == "qwen3_next" else canonical("xlam"))
    assert first(PLAIN, model_type="llama") is None


def test_g9_an_unknown_format_lists_near_names() -> None:
    with pytest.raises(UnknownFormatError, match="did you mean 'qwen3'"):
        unspool.get_format("qwenn3")
    with pytest.raises(UnknownFormatError, match=r"'llama3_json' or '[a-z0-9_]+'"):
        unspool.get_format("llama_json")


def test_nothing_shows_nothing() -> None:
    assert detect(PLAIN) == ()
    assert detect("gpt2") == ()
    assert detect(SimpleNamespace(chat_template=None)) == ()


def test_template_outranks_tokens_and_these_the_name() -> None:
    tokenizer = SimpleNamespace(
        chat_template=TEMPLATES["mistral"],
        added_tokens_decoder={7: "<|tool_calls_section_begin|>"},
        name_or_path="Qwen/Qwen3-8B",
    )
    assert [item.format for item in detect(tokenizer)] == [canonical("mistral")]
    tokenizer.chat_template = None
    assert [item.format for item in detect(tokenizer)] == [canonical("kimi_k2"), canonical("qwen3")]
    assert [item.score for item in detect(tokenizer)] == [3, 1]


def test_a_name_decides_between_formats_that_look_alike() -> None:
    template = TEMPLATES["qwen3_coder"]
    assert first(template, name="MiMo-V2-Flash") == canonical("mimo")
    assert canonical("mimo") not in [item.format for item in detect(template)]
    template = "{{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}"
    assert first(template) == canonical("mistral")
    assert first(template, name="Devstral-Small-2507") == canonical("devstral")


def test_a_reasoning_template_leaves_the_call_to_the_name() -> None:
    found = [item.format for item in detect(TEMPLATES["deepseek_r1"], name="SmolLM3-3B")]
    assert found == [canonical("deepseek_r1"), canonical("hermes")]


@pytest.mark.parametrize(
    "template",
    [
        HERMES,
        [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": HERMES}],
        {"default": PLAIN, "tool_use": HERMES},
        {"chat_template": HERMES, "bos_token": None},
        {"chat_template": [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": HERMES}]},
    ],
)
def test_templates_of_every_shape(template: Any) -> None:
    assert first(template) == "hermes"
    if "chat_template" not in template:
        assert first(SimpleNamespace(chat_template=template)) == "hermes"
        assert first(chat_template=template) == "hermes"


def test_comments_are_no_evidence() -> None:
    assert detect(PLAIN + "{#- writes <tool_call> and\n[TOOL_CALLS] -#}") == ()


class _Added:
    def __init__(self, content: str) -> None:
        self.content = content

    def __str__(self) -> str:
        return self.content


@pytest.mark.parametrize(
    "source",
    [
        SimpleNamespace(added_tokens_decoder={1: _Added("[TOOL_CALLS]")}),
        SimpleNamespace(get_added_vocab=lambda: {"[TOOL_CALLS]": 1}),
        SimpleNamespace(get_added_tokens_decoder=lambda: {1: _Added("[TOOL_CALLS]")}),
        SimpleNamespace(tokenizer=SimpleNamespace(get_added_vocab=lambda: {"[TOOL_CALLS]": 1})),
        SimpleNamespace(chat_template=TEMPLATES["mistral"], tokenizer=SimpleNamespace(name_or_path="gpt2")),
        {"added_tokens_decoder": {"1": {"content": "[TOOL_CALLS]", "special": True}}},
        SimpleNamespace(init_kwargs={"chat_template": TEMPLATES["mistral"]}),
        SimpleNamespace(name_or_path="mistralai/Mistral-7B-Instruct-v0.3"),
        SimpleNamespace(_name_or_path="x/Mistral-7B-Instruct-v0.3", model_type="llama"),
        SimpleNamespace(config=SimpleNamespace(model_type="mistral3")),
        {"model_type": "mistral3", "architectures": []},
    ],
)
def test_sources_of_every_kind(source: Any) -> None:
    assert first(source) == canonical("mistral")


def test_real_tokenizer(deepseek: Any) -> None:
    transformers = pytest.importorskip("transformers")
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=deepseek.tokenizer)
    for source in (wrapped, deepseek.tokenizer):
        found = detect(source)
        assert found
        assert all(evidence.kind == "tokens" for item in found for evidence in item.evidence)
        assert {item.format for item in found} <= {
            canonical(n) for n in RULES if "deepseek" in n or n == "dots"
        }
    assert first(wrapped, chat_template=TEMPLATES["deepseek_v32"]) == canonical("deepseek_v32")


@pytest.mark.parametrize("where", ["attribute", "init_kwargs"])
def test_response_template_comes_first(where: str) -> None:
    own = {
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {"content": {}, "tool_calls": {"open": "<x>"}},
    }
    source = (
        SimpleNamespace(chat_template=HERMES, response_template=own)
        if where == "attribute"
        else SimpleNamespace(chat_template=HERMES, init_kwargs={"response_template": own})
    )
    found = detect(source)
    assert [item.format for item in found] == ["response_template", "hermes"]
    assert str(found[0]) == "response_template (response_template: fields content, tool_calls)"


def test_evidence_reads_well() -> None:
    found = detect(HERMES, tokens=["<tool_call>"], name="Qwen2.5-7B")
    assert str(found[0]) == (
        "hermes (template: '<tool_call>', '\"arguments\"'; tokens: '<tool_call>'; name: 'qwen2.5')"
    )
    assert found[0].score == 4


@pytest.mark.parametrize(
    ("source", "message"), [(None, "nothing to detect from"), (42, r"42 \(int\) shows nothing")]
)
def test_nothing_to_look_at_raises(source: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        detect(source)


def test_a_format_file_brings_its_own_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    file = FormatFile(
        'name = "ours"\ncall = "<ours>${object}"\n'
        '[detect]\ntemplate = ["<ours>", ["a", "b"]]\nnames = ["our-model"]'
    )
    monkeypatch.setitem(sys.modules["unspool.core.format.registry"]._registered, "ours", file)  # type: ignore[attr-defined]
    assert first("{{ '<ours>b' }}") == "ours"
    assert first("our_model-7B") == "ours"
    assert first("{{ '<ours>' }}") is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('text = ["x"]', "x.toml:4:1: detect.text: unknown key; use one of template, template_not"),
        ('names = "x"', "x.toml:4:1: detect.names: the value must be a list of texts that are not empty"),
        ('names = [["x"]]', "x.toml:4:1: detect.names: the value must be a list of texts"),
        ('template = [""]', "x.toml:4:1: detect.template: the value must be a list of texts, or of lists"),
        ("template = [[]]", "x.toml:4:1: detect.template: the value must be a list of texts, or of lists"),
        ("named = 1", "x.toml:4:1: detect.named: the value must be true or false"),
    ],
)
def test_rules_are_checked(line: str, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        FormatFile(f'name = "a"\ncall = "<a>${{object}}"\n[detect]\n{line}', "x.toml")
