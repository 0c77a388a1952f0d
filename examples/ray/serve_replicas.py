"""Streams from two replicas of Ray Serve, and shows which of them wrote each answer.

Run: python examples/ray/serve_replicas.py [--port 8000] [--streams 8]

On the cluster that RAY_ADDRESS names, or on a new one on this machine. The models are unspool's demo, which
replays the cases of a format and needs no download.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import ray
from ray import serve
from unspool.integrations.ray import serve_app
from unspool.serve import ServeOptions
from unspool.serve.models.demo_model import DemoModels


def ask(url: str) -> tuple[str, str, int]:
    """Stream an answer: its replica, its finish reason, and how many chunks it had."""
    request = {
        "model": "hermes:one call",
        "messages": [{"role": "user", "content": "How is the weather in Paris?"}],
        "stream": True,
    }
    chunks = []
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=request, timeout=60) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                chunks.append(json.loads(line.removeprefix("data: ")))
    return answer.headers["x-unspool-replica"], chunks[-1]["choices"][0]["finish_reason"], len(chunks)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=8000)
    arguments.add_argument("--streams", type=int, default=8)
    given = arguments.parse_args()

    ray.init(ignore_reinit_error=True, log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": given.port})
    app = serve_app(
        functools.partial(DemoModels, 0.02),  # a token takes 20 ms
        # Two answers at a time per replica: with more requests than that, both have work.
        ServeOptions(max_workers=2),
        num_replicas=2,
        ray_actor_options={"num_cpus": 0.5},
    )
    serve.run(app, name="replicas")
    with ThreadPoolExecutor(given.streams) as pool:
        answers = list(pool.map(ask, [f"http://127.0.0.1:{given.port}"] * given.streams))
    for replica, finish_reason, chunk_count in answers:
        print(f"{replica}: {chunk_count} chunks, {finish_reason}")
    print("answers by replica:", dict(Counter(replica for replica, *_ in answers)))
    serve.delete("replicas")


if __name__ == "__main__":
    main()
