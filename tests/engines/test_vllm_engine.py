"""vLLM's own server and engine, on a CPU, with our parsers and with its own: their answers side by side.

Needs an environment of its own: tests/engines/run_vllm.sh makes it and runs this file.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

if os.environ.get("UNSPOOL_ENGINE") != "vllm":
    pytest.skip("needs vLLM with an engine: tests/engines/run_vllm.sh", allow_module_level=True)

import unspool

from .ask import Answer, Reply, ask
from .scenarios import TURN, Scenario, cases, requests
from .vllm_model import write_model
from .vllm_servers import serving

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "vllm.md"
AT_ONCE = 8
SCRIPTED = ("--logits-processors", "scripted_logits:ScriptedLogits")
DRAFTS = '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3, "prompt_lookup_min": 1}'
pytestmark = pytest.mark.timeout(1800)


@dataclass(frozen=True)
class Run:
    """Two servers, and what is asked of them."""

    name: str
    tool: str
    flags: tuple[str, ...]
    has_drafts: bool = False

    def scenarios(self) -> list[Scenario]:
        """All requests and cases; with drafts, requests without a grammar at temperature 0.

        The CPU build's rejection sampler writes other tokens than the most likely one at higher temperatures.
        """
        found = list(requests(self.tool))
        if self.has_drafts:
            return [scenario for scenario in found if not scenario.is_guided and "n" not in scenario.body]
        return found + [scenario for scenario, _ in cases(self.tool, "qwen3")]


RUNS = {
    run.name: run
    for run in (
        Run("hermes", "hermes", SCRIPTED),
        Run("qwen3_coder", "qwen3_coder", (*SCRIPTED, "--stream-interval", "3")),
        Run(
            "drafts",
            "hermes",
            ("--worker-extension-cls", "scripted_drafts.ScriptedDrafts", "--speculative-config", DRAFTS),
            has_drafts=True,
        ),
    )
}
Key = tuple[str, str, str]  # API, "whole" or "stream", scenario
Replies = dict[Key, tuple[Reply, Reply]]  # ours, vLLM's own


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The answers of a run; its servers run once."""
    model = tmp_path_factory.mktemp("vllm") / "model"
    tokenizer = write_model(model)

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)  # type: ignore[no-any-return]

    @functools.cache
    def collect(name: str) -> Replies:
        run = RUNS[name]
        with serving(model, run.tool, "qwen3", *run.flags) as addresses:
            found = asyncio.run(_ask_all(run, addresses, encode))
            if run.has_drafts:
                assert all(_accepted_drafts(address) > 0 for address in addresses)
        return found

    collect.tokenizer = tokenizer  # type: ignore[attr-defined]
    return collect


async def _ask_all(run: Run, addresses: tuple[str, str], encode: Callable[[str], list[int]]) -> Replies:
    slots = asyncio.Semaphore(AT_ONCE)
    limits = httpx.Limits(max_keepalive_connections=0)  # the server may close an idle one while it is taken
    clients = [httpx.AsyncClient(base_url=address, limits=limits) for address in addresses]

    async def ask_both(api: str, mode: str, scenario: Scenario) -> tuple[Reply, Reply]:
        async with slots:
            body = scenario.request(api, encode)
            ours, own = await asyncio.gather(
                *(ask(client, api, mode == "stream", body) for client in clients)
            )
            return ours, own

    wanted = {
        (api, mode, scenario.name): ask_both(api, mode, scenario)
        for scenario in run.scenarios()
        for api in scenario.apis
        for mode in ("whole", "stream")
    }
    answers = await asyncio.gather(*wanted.values())
    for client in clients:
        await client.aclose()
    return dict(zip(wanted, answers, strict=True))


def _accepted_drafts(address: str) -> float:
    metrics = httpx.get(f"{address}/metrics").text
    found = re.search(r"^vllm:spec_decode_num_accepted_tokens_total\S* (\S+)$", metrics, re.M)
    return float(found.group(1)) if found else 0


def _reasons() -> dict[str, Any]:
    return tomllib.loads((HERE / "vllm_differences.toml").read_text(encoding="utf-8"))


