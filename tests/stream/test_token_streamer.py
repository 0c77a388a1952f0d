"""Token ids of real tokenizers through the whole path, and into a channel."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from unspool import ArgumentError, DeltaChannel, Parser, StreamError, TokenStreamer, Vocabulary

from ..outputs import TOOLS

torch = pytest.importorskip("torch", reason="torch is not installed; pip install torch")

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


def test_a_list_is_output_by_default(deepseek: Any) -> None:
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
    # Otherwise the fence makes it an example until the end, and its tokens count as content.
    streamer = TokenStreamer(qwen.vocabulary, "json", TOOLS, calls_in_fences="call")
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


def test_stop_reason_and_count(deepseek: Any) -> None:
    """The stop string itself, once it is certain; ids after it are not read."""
    ids = deepseek.encode("Count: one, two, three, four")
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", stop=["three, five", "three", "seven"])
    reasons, counts = [], []
    for id in ids:
        streamer.put(id)
        reasons.append(streamer.stop_reason)
        counts.append(streamer.token_count)
    assert streamer.finish().content == "Count: one, two, "
    known = reasons.index("three")
    assert reasons == [None] * known + ["three"] * (len(ids) - known)
    # It waited for what makes it the longer one, and no longer.
    assert deepseek.decode(ids[: known + 1], True).startswith("Count: one, two, three, f")
    assert counts == [min(i, known) + 1 for i in range(len(ids))]
    assert streamer.message.token_counts.total == streamer.token_count == known + 1


def test_stop_reason_that_the_end_decides(deepseek: Any) -> None:
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", stop=["b", "b, and more"])
    streamer.put(deepseek.encode("a, b"))
    assert (streamer.stop_reason, streamer.is_stopped) == (None, False)
    assert streamer.finish().content == "a, "
    assert (streamer.stop_reason, streamer.is_stopped) == ("b", True)
    plain = TokenStreamer(deepseek.vocabulary, "hermes", stop="no")
    plain.parse(deepseek.encode("yes"))
    assert plain.stop_reason is None
    assert Parser("hermes").stop_reason is None


def test_token_count_is_of_the_output_alone(deepseek: Any) -> None:
    prompt, ids = deepseek.encode("<｜Assistant｜>"), deepseek.encode(ANSWER)
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", TOOLS, prompt=prompt)
    assert streamer.token_count == 0
    streamer.put(ids[:3])
    assert streamer.token_count == 3
    streamer.finish()
    assert streamer.token_count == 3
    put = TokenStreamer(deepseek.vocabulary, "hermes", TOOLS)
    put.put(torch.tensor([prompt]))
    assert put.token_count == 0
    for id in ids:
        put.put(id)
    assert put.token_count == len(ids)


@pytest.mark.parametrize("with_tokenizer", [True, False])
def test_token_count_of_ids_beside_text(deepseek: Any, with_tokenizer: bool) -> None:
    ids = deepseek.encode("Hello world.")
    parser = Parser("hermes", tokenizer=deepseek.vocabulary if with_tokenizer else None)
    parser.parse_chunk("", ids[:1])  # its text comes later
    assert parser.token_count == 1
    parser.parse_chunk("Hello world.", ids[1:])
    assert parser.token_count == len(ids)
    assert parser.finish().token_counts.total == len(ids)


def _in_inference_mode(ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        return torch.tensor([ids])


TENSORS = {
    "int64": lambda ids: torch.tensor(ids, dtype=torch.int64),
    "int32": lambda ids: torch.tensor(ids, dtype=torch.int32),
    "int32, a row": lambda ids: torch.tensor([ids], dtype=torch.int32),
    "made in inference mode": _in_inference_mode,
    "every other": lambda ids: torch.tensor([[id for id in ids for _ in range(2)]])[:, ::2],
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(deepseek: Any, name: str) -> None:
    ids = deepseek.encode("Hello, world.")
    for inference in (False, True):
        streamer = TokenStreamer(deepseek.vocabulary, "hermes", skip_prompt=False)
        with torch.inference_mode(inference):
            (delta,) = streamer.put(TENSORS[name](ids))
        assert delta.token_ids == tuple(ids)
        assert streamer.token_count == len(ids)
        assert streamer.finish().content == "Hello, world."


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_a_tensor_without_dimensions_is_one_id(deepseek: Any, dtype: torch.dtype) -> None:
    (id,) = deepseek.encode("Hello")
    for first in ([], [torch.zeros(1, 0, dtype=dtype)]):  # with a prompt, and without
        streamer = TokenStreamer(deepseek.vocabulary, "hermes")
        for prompt in first:
            assert streamer.put(prompt) == []
        (delta,) = streamer.put(torch.tensor(id, dtype=dtype))
        assert (delta.text, delta.token_ids) == ("Hello", (id,))


@pytest.mark.parametrize("shape", [(1, 0), (0,), (1, 1, 0)])
def test_an_empty_tensor_is_no_id(deepseek: Any, shape: tuple[int, ...]) -> None:
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", skip_prompt=False)
    assert streamer.put(torch.zeros(shape, dtype=torch.int64)) == []
    assert streamer.token_count == 0
    assert texts(streamer.put(deepseek.encode("Hello"))) == [("content", "Hello")]
    assert streamer.put(torch.zeros(shape, dtype=torch.int64)) == []


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.bool])
@pytest.mark.parametrize("values", [1, [1], [[1, 0]]], ids=str)
@pytest.mark.parametrize("skip_prompt", [None, True, False])
def test_a_tensor_of_no_integers_is_refused(
    deepseek: Any, dtype: torch.dtype, values: Any, skip_prompt: bool | None
) -> None:
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", skip_prompt=skip_prompt)
    with pytest.raises(TypeError, match=rf"ids has dtype {dtype}; pass integers \(int32 or int64\)"):
        streamer.put(torch.tensor(values, dtype=dtype))
    assert streamer.token_count == 0


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        (torch.zeros(2, 3, dtype=torch.long), ArgumentError),
        (torch.zeros(0, 3, dtype=torch.long), ArgumentError),
        (torch.tensor([[-100, 1]]), ArgumentError),
        (torch.zeros(1, 3, dtype=torch.bfloat16), TypeError),
    ],
)
def test_after_a_refused_prompt_the_prompt_is_still_to_come(
    deepseek: Any, prompt: torch.Tensor, error: type[Exception]
) -> None:
    for skip_prompt in (None, True):
        streamer = TokenStreamer(deepseek.vocabulary, "deepseek_r1", skip_prompt=skip_prompt)
        with pytest.raises(error):
            streamer.put(prompt)
        assert streamer.put(torch.tensor([deepseek.encode("<｜Assistant｜><think>\n")])) == []
        assert streamer.finish().content == ""
