"""Token ids of real tokenizers through the whole path, and into a channel."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
import torch
from unspool import ArgumentError, DeltaChannel, StreamError, TokenStreamer, Vocabulary
from unspool.testing.outputs import TOOLS

ANSWER = 'I look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich 👩‍👩‍👧"}}\n</tool_call>'


def texts(deltas: Any) -> list[tuple[str, str]]:
    return [(delta.kind, delta.text) for delta in deltas]


def test_every_real_tokenizer(real_tokenizer: Any) -> None:
    ids = real_tokenizer.encode(ANSWER)
    streamer = TokenStreamer(real_tokenizer.tokenizer, "hermes", TOOLS)
    deltas = [delta for id in ids for delta in streamer.put(id)]
    deltas += streamer.end()
    message = streamer.message
    assert message.content == "I look."
    assert [(c.name, c.arguments) for c in message.tool_calls] == [
        ("get_weather", '{"city": "Zürich 👩‍👩‍👧"}')
    ]
    assert [id for delta in deltas for id in delta.token_ids] == list(ids)
    assert message.token_counts.total == len(ids)
    # Arguments stream as they are written.
    assert sum(delta.kind == "tool_call_arguments" for delta in deltas) > 4
    with pytest.raises(StreamError):
        streamer.put(1)


@pytest.mark.parametrize("make", [list, np.array, torch.tensor, lambda ids: torch.tensor([ids])])
def test_ids_in_any_shape(deepseek: Any, make: Any) -> None:
    ids = deepseek.encode(ANSWER)
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", TOOLS, skip_prompt=False)
    streamer.put(make(ids))
    assert streamer.finish().tool_calls[0].name == "get_weather"


def test_as_transformers_uses_it(deepseek: Any) -> None:
    """First the prompt, two-dimensional and perhaps empty; then one id a step, or several."""
    prompt = deepseek.encode("<｜Assistant｜><think>\n")
    ids = deepseek.encode("hm\n</think>\n\nHi")
    for first in (torch.tensor([prompt]), torch.zeros(1, 0, dtype=torch.long)):
        streamer = TokenStreamer(deepseek.vocabulary, "deepseek_r1")
        assert streamer.put(first) == []
        assert streamer.put(torch.tensor(ids[:1])) != []
        streamer.put(torch.tensor([ids[1:]]))
        message = streamer.finish()
        assert (message.reasoning, message.content) == ("hm", "Hi")


def test_a_list_is_output_unless_told_otherwise(deepseek: Any) -> None:
    ids = deepseek.encode("Hello")
    assert texts(TokenStreamer(deepseek.vocabulary, "hermes").put(ids)) == [("content", "Hello")]
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", skip_prompt=True)
    assert streamer.put(ids) == []
    assert texts(streamer.put(ids)) == [("content", "Hello")]


def test_into_a_channel(deepseek: Any) -> None:
    ids = deepseek.encode(ANSWER)
    channel = DeltaChannel(maxsize=2)
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", TOOLS, channel=channel)

    def produce() -> None:
        for id in ids:
            assert streamer.put(id) == []
        streamer.end()

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    deltas = list(channel)
    thread.join(5)
    assert deltas[-1].finish_reason == "tool_calls"
    assert "".join(d.text for d in deltas if d.kind == "tool_call_arguments") == '{"city": "Zürich 👩‍👩‍👧"}'
    assert channel.is_finished


def test_special_tokens_that_are_no_markers(qwen: Any) -> None:
    vocabulary = qwen.vocabulary
    extra = vocabulary.find_added("<|extra_0|>")
    end = vocabulary.find_added("<|im_end|>")
    ids = [*qwen.encode("a"), extra, *qwen.encode("b"), end]
    assert TokenStreamer(vocabulary, "hermes").parse(ids).content == "ab"
    kept = TokenStreamer(vocabulary, "hermes", skip_special_tokens=False).parse(ids)
    assert kept.content == "a<|extra_0|>b"  # the end of the turn is the format's markup


def test_bad_arguments(deepseek: Any) -> None:
    with pytest.raises(ArgumentError, match="needs one"):
        TokenStreamer(None, "hermes")
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", skip_prompt=False)
    with pytest.raises(ArgumentError, match="one row"):
        streamer.put(torch.zeros(2, 3, dtype=torch.long))
    with pytest.raises(TypeError, match="pass integers"):
        streamer.put(torch.zeros(3))


def test_replay_of_what_a_small_model_really_wrote(qwen: Any) -> None:
    """Ids that Qwen2.5-Coder-0.5B wrote for a fenced call (its vocabulary is Qwen's)."""
    ids = [73594, 2236, 198, 515, 220, 330, 606, 788, 330, 455, 69364, 756, 220, 330, 16370, 788, 341, 262,
           330, 8926, 788, 330, 52854, 16032, 756, 262, 330, 3843, 788, 330, 66, 40247, 698, 220, 456, 532,
           73594, 151645]  # fmt: skip
    streamer = TokenStreamer(qwen.vocabulary, "json", TOOLS)
    for id in ids:
        streamer.put(id)
    message = streamer.finish()
    assert message.content == ""
    (call,) = message.tool_calls
    assert call.name == "get_weather"
    assert message.token_counts.tool_calls >= len(ids) - 2  # all but the end of the turn
    assert call.arguments == '{\n    "city": "Tokyo",\n    "unit": "celsius"\n  }'


def test_vocabulary_is_shared(deepseek: Any) -> None:
    assert Vocabulary.from_tokenizer(deepseek.vocabulary) is deepseek.vocabulary


def test_two_threads_in_one_stream_are_refused(deepseek: Any) -> None:
    channel = DeltaChannel(maxsize=1)
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", channel=channel)
    ids = deepseek.encode("a b c d e f")
    thread = threading.Thread(target=lambda: [streamer.put(id) for id in ids], daemon=True)
    thread.start()
    while len(channel) < 1:
        pass
    time.sleep(0.05)  # it waits for room now, inside put
    with pytest.raises(StreamError, match="in use by another thread"):
        streamer.put(ids[0])
    while thread.is_alive():
        channel.drain()
