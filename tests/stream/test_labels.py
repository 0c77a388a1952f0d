"""Labels, masks and sums on one answer; tests/properties/test_labels.py has the laws."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import unspool
from unspool import (
    ArgumentError,
    Labels,
    LabelSpan,
    Parser,
    TokenStreamer,
    Vocabulary,
    loss_mask,
    sum_logprobs,
)
from unspool.core.stream.labels import REGIONS

PIECES = [
    "<think>", "hm", "</think>", "\n\n", "Hi", "<tool_call>", '\n{"name": "', "f", '", "arguments": {"city": "', "Paris",
    '", "days": [', "3", "]", "}}\n", "</tool_call>", "<|im_end|>", "<pad>", '{"name": "g", "arg',
]  # fmt: skip
IDS = {piece: number for number, piece in enumerate(PIECES)}
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "<pad>")
VOCABULARY = Vocabulary(IDS, [(IDS[text], text, text, text in ("<|im_end|>", "<pad>")) for text in MARKERS])
ANSWER = list(range(16))


def labels_of(ids: list[int], reason: str = "stop", **options: Any) -> Labels:
    streamer = TokenStreamer(VOCABULARY, "qwen3", labels=True, **options)
    streamer.put(ids)
    labels = streamer.finish(reason).labels
    assert labels is not None
    return labels


def regions(labels: Labels) -> list[str]:
    return [REGIONS[number] for number in labels.regions]


def test_each_token_has_a_region() -> None:
    labels = labels_of(ANSWER)
    assert regions(labels) == [
        "markup", "reasoning", "markup", "markup", "content", "markup", "markup", "name", "markup", "arguments",
        "arguments", "arguments", "arguments", "arguments", "markup", "end",
    ]  # fmt: skip
    assert list(labels.calls) == [-1] * 5 + [0] * 10 + [-1]
    assert [i for i, mixed in enumerate(labels.is_mixed) if mixed] == [8, 13]
    assert labels.counts() == {
        "content": 1, "reasoning": 1, "markup": 7, "name": 1, "arguments": 5, "end": 1, "skipped": 0
    }  # fmt: skip


def test_spans_partition_the_ids() -> None:
    spans = labels_of(ANSWER).spans
    assert spans[4] == LabelSpan(5, 7, "markup", 0, ())
    assert spans[7:10] == [
        LabelSpan(9, 11, "arguments", 0, ("city",)),
        LabelSpan(11, 12, "arguments", 0, ("days", 0)),
        LabelSpan(12, 13, "arguments", 0, ("days",)),
    ]
    assert [span.start for span in spans[1:]] == [span.end for span in spans[:-1]]


def test_tokens_of_a_value() -> None:
    labels = labels_of(ANSWER)
    assert labels.tokens(("city",)) == [8, 9, 10]
    assert labels.tokens(("city",), overlap="first") == [9, 10]
    assert labels.tokens(("city",), overlap="inside") == [9]
    assert labels.tokens(("days",)) == [10, 11, 12]
    assert labels.tokens(("days", 0)) == [11]
    assert labels.tokens((), overlap="first") == [9, 10, 11, 12, 13]
    assert labels.tokens(region="name") == [7]
    assert labels.tokens(call=0) == list(range(5, 15))
    assert labels.tokens(("city",), call=1) == labels.tokens(("town",)) == []


@pytest.mark.parametrize("arguments", [{"overlap": "all"}, {"region": "text"}, {"path": "city"}], ids=str)
def test_tokens_refuses(arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        labels_of(ANSWER).tokens(**arguments)


def test_labels_settle_as_their_text_does() -> None:
    streamer = TokenStreamer(VOCABULARY, "qwen3", labels=True)
    counts = []
    for id in ANSWER:
        streamer.put(id)
        counts.append(streamer.labels().settled)
    assert counts == sorted(counts)
    assert counts[1] == 2  # reasoning is certain at once
    assert counts[5] < 6  # an opener waits for the name
    assert not streamer.labels().is_final
    streamer.end()
    assert streamer.labels().settled == len(ANSWER)
    assert streamer.labels() == streamer.message.labels == labels_of(ANSWER)


def test_text_beside_ids_gives_the_same_labels() -> None:
    parser = Parser("qwen3", tokenizer=VOCABULARY, labels=True)
    for id in ANSWER:
        parser.parse_chunk("" if PIECES[id] == "<|im_end|>" else PIECES[id], [id])
    assert regions(parser.finish().labels or labels_of([])) == regions(labels_of(ANSWER))


def test_an_unknown_special_token_ends_the_answer_and_padding_does_not() -> None:
    pad = IDS["<pad>"]
    assert regions(labels_of([IDS["Hi"], pad, pad])) == ["content", "end", "skipped"]
    assert regions(labels_of([IDS["Hi"], IDS["<|im_end|>"], pad])) == ["content", "end", "skipped"]
    assert regions(labels_of([IDS["Hi"], pad, pad], "length")) == ["content", "skipped", "skipped"]
    assert regions(labels_of([IDS["Hi"], pad, IDS["Hi"]])) == ["content", "skipped", "content"]


def test_what_stands_behind_a_stop_string_is_skipped() -> None:
    labels = labels_of([IDS["Hi"], IDS["hm"], IDS["Hi"]], stop="hm")
    assert regions(labels) == ["content", "skipped", "skipped"]
    labels = labels_of([IDS["Hi"], IDS["hm"], IDS["Hi"]], stop="hm", stop_in="everywhere")
    assert regions(labels) == ["content", "skipped", "skipped"]


def test_calls_that_are_not_sent() -> None:
    call = ANSWER[5:15]
    other = labels_of(call, tools=[{"name": "g"}], unknown_tools="content")
    assert set(regions(other)) == {"content"}
    dropped = labels_of([*call, *call], parallel_tool_calls=False)
    assert regions(dropped)[:10] == regions(labels_of(call))
    assert "skipped" in regions(dropped)[10:]
    assert set(dropped.calls[10:]) == {-1}


def test_labels_need_ids_and_must_be_asked_for() -> None:
    with pytest.raises(ArgumentError, match="tokenizer="):
        Parser("qwen3", labels=True)
    with pytest.raises(ArgumentError, match="labels=True"):
        TokenStreamer(VOCABULARY, "qwen3").labels()
    assert unspool.parse(ANSWER, "qwen3", tokenizer=VOCABULARY).labels is None


def test_the_audit_is_the_same_beside_labels() -> None:
    alone = unspool.parse(ANSWER, "qwen3", tokenizer=VOCABULARY, audit=True, id_seed=1)
    both = unspool.parse(ANSWER, "qwen3", tokenizer=VOCABULARY, audit=True, labels=True, id_seed=1)
    assert both.audit == alone.audit
    assert labels_of(ANSWER) == both.labels
    assert unspool.parse(ANSWER, "qwen3", tokenizer=VOCABULARY, labels=True).audit == ()


def test_masks() -> None:
    labels = labels_of(ANSWER)
    assert loss_mask(labels, prompt=3).tolist() == [0] * 3 + [1] * 16
    assert loss_mask(labels, train=("arguments",)).tolist() == [0] * 9 + [1] * 5 + [0] * 2
    weighted = loss_mask(labels, prompt=1, train=("content", "name"), weights={"name": 2.0})
    assert weighted.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 2] + [0] * 8


def test_a_mask_without_bad_calls_differs_only_in_them() -> None:
    good, bad = ANSWER[5:15], [IDS["<tool_call>"], IDS['\n{"name": "'], IDS["f"]]
    labels = labels_of([IDS["Hi"], *good, *bad, IDS['", "arguments": {"city": "']], "length")
    assert labels.complete_calls == (True, False)
    everything, complete = loss_mask(labels), loss_mask(labels, calls="complete")
    assert everything.tolist() == [1] * 15
    differs = [i for i, pair in enumerate(zip(everything, complete, strict=True)) if pair[0] != pair[1]]
    assert differs == labels.tokens(call=1, overlap="first") == [11, 12, 13, 14]


@pytest.mark.parametrize(
    "arguments",
    [
        {"prompt": -1}, {"train": "content"}, {"train": ("text",)}, {"calls": "good"},
        {"train": ("name",), "weights": {"content": 1.0}},
    ],
    ids=str,
)  # fmt: skip
def test_loss_mask_refuses(arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        loss_mask(labels_of(ANSWER), **arguments)


def test_a_mask_needs_the_end() -> None:
    streamer = TokenStreamer(VOCABULARY, "qwen3", labels=True)
    streamer.put(ANSWER)
    with pytest.raises(ArgumentError, match="after end"):
        loss_mask(streamer.labels())


def test_sums_of_log_probabilities() -> None:
    labels = labels_of(ANSWER)
    logprobs = [-float(1 << i) for i in range(16)]
    assert sum_logprobs(logprobs, labels, ("days", 0), call=0) == -(1 << 11)
    assert sum_logprobs(logprobs, labels, region="name") == -(1 << 7)
    assert sum_logprobs(logprobs, labels, ("city",), overlap="inside") == -(1 << 9)
    assert sum_logprobs(logprobs, labels, ("town",)) is None
    with pytest.raises(ArgumentError, match="15 logprobs for 16 tokens"):
        sum_logprobs(logprobs[:-1], labels)


def test_without_numpy_the_arrays_are_pythons() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import unspool\n"
        "v = unspool.Vocabulary({'Hi': 0, 'x': 1}, [])\n"
        "labels = unspool.parse([0, 1], 'qwen3', tokenizer=v, labels=True).labels\n"
        "print(type(labels.regions).__name__, labels.calls.tolist(), unspool.loss_mask(labels, prompt=2).tolist(),\n"
        "      unspool.loss_mask(labels, weights={'content': 0.5}).tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "array [-1, -1] [0, 0, 1, 1] [0.5, 0.5]\n"


def test_a_key_may_hold_half_a_surrogate_pair() -> None:
    text = '\n{"name": "f", "arguments": {"\\ud83dx": 1}}\n'
    vocabulary = Vocabulary({**IDS, text: 99}, [(IDS[t], t, t, False) for t in MARKERS])
    ids = [IDS["<tool_call>"], 99, IDS["</tool_call>"]]
    labels = unspool.parse(ids, "qwen3", tokenizer=vocabulary, labels=True).labels
    assert labels is not None
    assert labels.tokens(("\ud83dx",)) == [1]
