"""Law 6: a bridge begins with the ids and goes on as the template does."""

from __future__ import annotations

import pytest
import unspool

from .templates import MODELS, OFFERED, USER, render
from .turn import Turn, following_messages

pytest.importorskip("jinja2")
NEXT = ("user", "one result", "two results", "reordered")


@pytest.mark.parametrize("following", NEXT)
@pytest.mark.parametrize("name", ["grouped", "mindful", "endless", "lastly", "late"])
def test_a_stable_template_gives_its_own_ids(name: str, following: str) -> None:
    turn = Turn(name, following)
    whole = render(name, turn.conversation())
    bridge = turn.bridge()
    assert (bridge.is_exact, bridge.kind, bridge.reason) == (True, None, None)
    assert bridge.ids == turn.tokenizer.encode(whole).ids
    assert bridge.kept == len(turn.prompt + turn.answer)
    assert bridge.mask == (
        [0] * len(turn.prompt) + [1] * len(turn.answer) + [0] * (len(bridge.ids) - bridge.kept)
    )
    assert bridge.closed == ()
    short = turn.bridge(messages=None)
    assert (short.is_exact, short.ids) == (True, bridge.ids)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("following", ["user", "two results"])
@pytest.mark.parametrize("name", MODELS)
def test_an_answer_cut_at_any_token(name: str, following: str, request: pytest.FixtureRequest) -> None:
    """A bridge takes a tenth of a second: without --thorough not every token of a text is tried."""
    turn = Turn(name, following)
    generation = render(name, [USER]).removeprefix(render(name, [USER], is_prompt=False))
    step = 1 if request.config.getoption("--thorough") else 9
    for length in [0, 1, 6, *range(7, len(turn.answer), step), len(turn.answer) - 1]:
        answer = turn.answer[:length]
        message = turn.read(answer)
        bridge = turn.bridge(answer, message=message, next=following_messages(message))
        ids = turn.prompt + answer
        assert bridge.ids is not None, bridge.reason
        assert bridge.ids[: bridge.kept] == ids
        assert turn.decode(bridge.ids).endswith(generation)
        assert not any(bridge.mask[len(ids) :])
        added = turn.decode(bridge.ids[len(ids) :])
        assert added.startswith(turn.decode(list(bridge.closed)))
        assert "</tool_call>" not in added
        assert bridge.is_exact or bridge.reason
        assert turn.bridge(answer, message=message, next=[USER], on_cut="refuse").ids is None


def test_a_cut_reasoning_is_closed() -> None:
    turn = Turn("mindful", "user", "<think>\nI must look it up.\n</think>\n\n")
    answer = turn.tokenizer.encode("<think>\nI must").ids
    bridge = turn.bridge(answer, message=None)
    assert turn.decode(list(bridge.closed)) == "\n</think>\n\n<|im_end|>"
    assert bridge.is_exact
    assert sum(bridge.mask) == len(answer)
    assert turn.tokenizer.token_to_id("</think>") in bridge.closed


def test_two_turns() -> None:
    turn = Turn("grouped", "two results")
    first = turn.bridge()
    assert first.ids is not None
    answer = turn.tokenizer.encode("It rains.<|im_end|>").ids
    following = [{"role": "user", "content": "Thanks."}]
    second = unspool.bridge(
        first.ids + answer, following, format="hermes", tokenizer=turn.tokenizer,
        template=MODELS["grouped"].template, prompt_length=len(first.ids), tools=OFFERED,
        messages=turn.conversation(),
    )  # fmt: skip
    messages = [*turn.conversation(), {"role": "assistant", "content": "It rains."}, *following]
    assert second.is_exact
    assert second.ids == turn.tokenizer.encode(render("grouped", messages)).ids
