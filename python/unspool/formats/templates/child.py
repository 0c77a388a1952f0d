"""The child process that renders a chat template: a standalone script that imports nothing from unspool.

A trusted template is rendered in unspool's own process, with the same `template_environment`.

The script reads one JSON object per line from standard input and answers each with one line. The first object has
the limits, the folders of jinja2 and the template. Each further object has jobs, and its answer has a text or an
error for each job.
"""

from __future__ import annotations

import datetime
import json
import math
import sys
from typing import Any

#: The fixed time of strftime_now, so that renderings never differ in it.
_NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


def main() -> None:
    """Answer the lines of standard input until it ends."""
    start = json.loads(sys.stdin.readline())
    for folder in start["folders"]:
        sys.path.append(folder)
    is_lasting, cpu_seconds = start["is_lasting"], start["cpu_seconds"]
    environment = template_environment(None if is_lasting else _NOW)
    _limit(start["memory_bytes"])
    _limit_time(cpu_seconds, is_lasting)
    try:
        template = environment.from_string(start["template"])
    except MemoryError:
        _answer({"failed": "it needs too much memory"})
        return
    except Exception as error:
        _answer({"failed": f"Jinja cannot parse it: {_line(error)}"})
        return
    _answer({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        if is_lasting:
            _limit_time(cpu_seconds, is_lasting)
        try:
            _answer(_render_jobs(template, request, start["text_bytes"]))
        except MemoryError:
            _answer({"failed": "it needs too much memory"})
            return


def _render_jobs(template: Any, request: dict[str, Any], text_bytes: int) -> dict[str, Any]:
    results = []
    for job in request["jobs"]:
        try:
            text = _render(template, {**request["common"], **job}, text_bytes)
        except _TooLongError:
            return {"failed": f"it writes more than {text_bytes} bytes"}
        except RecursionError:
            return {"failed": "it is nested too deeply"}
        except MemoryError:
            raise
        except Exception as error:
            results.append({"error": _line(error)})
        else:
            results.append({"text": text})
    return {"made": results, "cpu_seconds": _used_seconds()}


class _TooLongError(Exception):
    pass


def _render(template: Any, values: dict[str, Any], text_bytes: int) -> str:
    pieces, size = [], 0
    for piece in template.generate(**values):
        size += len(piece)
        if size > text_bytes:
            raise _TooLongError
        pieces.append(piece)
    text = "".join(pieces)
    if len(text.encode("utf-8", "replace")) > text_bytes:
        raise _TooLongError
    return text


def template_environment(now: datetime.datetime | None = None) -> Any:
    """Create a Jinja environment like that of transformers' chat templates; `now` is its time, None the real one."""
    import jinja2
    import jinja2.ext
    from jinja2 import nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(jinja2.ext.Extension):
        def parse(self, parser: Any) -> nodes.Node:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body, lineno=line)

    Generation.tags = {"generation"}

    def to_json(
        value: Any,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: Any = None,
        sort_keys: bool = False,
    ) -> str:
        return json.dumps(
            value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )

    def raise_exception(message: str) -> None:
        raise jinja2.TemplateError(message)

    def strftime_now(form: str) -> str:
        return (now or datetime.datetime.now()).strftime(form)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = strftime_now
    return environment


def _limit(memory_bytes: int) -> None:
    import resource  # only POSIX systems have it

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _limit_time(seconds: int, is_lasting: bool) -> None:
    """Limit the CPU time from now on. The limit can be raised again only in a lasting process."""
    import resource

    most = math.ceil(_used_seconds()) + seconds
    # The second limit is higher, so that the signal of the first one says why the process ends.
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY if is_lasting else most + 1))


def _used_seconds() -> float:
    """The CPU time of this process so far."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _answer(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
