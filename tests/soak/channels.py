"""A channel with several producers, each in a thread of its own, and one consumer."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import Counter

from unspool import ChannelCancelledError, Delta, DeltaChannel
from unspool.testing.check import accumulate

from .streams import Plan, token_streamer


class Failure(Exception):
    """What a producer fails its channel with."""


def run_group(seed: str, counts: Counter[str], producers: int = 3) -> None:
    """Send the answers of some streams through one channel. Raises AssertionError: one came out otherwise."""
    numbers = (Plan(f"{seed}.{i}") for i in itertools.count())
    plans = list(
        itertools.islice((p for p in numbers if p.by_id and not p.options.get("only_reasoning")), producers)
    )
    rng = plans[0].rng
    channel = DeltaChannel(rng.choice([0, 1, 8]))
    end = rng.choices(["close", "fail", "cancel"], [8, 1, 1])[0]
    failure = Failure(seed)
    errors: list[BaseException] = []
    messages = {}

    def produce(choice: int) -> None:
        plan = plans[choice]
        try:
            streamer = token_streamer(plan, channel=channel, choice=choice, closes_channel=False)
            for piece in plan.pieces:
                streamer.put(piece)
            messages[choice] = streamer.finish(plan.reason)
        except BaseException as error:
            if end != "cancel" or not isinstance(error, ChannelCancelledError):
                errors.append(error)

    threads = [threading.Thread(target=produce, args=(choice,)) for choice in range(producers)]

    def finish() -> None:
        for thread in threads:
            thread.join()
        channel.fail(failure) if end == "fail" else channel.close()

    closer = threading.Thread(target=finish)
    for thread in (*threads, closer):
        thread.start()
    deltas: list[Delta] = []
    came_out = None
    try:
        if end == "cancel":
            deltas += [delta for delta in [channel.get()] if delta is not None]
            channel.cancel()
        elif rng.random() < 0.2:
            asyncio.run(_consume(channel, deltas))
        else:
            deltas += iter(channel)
    except Failure as error:
        came_out = error
    finally:
        closer.join()
    if errors:
        raise AssertionError(f"group {seed}: a producer failed") from errors[0]
    assert came_out is (failure if end == "fail" else None), f"group {seed}"
    counts[f"channels: {end}"] += 1
    if end == "cancel":
        return
    for choice, plan in enumerate(plans):
        message = messages[choice]
        plan.check(message, "through a channel", ids=choice == 0)  # each choice has call ids of its own
        calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
        came = accumulate([delta for delta in deltas if delta.choice == choice])
        if plan.options.get("incomplete_calls") != "withhold":
            assert came == (message.content, message.reasoning, calls), f"group {seed}: {came}"
        counts["ended through a channel"] += 1


async def _consume(channel: DeltaChannel, deltas: list[Delta]) -> None:
    async for delta in channel:
        deltas.append(delta)
