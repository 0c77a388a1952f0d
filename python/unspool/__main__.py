"""The command line, `python -m unspool` and the script `unspool`: `unspool demo`, `parse`, `why`, `detect`, `replay`, `formats`, `check`, `learn`, `serve`, `playground`, `export-…`."""

from __future__ import annotations

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


def _setting(flag: str, *name: str, **options: Any) -> Callable[[Any], Any]:
    """An option of `serve`, which the environment sets too: --max-queue is UNSPOOL_MAX_QUEUE."""
    return click.option(flag, *name, envvar=f"UNSPOOL_{flag[2:].replace('-', '_').upper()}", **options)


# Where the file's engines are kept for the command.
_ENGINES = "unspool.engines"


def _read_config(context: click.Context, path: str | None) -> None:
    """The options in a file become the defaults, which flags and the environment go before."""
    if path is None:
        return
    from unspool.serve.config_file import read_config_file

    params = [param for param in context.command.params if param.name not in (None, "help")]
    names = {max(param.opts, key=len).lstrip("-"): param for param in params if param.opts != ["--config"]}
    found = read_config_file(path, names)
    context.meta[_ENGINES] = found.pop("engines", None)
    context.default_map = {
        names[key].name or key: [value] if names[key].multiple and isinstance(value, str) else value
        for key, value in found.items()
    }


