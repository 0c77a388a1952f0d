"""One stack in its own process: jobs from a file, a line of JSON for each answer."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from answers import Job, differences  # noqa: E402

LIMIT = 5


class _Late(Exception):
    pass


def _stop(*_: Any) -> None:
    raise _Late(f"no answer within {LIMIT} s")


def _try(stack: Any, job: Job, chunk: int, tokenizer: str, variant: Any) -> dict[str, Any]:
    faulthandler.dump_traceback_later(4 * LIMIT, exit=True)  # native code that no signal reaches
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        return dict(stack.answer(job, chunk, tokenizer, variant))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:150]}"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    name, path, begin = sys.argv[1], sys.argv[2], int(sys.argv[3])
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the stack prints is not an answer
    signal.signal(signal.SIGALRM, _stop)
    stack = importlib.import_module(name)
    stack.prepare()
    print(json.dumps({"version": stack.version()}), file=out, flush=True)
    data = json.loads(Path(path).read_text())
    for entry in data["jobs"][begin:]:
        job = Job(**{**entry["job"], "names": tuple(entry["job"]["names"])})
        tokenizer = data["tokenizers"][entry["tokenizer"]]
        best: list[str] = []
        worst = 2**30
        for variant in stack.variants(job):
            with contextlib.redirect_stdout(sys.stderr):
                found = _try(stack, job, entry["chunk"], tokenizer, variant)
            wrong = differences(entry["expected"], found, job.plain)
            count = 2**20 if "error" in found else len(wrong)
            if count < worst:
                best, worst = wrong, count
            if not wrong:
                break
        print(json.dumps({"wrong": best}), file=out, flush=True)


if __name__ == "__main__":
    main()
