"""The calls that chat templates write, beside ours: a result may only become better."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
SCRIPT = HERE.parents[2] / "bench" / "conformance" / "templates.py"
REAL: dict[str, str] = tomllib.loads((HERE / "templates.toml").read_text(encoding="utf-8"))
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="runs in a checkout")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    pytest.importorskip("transformers")
    spec = importlib.util.spec_from_file_location("compare_templates", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks for its types
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", REAL)
def test_the_calls_of_a_real_template(name: str, script: ModuleType) -> None:
    file = Path(os.environ.get("UNSPOOL_TEMPLATES", "")) / f"{name}.jinja"
    if not file.is_file():
        pytest.skip("not in UNSPOOL_TEMPLATES")
    found = script.compare(name, file.read_text(encoding="utf-8"))
    assert found.result, found.why
    assert script.ORDER.index(found.result) <= script.ORDER.index(REAL[name]), (found.theirs, found.ours)


HERMES = """{%- for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{%- for c in m.tool_calls or [] %}BREAK<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{%- endfor %}<|im_end|>
{% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


@pytest.mark.parametrize(
    ("between", "result"), [("{{ '\\n' }}", "equal"), ("", "white space"), ("<sep>", "different")]
)
def test_what_counts_as_equal(between: str, result: str, script: ModuleType) -> None:
    found = script.compare("hermes", HERMES.replace("BREAK", between))
    assert (found.format, found.result) == ("hermes", result)


@pytest.mark.parametrize(
    ("version", "result"), [("v3", "different"), ("v11", "another form"), ("v13", "another form")]
)
def test_the_calls_of_mistrals_templates(version: str, result: str, script: ModuleType) -> None:
    """mistral-common makes them. Mistral's first form in our file is the list, of which v3 writes one with ids."""
    made = pytest.importorskip("mistral_common.integrations.chat_templates.chat_templates")
    versions = pytest.importorskip("mistral_common.tokens.tokenizers.base").TokenizerVersion
    template = made.generate_chat_template(
        spm=False,
        tokenizer_version=versions(version),
        image_support=False,
        audio_support=False,
        thinking_support=False,
        default_system_prompt=None,
        plain_thinking_support=False,
        use_special_token_variables=True,
        model_settings_fields=None,
        reasoning_effort_values=None,
        reasoning_effort_default=None,
    )
    found = script.compare(version, template)
    assert (found.format, found.result) == ("mistral", result), (found.theirs, found.ours)
