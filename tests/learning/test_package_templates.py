"""Templates that the learner was not written against: those that mistral-common makes, and excerpts of real ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.errors import LearnError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest.importorskip("jinja2")
EXCERPTS: dict[str, str] = tomllib.loads(
    (Path(__file__).parents[1] / "detection" / "templates.toml").read_text(encoding="utf-8")
)

#: By version and what it thinks with: the call and the reasoning that must be learnt.
MISTRAL = {
    ("v2", ""): ("[TOOL_CALLS][${object}, ${...}]", None),
    ("v3", ""): ("[TOOL_CALLS][${object}, ${...}]", None),
    ("v7", ""): ("[TOOL_CALLS][${object}, ${...}]", None),
    ("v11", ""): ("[TOOL_CALLS]${name}[CALL_ID]${id}[ARGS]${arguments}", None),
    ("v11", "plain"): ("[TOOL_CALLS]${name}[CALL_ID]${id}[ARGS]${arguments}", "<think>${reasoning}</think>"),
    ("v13", ""): ("[TOOL_CALLS]${name}[ARGS]${arguments}", None),
    ("v13", "tokens"): ("[TOOL_CALLS]${name}[ARGS]${arguments}", "[THINK]${reasoning}[/THINK]"),
}


def mistral_template(version: str, thinking: str) -> str:
    made: Any = pytest.importorskip("mistral_common.integrations.chat_templates.chat_templates")
    versions: Any = pytest.importorskip("mistral_common.tokens.tokenizers.base")
    text: str = made.generate_chat_template(
        spm=False,
        tokenizer_version=versions.TokenizerVersion(version),
        image_support=False,
        audio_support=False,
        thinking_support=thinking == "tokens",
        default_system_prompt=None,
        plain_thinking_support=thinking == "plain",
        use_special_token_variables=True,
        model_settings_fields=None,
        reasoning_effort_values=None,
        reasoning_effort_default=None,
    )
    return text


@pytest.mark.parametrize(("version", "thinking"), MISTRAL)
def test_what_mistral_common_writes(version: str, thinking: str) -> None:
    call, reasoning = MISTRAL[version, thinking]
    source = {"chat_template": mistral_template(version, thinking), "bos_token": "<s>", "eos_token": "</s>"}
    file = unspool.learn(source)
    assert file.patterns["call"] == (call,)
    assert file.patterns.get("reasoning") == (None if reasoning is None else (reasoning,))
    assert file.patterns["end"] == ("</s>",)


def test_a_version_without_calls_is_refused() -> None:
    with pytest.raises(LearnError, match=r"everything is content|renders no call"):
        unspool.learn(mistral_template("v1", ""))


@pytest.mark.parametrize("name", sorted(EXCERPTS)[::6])
def test_an_excerpt_is_refused(name: str) -> None:
    with pytest.raises(LearnError):
        unspool.learn(EXCERPTS[name])
