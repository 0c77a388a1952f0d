"""The command line, `python -m unspool` and the script `unspool`: `unspool demo`, `parse`, `why`, `detect`, `replay`, `formats`, `check`, `learn`, `serve`, `playground`, `export-…`."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from unspool.core.needs import needs

try:
    with needs("cli"):
        import click
        import rich  # noqa: F401
except ImportError as error:
    sys.exit(f"unspool: {error}")

from unspool._core import Delta, __version__
from unspool.core.format.compile_format import compile_format, export_format
from unspool.core.format.format_schema import format_schema
from unspool.core.progress import progress_bar, spinner
from unspool.core.stream.message import Message
from unspool.errors import FormatError, UnspoolError
from unspool.formats.explain_format import reading_of
from unspool.formats.format_file import FormatFile, formats, get_format, read_format
from unspool.streams.parser import Parser
from unspool.streams.token_streamer import TokenStreamer
from unspool.streams.tracing import trace
from unspool.testing.check_file import check_file
from unspool.testing.demo import demo_of, embedded_tokens
from unspool.testing.show_shape import shape_of

__all__ = ["main"]

_COLORS = {
    "content": "white",
    "reasoning": "bright_black",
    "tool_call_begin": "bold cyan",
    "tool_call_arguments": "cyan",
    "malformed": "red",
}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Token ids in; text, reasoning and tool calls out, as they arrive."""


def main() -> None:
    """Run the command line. Bad input prints one line to standard error and exits with code 2."""
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"unspool: {error.format_message()}", err=True)
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except (UnspoolError, ImportError, OSError, TypeError, ValueError) as error:
        click.echo(f"unspool: {error}", err=True)
        sys.exit(2)
    except SystemExit as stop:
        sys.exit(stop.code)


@cli.command("formats")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each format.")
def list_formats(as_json: bool) -> None:
    """List the formats, with what they parse and their aliases."""
    for file in formats():
        reads = [
            *(["tools"] if file.has_tools else []),
            *(["reasoning"] if file.has_reasoning else []),
        ]
        if as_json:
            entry = {
                "name": file.name,
                "reads": reads,
                "aliases": file.aliases,
                "models": file.models,
            }
            click.echo(json.dumps(entry, ensure_ascii=False))
        else:
            names = f" (also {', '.join(file.aliases)})" if file.aliases else ""
            click.echo(f"{file.name:16} {'+'.join(reads):16} {', '.join(file.models)}{names}")


@cli.command()
@click.argument("names", nargs=-1)
@click.option("--delay", default=0.0, help="Seconds between two token ids.")
@click.option("--all", "show_all", is_flag=True, help="Replay every format, not one of each kind.")
def demo(names: tuple[str, ...], delay: float, show_all: bool) -> None:
    """Replay the formats' examples token by token, to show how tokens become regions and deltas."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for name in names or ([file.name for file in formats()] if show_all else _SHOWN):
        _show_demo(console, name, delay)


# One format for each kind of body, and reasoning.
_SHOWN = ("qwen3", "llama3_json", "mistral", "qwen3_coder", "openai", "lfm2", "gemma4", "minimax_m3")


def _show_demo(console: Any, name: str, delay: float) -> None:
    from rich.text import Text

    bundled = demo_of(get_format(name))
    vocabulary, ids = embedded_tokens(bundled)
    streamer = TokenStreamer(vocabulary, name, bundled.tools)
    console.rule(f"{name}: {len(ids)} token ids")
    wires: list[str] = []
    for id in [*ids, None]:
        for delta in streamer.end() if id is None else streamer.put(id):
            style = _COLORS.get(delta.kind)
            if style:
                shown = f"⟨{delta.name}⟩" if delta.kind == "tool_call_begin" else delta.text
                console.print(Text(shown, style=style), end="")
            if delta.to_openai():
                wires.append(delta.json.decode())
        time.sleep(delay)
    console.print()
    for wire in _shortened(wires):
        console.print(Text(f"  {wire}", style="dim"))
    message = streamer.message
    console.print(Text(f"  finish_reason {message.finish_reason}, {message.token_counts}", style="dim"))
    for call in message.tool_calls:
        console.print(Text(f"  → {call.name}({call.arguments})  {call.status}", style="green"))


def _shortened(lines: list[str], most: int = 6) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 2], f"… {len(lines) - most + 1} more deltas …", lines[-1]]


@cli.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, dir_okay=False))
@click.option("--schema", is_flag=True, help="Print the JSON Schema of format files, for editors.")
@click.option("--shape", is_flag=True, help="Print what each part of the patterns means.")
def check(paths: tuple[str, ...], schema: bool, shape: bool) -> None:
    """Validate format files. Print how the parser reads each file, and a sample of the model's output."""
    if schema:
        click.echo(json.dumps(format_schema(), indent=1))
        return
    if not paths:
        raise click.UsageError("name a format file, or pass --schema")
    failed = False
    for path in progress_bar(paths, "Checking"):
        faults = check_file(path)
        for fault in faults:
            click.echo(fault, err=True)
        failed |= bool(faults)
        _print_reading(path, shape_of if shape else reading_of, has_faults=bool(faults))
    raise SystemExit(1 if failed else 0)


