"""OpenVINO GenAI's tokenizers: compiled from their tokens, they give the text that their own `decode` gives."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openvino_genai", reason="openvino-genai is missing: pip install '.[test-openvino]'")
pytest.importorskip("gguf", reason="gguf is missing: pip install '.[test-openvino]'")

import openvino
import openvino_genai as genai
import unspool
from unspool import Vocabulary
from unspool.core.vocabulary.openvino_vocabulary import from_openvino

from .openvino_models import write_model

pytestmark = pytest.mark.timeout(300)


def converted(folder: Path, tokenizer: Any) -> genai.Tokenizer:
    """A tokenizer of `tokenizers`, converted to OpenVINO."""
    transformers = pytest.importorskip("transformers", reason="transformers is missing")
    from openvino_tokenizers import convert_tokenizer

    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")
    for part, name in zip(
        convert_tokenizer(fast, with_detokenizer=True), ("tokenizer", "detokenizer"), strict=True
    ):
        openvino.save_model(part, folder / f"openvino_{name}.xml")
    return genai.Tokenizer(folder)


def byte_level(special: tuple[str, ...] = ("</s>",), others: tuple[str, ...] = ("<tool_call>",)) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({token: id for id, token in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special])
    made.add_tokens([AddedToken(name, special=False, normalized=False) for name in others])
    return made


def sentencepiece() -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

    special = ("<unk>", "<s>", "</s>")
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += ["▁", "▁Hi", "a", "b", "▁a", "i", "H", "ü", "▁▁"]
    vocabulary = {token: id for id, token in enumerate(tokens)}
    made = Tokenizer(models.BPE(vocabulary, [("▁", "a")], unk_token="<unk>", byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    made.decoder = decoders.Sequence(steps)
    made.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special])
    return made


def assert_same_text(tokenizer: genai.Tokenizer, vocabulary: Vocabulary) -> None:
    """Random ids, in one go; both write U+FFFD for a run that is not UTF-8, or a GGUF's tokenizer nothing."""
    choose = random.Random(1)
    for _ in range(300):
        ids = [choose.randrange(len(vocabulary)) for _ in range(choose.randrange(1, 12))]
        for skips in (True, False):
            stream = unspool.Detokenizer(vocabulary, skip_special_tokens=skips)
            ours = (stream.put(ids) + stream.end()).replace("\ufffd", "")
            assert ours == tokenizer.decode(ids, skip_special_tokens=skips).replace("\ufffd", ""), ids


@pytest.mark.parametrize("make", [byte_level, sentencepiece])
def test_a_converted_tokenizer_is_compiled(tmp_path: Path, make: Any) -> None:
    original = make()
    tokenizer = converted(tmp_path, original)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary.added_tokens == Vocabulary.from_tokenizer(original).added_tokens
    assert [vocabulary.is_special(id) for id in vocabulary.added_tokens] == [
        Vocabulary.from_tokenizer(original).is_special(id) for id in vocabulary.added_tokens
    ]
    assert Vocabulary.from_tokenizer(tokenizer) is vocabulary
    assert_same_text(tokenizer, vocabulary)


def test_a_ggufs_tokenizer_is_compiled(tmp_path: Path) -> None:
    tokenizer = genai.Tokenizer(
        write_model(tmp_path / "model.gguf", "Let me look 🚀.<tool_call>{}</tool_call>")[0]
    )
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert {"<tool_call>", "<|im_end|>"} <= set(vocabulary.added_tokens.values())
    assert_same_text(tokenizer, vocabulary)


def test_a_decoder_that_is_not_known_is_refused() -> None:
    class Shouting:
        def get_vocab(self) -> dict[bytes, int]:
            return {b"a": 0, b"b": 1}

        def decode(self, rows: list[list[int]], skip_special_tokens: bool) -> list[str]:
            del skip_special_tokens
            return ["".join("AB"[id] for id in row) for row in rows]

    with pytest.raises(unspool.VocabularyError, match=r"token 0 \(b'a'\) decodes as 'A'"):
        from_openvino(Shouting())


def test_a_marker_that_is_not_special_is_known_by_its_id(tmp_path: Path) -> None:
    """A converted tokenizer does not list it; text that spells it stays text."""
    vocabulary = Vocabulary.from_tokenizer(
        converted(tmp_path, byte_level(others=("<tool_call>", "</tool_call>")))
    )
    letters = {vocabulary.token_bytes(id): id for id in range(len(vocabulary)) if not vocabulary.is_added(id)}
    markers = {text: id for id, text in vocabulary.added_tokens.items()}
    call = [letters[bytes([byte])] for byte in b'{"name": "f", "arguments": {}}']
    for is_token in (True, False):
        ids = list(call)
        for place, marker in ((0, "<tool_call>"), (len(ids) + 1, "</tool_call>")):
            spelled = [letters[bytes([byte])] for byte in marker.encode()]
            ids[place:place] = [markers[marker]] if is_token else spelled
        message = unspool.parse(ids, "hermes", tokenizer=vocabulary)
        assert [call.name for call in message.tool_calls] == (["f"] if is_token else [])
