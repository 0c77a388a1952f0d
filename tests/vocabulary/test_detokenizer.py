"""The detokenizer's own rules: stop strings, context, cleanup, pieces, bad arguments."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unspool import ArgumentError, Detokenizer, Parser, StreamError, Vocabulary

torch = pytest.importorskip("torch", reason="torch is not installed; pip install torch")

# One id a character, for rules that look at text.
LETTERS = "abcd .,!?'nmsvretoд\n"
VOCABULARY = Vocabulary({letter: id for id, letter in enumerate(LETTERS)}, [], [{"kind": "fuse"}])


def ids_of(text: str) -> list[int]:
    return [LETTERS.index(letter) for letter in text]


def stop_oracle(text: str, stops: list[str], include: bool) -> str:
    """The stop that begins first ends the text; of those at one place the longest."""
    found = [(text.find(stop), -len(stop)) for stop in stops if stop in text]
    if not found:
        return text
    at, length = min(found)
    return text[: at - length] if include else text[:at]


def stop_reason_oracle(text: str, stops: list[str]) -> str | None:
    return min((stop for stop in stops if stop in text), key=lambda s: (text.find(s), -len(s)), default=None)


texts = st.text(alphabet="abc", max_size=14)
stop_lists = st.lists(st.text(alphabet="abc", min_size=1, max_size=4), min_size=1, max_size=4)


@given(text=texts, stops=stop_lists, include=st.booleans(), data=st.data())
def test_stop_strings(text: str, stops: list[str], include: bool, data: st.DataObject) -> None:
    detokenizer = Detokenizer(VOCABULARY, stop=stops, include_stop=include)
    out, rest = "", ids_of(text)
    expected = stop_oracle(text, stops, include)
    while rest:
        count = data.draw(st.integers(1, len(rest)))
        out += detokenizer.put(rest[:count])
        rest = rest[count:]
        assert expected.startswith(out)
    out += detokenizer.end()
    assert out == expected
    assert detokenizer.is_stopped == any(stop in text for stop in stops)
    assert detokenizer.stop_reason == stop_reason_oracle(text, stops)


@given(text=texts, stops=stop_lists)
def test_stop_strings_hold_back_exactly_what_may_still_come(text: str, stops: list[str]) -> None:
    detokenizer = Detokenizer(VOCABULARY, stop=stops)
    out = ""
    for position, id in enumerate(ids_of(text)):
        out += detokenizer.put(id)
        assert (detokenizer.stop_reason is None) == (not detokenizer.is_stopped)
        if detokenizer.is_stopped:
            return
        seen = text[: position + 1]
        tails = [seen[i:] for i in range(len(seen) + 1)]
        held = next(tail for tail in tails if any(stop.startswith(tail) for stop in stops))
        if not any(stop in seen for stop in stops):
            assert out == seen[: len(seen) - len(held)]


REPLACES = [(" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
            (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")]  # fmt: skip


@given(text=st.text(alphabet=LETTERS, max_size=24))
def test_cleanup_is_the_ten_replaces_on_the_whole_text(text: str) -> None:
    expected = text
    for old, new in REPLACES:
        expected = expected.replace(old, new)
    detokenizer = Detokenizer(VOCABULARY, clean_up_tokenization_spaces=True)
    assert "".join(detokenizer.put(id) for id in ids_of(text)) + detokenizer.end() == expected


def test_context_is_never_emitted_and_takes_the_first_tokens_rules(real_tokenizer: Any) -> None:
    rng = random.Random(11)
    vocabulary, decode = real_tokenizer.vocabulary, real_tokenizer.decode
    prompts = ["Hello world", "a b", "", "def f():\n    return"]
    answers = [" Bob", "Bob", " 世界", "\n\tx", "!"]
    for prompt in prompts:
        for answer in answers:
            context, ids = real_tokenizer.encode(prompt), real_tokenizer.encode(answer)
            detokenizer = Detokenizer(vocabulary, context=context)
            text = "".join(detokenizer.put(id) for id in ids) + detokenizer.end()
            assert decode(context, True) + text == decode(context + ids, True)
    # A prompt that ends inside a character: the answer completes it, and nothing else comes out.
    ids = real_tokenizer.encode("SECRET 🦤")
    for cut in range(1, len(ids)):
        detokenizer = Detokenizer(vocabulary, context=ids[:cut])
        text = detokenizer.put(ids[cut:]) + detokenizer.end()
        assert "SECRET"[min(cut, 5) :] in text or "SECRET" not in text
        assert text in "SECRET 🦤"
    del rng


def test_spans_show_which_ids_made_which_text(real_tokenizer: Any) -> None:
    ids = real_tokenizer.encode("Zürich 👩‍👩‍👧 世界!")
    detokenizer = Detokenizer(real_tokenizer.vocabulary)
    text, pieces = "", []
    for id in ids:
        text += detokenizer.put(id)
        pieces += detokenizer.spans()
    text += detokenizer.end()
    pieces += detokenizer.spans()
    assert "".join(piece for piece, _ in pieces) == text
    assert [id for _, made in pieces for id in made] == ids
    assert detokenizer.spans() == []


def test_spans_do_not_grow_without_end(deepseek: Any) -> None:
    detokenizer = Detokenizer(deepseek.vocabulary)
    ids = deepseek.encode("hello world ") * 5000
    for id in ids:
        detokenizer.put(id)
    assert len(detokenizer.spans()) <= 4096


@pytest.mark.parametrize(
    "make",
    [
        list, tuple, np.array, torch.tensor,
        lambda ids: np.array([ids], dtype=np.int32),
        lambda ids: np.array(ids, dtype=np.uint64),
        lambda ids: torch.tensor([[ids]]),
        lambda ids: torch.tensor(ids, dtype=torch.int32),
        lambda ids: np.array([x for id in ids for x in (id, 0)])[::2],
    ],
)  # fmt: skip
def test_ids_come_in_many_shapes(make: Any) -> None:
    ids = ids_of("abcd")
    assert Detokenizer(VOCABULARY).put(make(ids)) == "abcd"


def test_scalars_and_nothing() -> None:
    detokenizer = Detokenizer(VOCABULARY)
    assert detokenizer.put(0) == "a"
    assert detokenizer.put(np.int64(1)) == "b"
    assert detokenizer.put(torch.tensor(2)) == "c"
    assert detokenizer.put(range(3, 4)) == "d"
    assert detokenizer.put([]) == ""
    assert detokenizer.put(torch.zeros(1, 0, dtype=torch.long)) == ""
    assert detokenizer.put(np.zeros((0,), dtype=np.int64)) == ""


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (True, TypeError, "bool"),
        (1.5, TypeError, "float"),
        ({1, 2}, TypeError, "set"),
        ((id for id in [1]), TypeError, "generator"),
        ("12", TypeError, "str"),
        (b"12", TypeError, "bytes"),
        (None, TypeError, "NoneType"),
        ([1, True], TypeError, "bool"),
        ([1, "2"], TypeError, "str"),
        (np.array([1.0]), TypeError, "pass integers"),
        (torch.tensor([1.0]), TypeError, r"torch.float32; pass integers"),
        (torch.tensor([[1], [2]]), ArgumentError, r"shape \(2, 1\)"),
        (np.zeros((2, 3), dtype=np.int64), ArgumentError, r"shape \(2, 3\)"),
        (-1, ArgumentError, "negative"),
        (2**40, ArgumentError, "above"),
        (2**80, ArgumentError, "above"),
    ],
)
def test_bad_ids_are_refused_by_name(ids: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Detokenizer(VOCABULARY).put(ids)


def test_unknown_ids_do_what_the_tokenizer_does(deepseek: Any, qwen: Any) -> None:
    far = 10_000_000
    assert Detokenizer(deepseek.vocabulary).put(far) == deepseek.decode([far], True) == ""
    with pytest.raises(KeyError):
        qwen.decode([far], True)
    detokenizer = Detokenizer(qwen.vocabulary)
    good = qwen.encode("ok")
    with pytest.raises(ArgumentError, match="not in the vocabulary"):
        detokenizer.put([*good, far])
    assert detokenizer.put(good) == "ok"  # the refused call changed nothing


def test_end_ends() -> None:
    detokenizer = Detokenizer(VOCABULARY)
    detokenizer.end()
    with pytest.raises(StreamError, match="create a new Detokenizer"):
        detokenizer.put(1)
    with pytest.raises(StreamError):
        detokenizer.end()


def test_options_are_checked() -> None:
    with pytest.raises(ArgumentError, match="stop string is empty"):
        Detokenizer(VOCABULARY, stop=[""])
    with pytest.raises(TypeError, match=r"cannot be copied or pickled.*fork"):
        Detokenizer(VOCABULARY).__reduce__()


def test_sources(real_tokenizer: Any) -> None:
    vocabulary = real_tokenizer.vocabulary
    assert Vocabulary.from_tokenizer(vocabulary) is vocabulary
    for id, content in list(vocabulary.added_tokens.items())[:20]:
        assert vocabulary.is_added(id)
        assert vocabulary.content(id) == content
        assert vocabulary.find_added(content) == id


@pytest.mark.parametrize("name", ["tokenizer.model.v1", "240323.model.v3", "tekken_240911.json"])
def test_files_of_mistral(name: str) -> None:
    from importlib.metadata import distribution

    files = distribution("mistral-common").files or ()
    path = next(file for file in files if str(file).endswith(name)).locate()
    vocabulary = Vocabulary.from_file(str(path))
    assert len(vocabulary) > 30_000
    assert vocabulary.find_added("</s>") == 2


def test_mistrals_sentencepiece_wrapper() -> None:
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    tokenizer = MistralTokenizer.v3()
    ids = tokenizer.instruct_tokenizer.tokenizer.encode("Zürich 🎉\n\tx", bos=True, eos=True)
    detokenizer = Detokenizer(tokenizer)
    assert detokenizer.put(ids) + detokenizer.end() == "Zürich 🎉\n\tx"


def test_from_tiktoken_file(tmp_path: Any) -> None:
    import base64

    path = tmp_path / "small.tiktoken"
    tokens = [b"a", b"b", b"\xe4\xb8", b"\x96", b" "]
    path.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % i for i, t in enumerate(tokens)))
    vocabulary = Vocabulary.from_tiktoken(path, special_tokens={"<|x|>": 5})
    detokenizer = Detokenizer(vocabulary, skip_special_tokens=False)
    assert [detokenizer.put(id) for id in (0, 2, 3, 5, 2)] == ["a", "", "世", "<|x|>", ""]
    assert detokenizer.end() == "\ufffd"
    path.write_text("not a line of base64 and a rank")
    with pytest.raises(ValueError, match=r"small.tiktoken:1: expected 'base64 rank'"):
        Vocabulary.from_tiktoken(path)


def test_transformers_tokenizer(deepseek: Any) -> None:
    from transformers import PreTrainedTokenizerFast

    wrapped = PreTrainedTokenizerFast(tokenizer_object=deepseek.tokenizer)
    assert len(Vocabulary.from_tokenizer(wrapped)) == len(deepseek.vocabulary)
    with pytest.raises(ValueError, match=r"of type builtins\.dict"):
        Vocabulary.from_tokenizer({})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stop": ["Grüße", "tok en"], "exact": True},
        {"clean_up_tokenization_spaces": True, "skip_special_tokens": False},
    ],
)
def test_a_fork_and_a_restored_one_at_every_token_go_on_as_a_fresh_one(
    real_tokenizer: Any, options: dict[str, Any]
) -> None:
    ids = real_tokenizer.encode("Hello , world . Grüße 世界 👩‍👩‍👧 don 't")
    others = real_tokenizer.encode(" 🎉 to tok en")

    def rest(detokenizer: Detokenizer, tail: list[int]) -> Any:
        text = detokenizer.put(tail) + detokenizer.end()
        return text, detokenizer.spans(), detokenizer.stop_reason

    walker = Detokenizer(real_tokenizer.vocabulary, **options)
    for place in range(len(ids) + 1):
        expected = []
        for tail in (others, ids[place:]):
            fresh = Detokenizer(real_tokenizer.vocabulary, **options)
            for id in ids[:place]:
                fresh.put(id)
            expected.append(rest(fresh, tail))
        fork = walker.fork()
        twin = fork.fork()
        snapshot = walker.snapshot()
        restored = Detokenizer.restore(snapshot, real_tokenizer.vocabulary, **options)
        assert restored.snapshot() == snapshot
        assert len(snapshot) < 1024
        assert rest(fork, others) == rest(restored, others) == expected[0]
        restored = Detokenizer.restore(snapshot, real_tokenizer.vocabulary, **options)
        assert rest(twin, ids[place:]) == rest(restored, ids[place:]) == expected[1]
        walker.put(ids[place : place + 1])


def test_a_snapshot_of_another_vocabulary_or_other_options_is_refused() -> None:
    detokenizer = Detokenizer(VOCABULARY, stop=["one"])
    detokenizer.put([0])
    snapshot = detokenizer.snapshot()
    other = Vocabulary({b"a": 0}, [], is_bytes=True)
    for vocabulary, options, match in [
        (other, {"stop": ["one"]}, "another vocabulary"),
        (VOCABULARY, {"stop": ["two"]}, "another list of stop strings"),
        (VOCABULARY, {"stop": ["one"], "include_stop": True}, "another choice of options"),
        (VOCABULARY, {}, "another choice of options"),
    ]:
        with pytest.raises(ArgumentError, match=match):
            Detokenizer.restore(snapshot, vocabulary, **options)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="of Detokenizer, not"):
        Parser.restore(snapshot, "hermes")