def _print_reading(path: str, lines: Callable[[FormatFile], list[str]], has_faults: bool) -> None:
    """Print how the parser reads a format, even if its examples fail: the sentences help to find out why."""
    try:
        file = read_format(path)
        compile_format(file)
    except FormatError:
        return
    click.echo(f"{path}: {'not ok' if has_faults else 'ok'}")
    for line in lines(file):
        click.echo(f"  {line}")


class _ServeCommand(click.Command):
    """The command `serve`, whose options are made from the server's settings when they are first asked for.

    They need the server's packages, which the other commands do without.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        del self.params

    @functools.cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]
        from unspool.serve.command.command_options import make_options

        return make_options()


@cli.command(cls=_ServeCommand)
def serve(model: str | None, **settings: Any) -> None:
    """Serve a model over the APIs of OpenAI, Anthropic and Google.

    MODEL is a folder or a repository's name. Instead of MODEL, pass --engine to serve the model of an engine,
    or --demo.
    """
    from unspool.serve.command.command_options import engines_of_file
    from unspool.serve.command.serve_command import serve_command

    serve_command(model, settings, engines_of_file(click.get_current_context()))


@cli.command("parse")
@click.argument("file", default="-")
@click.option("--format", "format_", required=True, help="The format's name, or a format file (.toml).")
@click.option("--tools", "tools_file", help="A JSON file with the request's tools.")
@click.option(
    "--tokenizer",
    help="A tokenizer.json, tekken.json, GGUF file or SentencePiece model. FILE then holds ids.",
)
@click.option("--reasoning", help="Another format, whose reasoning is read instead; 'none' for none.")
@click.option(
    "--also", multiple=True, help="Another format whose calls are read too; 'any' for all. May be repeated."
)
@click.option("--tool-choice", default="auto", show_default=True)
@click.option("--prompt", help="The prompt, as text.")
@click.option("--finish-reason", default="stop", show_default=True)
@click.option("--chunk", default=0, help="The number of characters or ids to feed at a time; 0: a line.")
@click.option("--message", "as_message", is_flag=True, help="Print the message, not the deltas.")
@click.option("--audit", is_flag=True, help="With --message: show what became of every byte.")
@click.option("--repair", is_flag=True, help="Repair invalid JSON, and close what is open at the end.")
@click.option("--show", is_flag=True, help="Show in colours what is read, emitted and held back, and why.")
def parse_command(
    file: str,
    format_: str,
    tools_file: str | None,
    tokenizer: str | None,
    reasoning: str | None,
    also: tuple[str, ...],
    tool_choice: str,
    prompt: str | None,
    finish_reason: str,
    chunk: int,
    as_message: bool,
    audit: bool,
    repair: bool,
    show: bool,
) -> None:
    """Parse an output and print its deltas, one JSON object per line.

    FILE holds text or, with --tokenizer, token ids separated by spaces, commas or lines; "-" is standard
    input.
    """
    from unspool.core.vocabulary.vocabulary_sources import from_file

    if chunk < 0:
        raise click.UsageError("--chunk is negative; pass a number of characters or ids")
    options: dict[str, Any] = {
        "reasoning": reasoning,
        "also": also,
        "tool_choice": tool_choice,
        "prompt": prompt,
        "tokenizer": None if tokenizer is None else from_file(tokenizer),
        "repair": repair,
    }
    format = read_format(format_) if format_.endswith(".toml") else format_
    tools = None if tools_file is None else _read_json(tools_file)
    raw = _read_input(file)
    if show:
        output = raw if tokenizer is None else [id for row in _id_chunks(raw, 0) for id in row]
        traced = trace(output, format, tools, chunk=chunk or "tokens", finish_reason=finish_reason, **options)
        _console().print(traced)
        return
    parser = Parser(format, tools, audit=audit, **options)
    chunks: Iterator[Any] = _id_chunks(raw, chunk) if tokenizer else _text_chunks(raw, chunk)
    for piece in chunks:
        deltas = parser.parse_chunk(piece) if isinstance(piece, bytes) else parser.parse_chunk(None, piece)
        _print_deltas([] if as_message else deltas)
    message = parser.finish(finish_reason)
    _print_deltas([] if as_message else message.deltas)
    if as_message:
        click.echo(json.dumps(_message_json(message, audit), ensure_ascii=False, indent=2))
    if tools is None and message.content and not message.tool_calls:
        _hint(message.content)


def _hint(content: str) -> None:
    """Name the format that reads a call, if this one read none. With tools, `finish` logs it."""
    from unspool.streams.tracing.why import find_reader

    reader = find_reader(content)
    if reader is not None:
        click.echo(f"unspool: no call was read, and '{reader}' reads one; see `unspool why`", err=True)


@cli.command("why")
@click.argument("file", default="-")
@click.option("--format", "format_", help="The format that read no call: a name, or a format file (.toml).")
@click.option("--tools", "tools_file", help="A JSON file with the request's tools.")
@click.option("--prompt", help="The prompt, as text.")
@click.option("--finish-reason", default="stop", show_default=True)
def why_command(
    file: str, format_: str | None, tools_file: str | None, prompt: str | None, finish_reason: str
) -> None:
    """Show why a call was not read: where the format stopped, and which formats read the call.

    FILE holds text; "-" is standard input. The exit code is 1 if the format reads no call or, without --format,
    if no format does.
    """
    from unspool.streams.tracing.why import why

    format = None if format_ is None else _named_format(format_)
    raw = _read_input(file)
    tools = None if tools_file is None else _read_json(tools_file)
    with spinner("Trying every format"):
        diagnosis = why(raw, format, tools, finish_reason=finish_reason, prompt=prompt)
    _console().print(diagnosis)
    raise SystemExit(0 if diagnosis.calls or (format is None and diagnosis.readers) else 1)


def _named_format(name: str) -> FormatFile:
    return read_format(name) if name.endswith(".toml") else get_format(name)


def _read_input(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


@cli.command("replay")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--format", "format_", help="Another format, or a format file (.toml).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each answer.")
@click.option(
    "--case", "as_case", is_flag=True, help="Print a case for tests/formats with the current result."
)
def replay_command(file: str, format_: str | None, as_json: bool, as_case: bool) -> None:
    """Parse a recorded answer again, and show what has changed.

    FILE is a record that `unspool serve --record` wrote. The exit code is 1 if the result has changed.
    """
    from unspool.streams.recording.replay import load_record, replay
    from unspool.streams.recording.show_replay import case_of, json_of, text_of

    format = read_format(format_) if format_ is not None and format_.endswith(".toml") else format_
    replays = [replay(answer, format) for answer in load_record(file)]
    show = json_of if as_json else case_of if as_case else text_of
    for replayed in replays:
        click.echo(show(replayed))
    raise SystemExit(1 if any(replayed.differences for replayed in replays) else 0)


@cli.command("learn")
@click.argument("model")
@click.option("--name", default="learnt", show_default=True, help="The format's name.")
@click.option(
    "--timeout", default=10.0, show_default=True, help="Seconds of processor time until learning is stopped."
)
def learn_command(model: str, name: str, timeout: float) -> None:
    """Learn a format from a chat template and print the format file.

    MODEL is a template file, a tokenizer_config.json, a model's folder, or a repository's name (needs
    transformers).
    """
    from unspool.formats.learning.learn_command import learnt_text

    with spinner(f"Learning from {model}"):
        text = learnt_text(model, name, timeout)
    click.echo(text, nl=False)


@cli.command("detect")
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print the formats as JSON, best first.")
def detect_command(model: str, as_json: bool) -> None:
    """Print the format that a model writes, the evidence for it, and other formats that match.

    MODEL is a model's folder, a repository's name, a chat template, a tokenizer_config.json or a GGUF file. Weights
    are not read. If no format matches, the exit code is 2.
    """
    from unspool.formats.detect_command import detected, detected_json, detected_text

    with spinner(f"Reading {model}"):
        detections, problem = detected(model)
    if as_json:
        click.echo(json.dumps(detected_json(detections), indent=1))
    else:
        click.echo(detected_text(detections, problem, model))


@cli.command("export-format")
@click.argument("name")
@click.option("--reasoning", help="Another format, whose reasoning is read instead; 'none' for none.")
@click.option("-o", "--output", default="-", help="A file; '-' is standard output.")
def export_format_command(name: str, reasoning: str | None, output: str) -> None:
    """Write a format as JSON for C++ hosts. NAME is a format or a format file (.toml)."""

    file = read_format(name) if name.endswith(".toml") else name
    _write(output, export_format(file, reasoning=reasoning).encode())


@cli.command("export-vocabulary")
@click.argument("tokenizer", type=click.Path(exists=True, dir_okay=False))
@click.option("-o", "--output", required=True, help="A file; '-' is standard output.")
def export_vocabulary(tokenizer: str, output: str) -> None:
    """Write a vocabulary (the bytes of each token id) for C++ hosts.

    TOKENIZER is a tokenizer.json, tekken.json, GGUF file or SentencePiece model.
    """
    from unspool.core.vocabulary.vocabulary_sources import from_file

    with spinner(f"Reading {tokenizer}"):
        data = from_file(tokenizer).to_bytes()
    _write(output, data)


def _write(path: str, data: bytes) -> None:
    if path == "-":
        sys.stdout.buffer.write(data)
    else:
        Path(path).write_bytes(data)


@cli.command()
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0: a free port."
)
@click.option("--host", default="127.0.0.1", show_default=True)
def playground(port: int, host: str) -> None:
    """Serve a page that shows, step by step, how the parser reads an output."""
    with needs("serve"):
        import uvicorn
    from unspool.serve.playground import create_playground_app

    uvicorn.run(create_playground_app(), host=host, port=port, log_level="info", access_log=False)


def _read_json(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise click.UsageError(f"{path}: not JSON: {error}") from None


def _text_chunks(raw: bytes, size: int) -> Iterator[bytes]:
    if size == 0:
        yield from raw.splitlines(keepends=True)
        return
    text = raw.decode("utf-8", "surrogateescape")
    for begin in range(0, len(text), size):
        yield text[begin : begin + size].encode("utf-8", "surrogateescape")


def _id_chunks(raw: bytes, size: int) -> Iterator[list[int]]:
    lines = raw.decode("utf-8", "replace").splitlines()
    rows = [[_id(word) for word in line.replace(",", " ").split()] for line in lines]
    if size == 0:
        yield from (row for row in rows if row)
        return
    ids = [id for row in rows for id in row]
    for begin in range(0, len(ids), size):
        yield ids[begin : begin + size]


def _id(word: str) -> int:
    try:
        return int(word.strip("[]"))
    except ValueError:
        raise click.UsageError(f"'{word}' is not a token id; without --tokenizer input is text") from None


def _print_deltas(deltas: Any) -> None:
    for delta in deltas:
        click.echo(json.dumps(_delta_json(delta), ensure_ascii=False))


def _delta_json(delta: Delta) -> dict[str, Any]:
    """The delta in the API's form, plus fields that the API does not have."""
    entry: dict[str, Any] = {"delta": delta.to_openai()}
    if delta.kind == "tool_call_end":
        entry = {"tool_call_end": {"index": delta.index, "status": delta.status}}
    elif delta.kind == "malformed":
        entry["malformed"] = {"index": delta.index, "text": delta.text, "reason": delta.reason}
    elif delta.kind == "finish":
        entry["finish_reason"] = delta.finish_reason
    return entry


def _message_json(message: Message, audit: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"message": message.to_openai(), "finish_reason": message.finish_reason}
    if any(not call.is_complete for call in message.tool_calls):
        data["call_status"] = [call.status for call in message.tool_calls]
    if message.malformed:
        data["malformed"] = [
            {"index": item.index, "text": item.text, "reason": item.reason} for item in message.malformed
        ]
    if audit:
        data["audit"] = [list(item) for item in message.audit]
    return data


if __name__ == "__main__":
    main()