def _listed(run: str, keys: list[Key]) -> dict[Key, str]:
    """What vllm_differences.toml lists: "mode: scenario" stands for all APIs, "*: scenario" for both modes too."""
    found: dict[Key, str] = {}
    for reason, entry in _reasons().items():
        for line in entry.get(run, ()):
            where, _, name = line.partition(": ")
            api, _, mode = where.rpartition(" ")
            matching = [
                key for key in keys if key[2] == name and mode in ("*", key[1]) and api in ("", key[0])
            ]
            assert matching, f"{line} is no request"
            for key in matching:
                assert key not in found, f"{line} is listed twice"
                found[key] = reason
    return found


@pytest.mark.parametrize("run", RUNS)
def test_answers_differ_from_vllms_own_as_listed(run: str, replies: Any) -> None:
    found = replies(run)
    listed = _listed(run, list(found))
    differing = {key for key, (ours, own) in found.items() if ours.comparable() != own.comparable()}
    new = [
        f"{key}\n  ours {found[key][0]}\n  vLLM {found[key][1]}" for key in sorted(differing - set(listed))
    ]
    assert not new, "\n".join(["not listed:", *new])
    assert not set(listed) - differing, "listed, and alike"


@pytest.mark.parametrize("run", RUNS)
def test_our_answers_are_whole_and_in_order(run: str, replies: Any) -> None:
    wrong = {
        key: (ours.status, ours.error, ours.answers)
        for key, (ours, own) in replies(run).items()
        if (ours.status != 200 and own.status == 200) or any(answer.faults for answer in ours.answers)
    }
    assert not wrong


@pytest.mark.parametrize("run", RUNS)
def test_both_count_the_same_tokens(run: str, replies: Any) -> None:
    """Under a grammar they may write different ones."""
    found = replies(run)
    guided = {scenario.name for scenario in RUNS[run].scenarios() if scenario.is_guided}
    listed = _listed(run, list(found))
    same = [key for key in found if key not in listed and key[2] not in guided]
    assert same
    for key in same:
        ours, own = found[key]
        assert ours.token_count == own.token_count, key


def _complete(answer: Answer) -> tuple[str, str, list[tuple[str, Any]]]:
    """Texts to the letter, and the calls that a client can run."""
    calls = []
    for name, arguments in answer.calls:
        with contextlib.suppress(ValueError):
            calls.append((name, json.loads(arguments)))
    return answer.reasoning, answer.content, calls


@pytest.mark.parametrize("run", RUNS)
def test_our_streams_add_up_to_whole_answers(run: str, replies: Any) -> None:
    found = replies(run)
    for (api, mode, name), (streamed, _) in found.items():
        if mode == "stream":
            whole = found[api, "whole", name][0].answers
            if api == "responses":  # the deltas' answer, and the last event's
                whole = whole * len(streamed.answers)
            for one, other in zip(streamed.answers, whole, strict=True):
                assert _complete(one) == _complete(other), (api, name)


@pytest.mark.parametrize("run", [run.name for run in RUNS.values() if not run.has_drafts])
def test_our_answers_are_what_one_shot_gives(run: str, replies: Any) -> None:
    """On all cases of both families."""
    found, tokenizer, tool = replies(run), replies.tokenizer, RUNS[run].tool
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    for scenario, case in cases(tool, "qwen3"):
        ids = [*tokenizer.encode(case.input, add_special_tokens=False), end]
        message = unspool.parse(
            ids[: ids.index(end)],
            tool,
            [{"type": "function", "function": function} for function in scenario.tools or ()],
            reasoning="qwen3",
            tokenizer=tokenizer,
            prompt=TURN + scenario.template["answer_start"],
        )
        calls = [[call.name, call.arguments] for call in message.tool_calls if call.is_complete]
        [answer] = found["chat", "whole", scenario.name][0].answers
        assert (answer.reasoning, answer.content) == (message.reasoning, message.content), scenario.name
        assert answer.calls == calls, scenario.name


@pytest.mark.parametrize("run", RUNS)
def test_the_page_has_the_counts(run: str, replies: Any) -> None:
    found = replies(run)
    counts = Counter(_listed(run, list(found)).values())
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    table = {row[0].partition(":")[0]: row[1:] for row in rows if len(row) == len(RUNS) + 1}
    column = list(RUNS).index(run)
    expected = {"requests": len(found), "alike": len(found) - counts.total()}
    expected |= {reason: counts[reason] for reason in _reasons()}
    assert {name: table[name][column] for name in expected} == {
        name: str(count) for name, count in expected.items()
    }
