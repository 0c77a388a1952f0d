"""What comes before the model has a deadline, and ends with its client."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from unspool import StreamGenerator
from unspool.generation.prompts.sandboxed_template import SandboxedTemplate
from unspool.serve import ServeOptions
from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.preparing import GivenUp, Preparing
from unspool.serve.models.load_checkpoint import load_checkpoint

from .conftest import USER, ScriptedModel, running

pytestmark = pytest.mark.anyio

BODY = {"model": "m", "messages": USER}
LOOP = (
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    "{% endfor %}{% endfor %}{% endfor %}"
)


class SlowModel(ScriptedModel):
    """Runs a function before it begins an answer."""

    def __init__(self, before: Any) -> None:
        super().__init__(lambda script: script.put("x"))
        self.before = before

    def stream(self, prompt: Any, **options: Any) -> Any:
        self.before()
        return super().stream(prompt, **options)


def loops() -> None:
    while True:
        pass


async def settled(state: Any) -> None:
    """Wait until no thread is lost and nothing is in flight."""
    with anyio.fail_after(20):
        while state.preparing.lost_count or state.limits.running_count:
            await anyio.sleep(0.01)


async def test_a_loop_before_the_model_gets_504_and_ends(make_client: Any) -> None:
    model = SlowModel(loops)
    client = make_client({"m": model}, max_workers=1, prepare_timeout_s=0.2)
    state = client.app.state.server
    for _ in range(3):
        answer = await client.post("/v1/chat/completions", json=BODY)
        assert answer.status_code == 504
        assert answer.json()["error"]["code"] == "prepare_timeout"
        await settled(state)
    model.before = lambda: None
    assert (await client.post("/v1/chat/completions", json=BODY)).status_code == 200


async def test_a_client_that_leaves_ends_a_loop_before_the_model() -> None:
    begun = threading.Event()

    def loops_and_tells() -> None:
        begun.set()
        loops()

    options = ServeOptions(max_workers=1)
    with running({"m": SlowModel(loops_and_tells)}, options) as server:
        state = server.app.state.server
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client:
            with pytest.raises(httpx.ReadTimeout):
                await client.post("/v1/chat/completions", json=BODY, timeout=0.3)
        assert begun.wait(20)
        await settled(state)


async def test_a_chat_template_that_loops(make_client: Any, llama: Any) -> None:
    from ..tiny_models import make_byte_tokenizer

    model = StreamGenerator(
        llama, make_byte_tokenizer(chat_template=LOOP + "{{ messages }}"), format="hermes"
    )
    client = make_client({"m": model}, max_workers=1, prepare_timeout_s=0.3)
    answer = await client.post("/v1/chat/completions", json=BODY)
    assert answer.status_code == 504
    await settled(client.app.state.server)
    answer = await client.post("/tokenize", json={"model": "m", "messages": USER})
    assert answer.status_code == 504
    await settled(client.app.state.server)


async def test_threads_that_nothing_ends_are_counted_up_to_a_bound(make_client: Any) -> None:
    go_on = threading.Event()
    client = make_client({"m": SlowModel(go_on.wait)}, max_workers=2, prepare_timeout_s=0.1)
    state = client.app.state.server
    try:
        for lost in (1, 2):
            assert (await client.post("/v1/chat/completions", json=BODY)).status_code == 504
            assert state.preparing.lost_count == lost
            assert f"unspool_lost_threads {lost}.0" in (await client.get("/metrics")).text
        answer = await client.post("/v1/chat/completions", json=BODY)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "server_stuck")
        readiness = await client.get("/readiness")
        assert (readiness.status_code, readiness.json()) == (503, {"status": "stuck"})
        assert state.limits.running_count == 0
    finally:
        go_on.set()
    await settled(state)
    assert (await client.get("/readiness")).status_code == 200
    assert (await client.post("/v1/chat/completions", json=BODY)).status_code == 200


async def test_a_result_that_comes_too_late_is_discarded() -> None:
    preparing = Preparing(0.1, 1)
    discarded = threading.Event()

    def goes_on() -> int:
        try:
            loops()
        except GivenUp:
            return 7
        raise AssertionError

    with pytest.raises(ApiError):
        await preparing.run(goes_on, discard=lambda result: discarded.set() if result == 7 else None)
    assert discarded.wait(20)


def test_a_server_stops_although_a_thread_does_not() -> None:
    never = threading.Event()
    asked = threading.Event()

    def waits() -> None:
        asked.set()
        never.wait()

    options = ServeOptions(drain_timeout_s=0.2)
    with running({"m": SlowModel(waits)}, options) as server:
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
        statuses: list[int] = []
        thread = threading.Thread(
            target=lambda: statuses.append(httpx.post(url, json=BODY, timeout=30).status_code)
        )
        thread.start()
        assert asked.wait(20)
    thread.join(20)
    assert statuses == [503]
    never.set()


async def test_results_and_exceptions_pass() -> None:
    preparing = Preparing(20, 1)
    assert await preparing.run(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await preparing.run(lambda: 1 // 0)
    with pytest.raises(TimeoutError):
        await preparing.run(lambda: (_ for _ in ()).throw(TimeoutError("the job's own")))
    for kind in (SystemExit, KeyboardInterrupt, StopIteration):

        def ends(kind: type[BaseException] = kind) -> None:
            raise kind

        with pytest.raises(RuntimeError, match=kind.__name__):
            await preparing.run(ends)
    assert preparing.lost_count == 0


async def test_no_handler_of_exceptions_keeps_a_thread() -> None:
    preparing = Preparing(0.1, 1)
    ended = threading.Event()

    def catches() -> None:
        try:
            while True:
                try:
                    loops()
                except Exception:
                    continue
        except GivenUp:
            ended.set()
            raise

    with pytest.raises(ApiError, match="was not ready within"):
        await preparing.run(catches)
    assert ended.wait(20)


async def test_what_a_job_has_begun_ends_with_it() -> None:
    """A stream that is begun and not yet returned stops its model when nothing refers to it."""
    ended = threading.Event()

    class Begun:
        def __del__(self) -> None:
            ended.set()

    def begins() -> None:
        begun = Begun()
        loops()
        del begun

    gc.disable()
    try:
        with pytest.raises(ApiError, match="was not ready within"):
            await Preparing(0.1, most_lost=1).run(begins)
        assert ended.wait(20)
    finally:
        gc.enable()


@pytest.mark.skipif(os.name != "posix", reason="the limits are POSIX's")
async def test_a_checkpoints_template_has_limits_unless_it_is_trusted(
    make_client: Any, llama: Any, tmp_path: Path
) -> None:
    from ..tiny_models import make_byte_tokenizer

    template = "{% if messages[0].content == 'loop' %}" + LOOP + "{% endif %}{{ messages[0].content }}:"
    make_byte_tokenizer(chat_template=template).save_pretrained(tmp_path)
    llama.save_pretrained(tmp_path)
    path, asked = str(tmp_path), [{"role": "user", "content": "Hello"}]
    limited = load_checkpoint(path, format="hermes", template_timeout_s=1)
    trusted = load_checkpoint(path, format="hermes", trust_template=True)
    own = tmp_path / "own.jinja"
    own.write_text(template)
    given = load_checkpoint(path, format="hermes", chat_template=str(own))
    assert [isinstance(one._encoder._renderer, SandboxedTemplate) for one in (limited, trusted, given)] == [
        True, False, False,
    ]  # fmt: skip
    assert limited.tokenize(asked) == trusted.tokenize(asked) == given.tokenize(asked)
    client = make_client({"m": limited}, max_workers=1)
    loop = {"model": "m", "messages": [{"role": "user", "content": "loop"}], "max_tokens": 2}
    answer = await client.post("/v1/chat/completions", json=loop)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_argument")
    # The deadline or the limit of CPU time, whichever comes first.
    assert answer.json()["error"]["message"].startswith(("the chat template took", "the chat template ended"))
    answer = await client.post("/v1/chat/completions", json={**loop, "messages": asked})
    assert answer.status_code == 200