@cli.command()
@click.argument("model", required=False, envvar="UNSPOOL_MODEL")
@_setting(
    "--config",
    callback=lambda context, _, path: _read_config(context, path),
    is_eager=True,
    expose_value=False,
    help="A TOML file with any of these options.",
)
@_setting(
    "--engine",
    "engine_urls",
    multiple=True,
    help="The URL of an engine that runs the model. Repeat it for engines that run the same model.",
)
@_setting(
    "--kind",
    type=click.Choice(["vllm", "sglang", "llamacpp", "completions"]),
    help="The kind of engine. By default, the server asks the engine.",
)
@_setting(
    "--tokenizer",
    help="The model's folder, GGUF file or repository, if the engine does not provide the tokenizer.",
)
@_setting("--engine-model", help="The model's name in the engine, if the engine serves several models.")
@_setting("--engine-api-key", help="The API key to send to the engine.")
@_setting(
    "--demo",
    is_flag=True,
    help="Replay the formats' cases, without a model. Each format is served as a model of its name.",
)
@_setting("--name", help="The model's name for clients. Default: the last part of its path.")
@_setting("--format", "format_", default="auto", show_default=True, help="The format that the model writes.")
@_setting("--reasoning", help="Another format, whose reasoning is read instead; 'none' for none.")
@_setting(
    "--also", multiple=True, help="Another format whose calls are read too; 'any' for all. May be repeated."
)
@_setting(
    "--backend",
    type=click.Choice(["transformers", "native", "batched"]),
    default="transformers",
    show_default=True,
    help="The code that runs the model. 'batched' shares steps between requests and caches their prompts.",
)
@_setting(
    "--cache-tokens", type=int, help="The size of the cache of 'batched', in tokens of prompts and answers."
)
@_setting("--device", help="The model's device, such as cuda. Default: where it is loaded.")
@_setting("--dtype", default="auto", show_default=True, help="The weights' type, such as bfloat16.")
@_setting("--gguf-file", help="The GGUF file in the model's folder.")
@_setting("--chat-template", help="A file with a chat template, which replaces the model's own.")
@_setting(
    "--trust-template",
    is_flag=True,
    help="Render the model's own chat template in the server's process, without limits.",
)
@_setting("--max-new-tokens", default=2048, show_default=True, help="The limit for requests that set none.")
@_setting("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@_setting(
    "--port",
    type=click.IntRange(0, 65535),
    default=11556,
    show_default=True,
    help="The port; 0 chooses a free one.",
)
@_setting(
    "--metrics-port",
    type=click.IntRange(-1, 65535),
    default=-1,
    help="Another port for the metrics. -1: serve them only at /metrics.",
)
@_setting("--api-key", "api_keys", multiple=True, help="A key that clients must send. May be repeated.")
@_setting(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes on one socket. Each loads the models and has its own limits.",
)
@_setting(
    "--max-workers", type=int, help="Answers generated at the same time. Default: 10, or 1024 with an engine."
)
@_setting("--max-queue", default=100, show_default=True, help="Requests that may wait; further ones get 429.")
@_setting(
    "--reasoning-field",
    type=click.Choice(["reasoning_content", "reasoning"]),
    default="reasoning_content",
    show_default=True,
    help="The field of reasoning in chat completions.",
)
@_setting(
    "--reasoning-events",
    type=click.Choice(["summary", "text"]),
    default="summary",
    show_default=True,
    help="The form in which the Responses API sends reasoning.",
)
@_setting(
    "--allowed-origin",
    "allowed_origins",
    multiple=True,
    help="An origin whose pages may call the server; '*' for all. May be repeated.",
)
@_setting(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    help="Another name to accept in Host; '*' for all. On loopback, others get 403.",
)
@_setting("--max-body-bytes", default=8388608, show_default=True, help="A longer body gets 413.")
@_setting("--max-header-bytes", default=65536, show_default=True, help="Longer headers get 431.")
@_setting(
    "--max-items",
    default=10000,
    show_default=True,
    help="Limit of messages and parts, and of tools, in a request.",
)
@_setting(
    "--read-timeout", "read_timeout_s", default=60.0, show_default=True, help="Seconds to receive a request."
)
@_setting(
    "--prepare-timeout",
    "prepare_timeout_s",
    default=30.0,
    show_default=True,
    help="Seconds to prepare the prompt and the grammar, before the model runs.",
)
@_setting(
    "--drain-timeout",
    "drain_timeout_s",
    default=30.0,
    show_default=True,
    help="Seconds in which running answers must end when the server stops.",
)
@_setting(
    "--stream-timeout",
    "stream_timeout_s",
    type=float,
    help="Seconds without a token after which a request fails.",
)
@_setting("--flush-ms", default=0.0, help="Milliseconds to gather deltas before they are sent together.")
@_setting(
    "--incomplete-calls",
    type=click.Choice(["forward", "withhold"]),
    default="forward",
    show_default=True,
    help="Whether clients get the beginning of a call that is cut off or malformed.",
)
@_setting(
    "--stop-in",
    type=click.Choice(["content", "everywhere"]),
    default="content",
    show_default=True,
    help="The text in which stop strings count: the content, or also reasoning and calls.",
)
@_setting(
    "--strict-markers", is_flag=True, help="Markers count only as tokens, or inside what a token opens."
)
@_setting(
    "--response-store-mb",
    default=0.0,
    show_default=True,
    help="Megabytes for responses that clients may request again or continue; 0: none.",
)
@_setting(
    "--response-store-age",
    "response_store_age_s",
    default=3600.0,
    show_default=True,
    help="Seconds until these responses are deleted.",
)
@_setting(
    "--strict-requests",
    is_flag=True,
    help="Reject requests with fields that would be ignored, such as unknown fields.",
)
@_setting(
    "--record", help="A folder for records of the answers, without the users' texts; see `unspool replay`."
)
@_setting(
    "--record-mb", default=256.0, show_default=True, help="Megabytes that these files may take together."
)
@_setting("--record-texts", is_flag=True, help="Record the requests with the users' texts.")
@_setting("--delay", default=0.0, help="With --demo: seconds for each token.")
@_setting(
    "--log-level",
    default="info",
    show_default=True,
    help="The level of the log: critical, error, warning, info, debug or trace.",
)
@_setting("--ssl-keyfile", help="The PEM file with the private key, for HTTPS.")
@_setting("--ssl-certfile", help="The PEM file with the certificate, for HTTPS.")
def serve(model: str | None, **options: Any) -> None:
    """Serve a model over the APIs of OpenAI, Anthropic and Google.

    MODEL is a folder or a repository's name. Instead of MODEL, pass --engine to serve the model of an engine,
    or --demo.
    """
    from unspool.serve.serve_command import serve_command

    engines = click.get_current_context().meta.get(_ENGINES)
    serve_command(model, engines=engines, **options)


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
        found = trace(output, format, tools, chunk=chunk or "tokens", finish_reason=finish_reason, **options)
        _console().print(found)
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
        found = why(raw, format, tools, finish_reason=finish_reason, prompt=prompt)
    _console().print(found)
    raise SystemExit(0 if found.calls or (format is None and found.readers) else 1)


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
    for one in replays:
        click.echo(show(one))
    raise SystemExit(1 if any(one.differences for one in replays) else 0)


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
        found, problem = detected(model)
    click.echo(
        json.dumps(detected_json(found), indent=1) if as_json else detected_text(found, problem, model)
    )


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
