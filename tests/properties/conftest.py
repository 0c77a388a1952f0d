"""Each property runs over every format; a failure shows the format and the smallest output."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import unspool

FORMATS = [file.name for file in unspool.formats()]

# Between them they use every body, option and framing. The others differ from one of these in the
# texts of their markers, and get fewer examples; --thorough gives all of them the same.
DISTINCT = {
    "apertus", "beam", "cohere_command3", "cwm", "deepseek_r1", "deepseek_v3", "deepseek_v32", "dots",
    "functionary_v32", "gemma4", "glm45", "glm53_flash", "granite", "granite_pythonic", "hermes", "hy_v3",
    "hyperclovax", "inkling", "json", "k2_horizon", "kimi_k2", "kimi_k3", "lfm2", "llama3_json", "longcat",
    "minicpm5", "minimax_m2", "minimax_m3", "mistral", "muse", "olmo3", "openai", "phi4_mini_json",
    "pythonic", "qwen3", "qwen3_coder", "sarashina", "seed_oss", "solar_open", "step3", "ui_tars", "xlam",
}  # fmt: skip


@pytest.fixture(params=FORMATS, scope="session")
def format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Plain `pytest` tries each property with a tenth of the formats, another tenth for each property."""
    if "format" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.rest(but_one_in=10))


@pytest.fixture(autouse=True)
def _fewer_examples(request: pytest.FixtureRequest, load_profile: Callable[[bool], None]) -> Iterator[None]:
    callspec = getattr(request.node, "callspec", None)
    name = callspec.params.get("format") if callspec else None
    load_profile(name is not None and name not in DISTINCT)
    yield
    load_profile(False)


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--thorough"))
