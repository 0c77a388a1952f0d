"""Compares tokens per second of an engine's own chat server and of unspool's in front of the same engine, in turns.

python bench/engine_beside.py http://127.0.0.1:8080 http://127.0.0.1:11556 [--streams 4] [--tokens 150] [--turns 8]

Both get the same requests, with new texts in each turn, so that none is in a cache. The ratio is taken within each
turn, since a shared machine's speed changes between turns.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time

import aiohttp


async def answer(session: aiohttp.ClientSession, url: str, model: str, text: str, tokens: int) -> float:
    """Read one streamed answer to its end; returns the seconds to its first event."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": text}],
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
    }
    begin, first = time.perf_counter(), None
    async with session.post(f"{url}/v1/chat/completions", json=body) as response:
        response.raise_for_status()
        async for line in response.content:
            if first is None and line.startswith(b"data: {"):
                first = time.perf_counter() - begin
    assert first is not None, "there was no event"
    return first


async def turn(url: str, model: str, mark: str, streams: int, tokens: int) -> tuple[float, float]:
    """Return the tokens per second of all streams together, and the median seconds to the first event."""
    async with aiohttp.ClientSession() as session:
        begin = time.perf_counter()
        texts = [f"{mark}, question {index}: " + "what is it? " * 20 for index in range(streams)]
        firsts = await asyncio.gather(*(answer(session, url, model, text, tokens) for text in texts))
        return streams * tokens / (time.perf_counter() - begin), statistics.median(firsts)


async def model_of(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/v1/models") as response:
        return str((await response.json())["data"][0]["id"])


async def compare(own: str, ours: str, streams: int, tokens: int, turns: int) -> None:
    """Print the medians and the ratio."""
    models = {url: await model_of(url) for url in (own, ours)}
    found: dict[str, list[tuple[float, float]]] = {own: [], ours: []}
    for number in range(turns):
        for url in (own, ours) if number % 2 else (ours, own):
            found[url].append(await turn(url, models[url], f"{url} {number}", streams, tokens))
    ratio = statistics.median(b[0] / a[0] for a, b in zip(found[own], found[ours], strict=True))
    for name, url in (("its own", own), ("ours", ours)):
        rates, firsts = zip(*found[url], strict=True)
        print(
            f"{name}: {statistics.median(rates):.0f} tokens/s, first event {1000 * statistics.median(firsts):.1f} ms"
        )
    print(f"{streams} streams: ours / its own = {ratio:.3f} (the median of {turns} turns)")


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("own", help="the engine's own server")
    parser.add_argument("ours", help="`unspool serve --engine` in front of it")
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=150)
    parser.add_argument("--turns", type=int, default=8)
    options = parser.parse_args()
    asyncio.run(compare(options.own, options.ours, options.streams, options.tokens, options.turns))


if __name__ == "__main__":
    main()
