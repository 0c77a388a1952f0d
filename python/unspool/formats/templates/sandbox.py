"""Renders a chat template in a child process with limits, because the template is not trusted."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unspool.errors import LearnError

__all__ = ["Rendering", "Sandbox"]

#: The child's limits: memory including Python itself, the size of one rendering, and the size of all texts in an
#: answer.
MEMORY_BYTES = 512 << 20
TEXT_BYTES = 1 << 20
ANSWER_BYTES = 32 << 20

# Maximum seconds of a wait. An abandoned thread gets its exception between two waits.
_LONGEST_WAIT_S = 0.2

# How many times longer than its CPU time a process may take if the machine is busy.
_PATIENCE = 20

_HALF = re.compile("[\ud800-\udfff]")
_CHILD = Path(__file__).with_name("child.py")

#: A text; or None and the template's error.
Rendering = tuple[str | None, str]


class Sandbox:
    """A process that renders one template. Use it in a `with` statement.

    Jinja's own sandbox protects Python's attributes, but does not stop loops or large texts. So the process has a
    deadline, and limits on CPU time, memory and output.

    Args:
        template: The chat template.
        timeout: Seconds of CPU time until the process is killed, for all renderings together; and seconds until then
            by the clock, unless `is_patient`.
        is_lasting: Whether the process is kept. Then the time and CPU time start anew at each call of `render`,
            `strftime_now` is the real time, and one text may be as long as a whole answer.
        is_patient: Whether the clock counts only if the machine is so busy that the process gets almost no CPU time.

    Raises:
        LearnError: The template is rejected or exceeds a limit, or the system does not support the limits.
        ImportError: jinja2 is missing, or older than 3.1.6.
    """

    def __init__(
        self, template: str, timeout: float, *, is_lasting: bool = False, is_patient: bool = False
    ) -> None:
        folders = _folders_of_jinja()
        if os.name != "posix":
            raise LearnError("a chat template is rendered under limits that only POSIX systems have")
        self._is_lasting = is_lasting
        self._wait_seconds = timeout * (_PATIENCE if is_patient else 1)
        self._deadline = time.monotonic() + self._wait_seconds
        self._timeout, self._is_patient = timeout, is_patient
        self._began, self._child_seconds = time.thread_time(), 0.0
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={key: os.environ[key] for key in ("PATH", "LD_LIBRARY_PATH") if key in os.environ},
            bufsize=0,
        )
        start = {
            "template": template,
            "folders": folders,
            "cpu_seconds": math.ceil(timeout),
            "memory_bytes": MEMORY_BYTES,
            "text_bytes": ANSWER_BYTES if is_lasting else TEXT_BYTES,
            "is_lasting": is_lasting,
        }
        try:
            self._ask(json.dumps(start))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def process_id(self) -> int:
        """The child's process id."""
        return self._process.pid

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()

    def render(self, jobs: Iterable[dict[str, Any]], common: dict[str, Any]) -> list[Rendering]:
        """Render the template once per job.

        Args:
            jobs: The variables of each rendering, including `messages`.
            common: The variables of all renderings.

        Raises:
            LearnError: A limit is exceeded.
        """
        return self._render(json.dumps({"jobs": list(jobs), "common": common}))

    def render_json(self, variables: str) -> Rendering:
        """Render the template once, with variables as JSON without line breaks; raises as in `render`."""
        (rendering,) = self._render(f'{{"jobs": [{variables}], "common": {{}}}}')
        return rendering

    def _render(self, request: str) -> list[Rendering]:
        if self._is_lasting:
            self._deadline = time.monotonic() + self._wait_seconds
        answer = self._ask(request)
        self._child_seconds = answer["cpu_seconds"]
        return [_rendering(item) for item in answer["made"]]

    def _ask(self, request: str) -> dict[str, Any]:
        try:
            self._send(request.encode() + b"\n")
            answer: dict[str, Any] = json.loads(self._receive())
        except LearnError:  # a ValueError too
            raise
        except (BrokenPipeError, ConnectionResetError, ValueError):
            raise self._ended() from None
        if "failed" in answer:
            raise LearnError(f"the chat template cannot be rendered: {answer['failed']}")
        return answer

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        pipe = self._process.stdin.fileno()
        os.set_blocking(pipe, False)
        view = memoryview(data)
        while view:
            self._wait(pipe, selectors.EVENT_WRITE)
            view = view[os.write(pipe, view) :]

    def _receive(self) -> bytes:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        pieces: list[bytes] = []
        size = 0
        while not (pieces and pieces[-1].endswith(b"\n")):
            self._wait(pipe, selectors.EVENT_READ)
            piece = os.read(pipe, 1 << 16)
            if not piece:
                raise self._ended()
            size += len(piece)
            if size > ANSWER_BYTES:
                raise LearnError(f"the chat template writes more than {ANSWER_BYTES} bytes in all")
            pieces.append(piece)
        return b"".join(pieces)

    def _wait(self, pipe: int, event: int) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, event)
            while not selector.select(min(_LONGEST_WAIT_S, max(0.0, self._deadline - time.monotonic()))):
                if time.monotonic() < self._deadline:
                    continue
                if self._is_patient:
                    raise LearnError(
                        f"the chat template was not rendered within {self._wait_seconds:g} s: the machine is too busy; "
                        "try again later, or pass a longer timeout"
                    )
                raise self._took_longer("s")

    def _took_longer(self, unit: str) -> LearnError:
        return LearnError(
            f"the chat template took longer than {self._timeout:g} {unit}; pass a longer timeout if you trust it"
        )

    def _ended(self) -> LearnError:
        """The reason why the process ended by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process.wait(_LONGEST_WAIT_S) == -signal.SIGXCPU:
                return self._took_longer("s of processor time")
        return LearnError("the chat template ended its process; it needs too much memory, or crashes Python")

    def check_time(self) -> None:
        """Raise LearnError if the process and this thread have used more CPU time than the timeout."""
        if time.thread_time() - self._began + self._child_seconds > self._timeout:
            raise LearnError(
                f"no format was found within {self._timeout:g} s of processor time; pass a longer timeout"
            )


def _rendering(item: dict[str, str]) -> Rendering:
    text = item.get("text")
    if text is not None and _HALF.search(text) is not None:
        return None, "it writes half a surrogate pair"
    return text, item.get("error", "")


def _folders_of_jinja() -> list[str]:
    """Return the folders with jinja2 for the child, which starts without this process's paths."""
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise ImportError("a chat template is rendered by jinja2; pip install 'unspool[learn]'") from None
    if tuple(map(int, jinja2.__version__.split(".")[:3])) < (3, 1, 6):
        raise ImportError(
            f"jinja2 {jinja2.__version__} has holes in its sandbox; pip install 'jinja2>=3.1.6'"
        )
    return sorted({str(Path(module.__file__ or "").parents[1]) for module in (jinja2, markupsafe)})
