"""Runs the parser over one output step by step, and reports what is emitted, open and held back."""

from __future__ import annotations

from typing import Any

from unspool._core import ArgumentReader, Delta
from unspool.core.stream.message import Message
from unspool.errors import UnspoolError
from unspool.serve.playground.run_request import RunError, RunRequest
from unspool.streams.tracing.trace import Step, pieces_of, trace

__all__ = ["MAX_STEPS", "run"]

MAX_STEPS = 5_000
_MAX_SHOWN = 400  # characters of held text in one step


def run(request: RunRequest) -> dict[str, Any]:
    """Return every step of the parser over the request's text, and the final message.

    Returns:
        `steps`: one dict for each piece; the last one is the end of the output. `end` and `emitted` count the text
        that was read and the text that was emitted, in UTF-16 units, as JavaScript's strings do. `arguments`
        lists the arguments whose values became known. `regions`: the parts of the text, each with its kind.
        `message`: the whole message.

    Raises:
        RunError: An option is wrong, or there are more steps than `MAX_STEPS`.
    """
    pieces = sum(1 for _ in pieces_of(request.text, request.chunk, request.format))
    if pieces > MAX_STEPS:
        raise RunError(
            "chunk",
            f"the run has {pieces:,} steps, at most {MAX_STEPS:,} are allowed; use larger chunks",
            status=413,
        )
    try:
        traced = trace(
            request.text, request.format, request.tools, chunk=request.chunk,
            finish_reason=request.finish_reason, **request.options,
        )  # fmt: skip
    except (UnspoolError, TypeError) as error:
        raise RunError("options", str(error)) from None
    reader, units = ArgumentReader(), _units(request.text)
    return {
        "format": request.format.name,
        "steps": [_step(step, reader, units) for step in traced.steps],
        "regions": [{"kind": kind, "text": text} for kind, text in traced.regions],
        "message": _message(traced.message),
    }


def _shown(piece: bytes) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in piece)


def _units(text: str) -> list[int]:
    """Return, for each byte, the number of UTF-16 units in the whole characters before it."""
    units, count = [0], 0
    for character in text:
        units += [count] * (len(character.encode()) - 1)
        count += 2 if ord(character) > 0xFFFF else 1
        units.append(count)
    return units


def _step(step: Step, reader: ArgumentReader, units: list[int]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "piece": _shown(step.piece),
        "end": units[step.end],
        "emitted": units[step.emitted],
        "region": step.region,
        "deltas": [_delta(delta) for delta in step.deltas],
        "arguments": [
            _fields(event, "call", "path", "kind", "text", "is_final") for event in reader.put(step.deltas)
        ],
        "held": None,
    }
    if step.held:
        held = step.held.decode(errors="backslashreplace")
        shown["held"] = {
            "text": held if len(held) <= _MAX_SHOWN else "…" + held[-_MAX_SHOWN:],
            "bytes": len(step.held),
            "reason": step.held_reason,
            "why": step.why,
        }
    return shown


def _delta(delta: Delta) -> dict[str, Any]:
    values: dict[str, Any] = {
        "kind": delta.kind,
        "text": delta.text,
        "is_content": delta.is_content,
        "wire": delta.to_openai() or None,
    }
    for name in ("index", "id", "name", "status", "reason", "finish_reason"):
        value = getattr(delta, name)
        if value is not None and value != "":
            values[name] = value
    return values


def _fields(item: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


def _message(message: Message) -> dict[str, Any]:
    return {
        "wire": {"message": message.to_openai(), "finish_reason": message.finish_reason},
        **_fields(message, "content", "reasoning", "finish_reason", "hint"),
        "calls": [
            {
                **_fields(call, "id", "name", "arguments", "status", "written_as"),
                "repairs": list(call.repairs),
            }
            for call in message.tool_calls
        ],
        "malformed": [_fields(item, "text", "reason", "index") for item in message.malformed],
        "dropped": [_fields(item, "text", "reason", "index") for item in message.dropped],
    }
