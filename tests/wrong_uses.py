"""A hundred wrong uses of the package, each with words that its error must have. `python tests/wrong_uses.py` shows the errors."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import unspool

LONG = "The weather. " * 8000
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
VOCABULARY = unspool.Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)


def parser(**options: Any) -> unspool.Parser:
    return unspool.Parser("hermes", **options)


def streamer(**options: Any) -> unspool.TokenStreamer:
    return unspool.TokenStreamer(VOCABULARY, "hermes", **options)


def writer(**options: Any) -> unspool.WireWriter:
    return unspool.WireWriter("chat_completions", **{"model": "m", **options})


def batch() -> Any:
    return unspool.StreamBatch(VOCABULARY, "hermes")


def labels() -> Any:
    return parser(tokenizer=VOCABULARY, labels=True).parse([72, 105]).labels


def format_file() -> unspool.FormatFile:
    return unspool.get_format("hermes")


def read(text: str) -> Any:
    return unspool.FormatFile(text, "mine.toml")


def run(*arguments: str) -> None:
    """The command; its last line is the error."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "unspool", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    if done.returncode != 0:
        raise CommandError(done.stderr.strip())


def check_bad() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sub" / "bad.toml"
        file.parent.mkdir()
        file.write_text('name = "x"\ncal = "y"\n')
        run("check", str(file))


class CommandError(Exception):
    """What a command printed before it failed."""


WRONG: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    # Formats.
    "a repository as a format": (lambda: unspool.Parser("Qwen/Qwen3-8B"), ("'Qwen/Qwen3-8B'", "unspool.detect")),
    "another repository": (lambda: unspool.Parser("acme/Foo-7B"), ("'acme/Foo-7B'", "unspool.detect")),
    "a path as a format": (lambda: unspool.Parser("./mine.toml"), ("'./mine.toml'", "register_format")),
    "a misspelt format": (lambda: unspool.Parser("herms"), ("'herms'", "'hermes'")),
    "a number as a format": (lambda: unspool.Parser(5), ("format", "int", "name")),  # type: ignore[arg-type]
    "none as a format": (lambda: unspool.Parser(None), ("format", "NoneType", "name")),  # type: ignore[arg-type]
    "an empty format": (lambda: unspool.Parser(""), ("''", "unspool formats")),
    "get_format of nothing": (lambda: unspool.get_format("nope"), ("'nope'", "unspool formats")),
    "get_format of a path": (lambda: unspool.get_format("./mine.toml"), ("register_format",)),
    "a missing file registered": (lambda: unspool.register_format("/nope/mine.toml"), ("/nope/mine.toml", "No such file")),
    "auto without a tokenizer": (lambda: unspool.Parser("auto"), ("tokenizer",)),
    "hf without a tokenizer": (lambda: unspool.Parser("hf"), ("tokenizer",)),
    # Options of a parser.
    "a misspelt option": (lambda: parser(repiar=True), ("'repiar'", "'repair'")),
    "an option of others": (lambda: parser(max_tokens=5), ("'max_tokens'", "help(Parser)")),
    "a misspelt option of parse": (lambda: unspool.parse("Hi", "hermes", repiar=True), ("'repiar'", "'repair'")),
    "of parse_batch": (lambda: unspool.parse_batch(["Hi"], "hermes", repiar=True), ("'repiar'", "'repair'")),
    "of a streamer": (lambda: streamer(stpo="x"), ("'stpo'", "'stop'")),
    "no format": (unspool.Parser, ("'format'",)),  # type: ignore[call-arg]
    "too many arguments": (lambda: unspool.Parser("hermes", None, "x"), ("Parser",)),  # type: ignore[misc]
    "a number as stop": (lambda: parser(stop=5), ("stop", "int", "str")),
    "numbers as stop": (lambda: parser(stop=["a", 5]), ("stop", "list of str")),
    "an empty stop": (lambda: parser(stop=""), ("stop", "empty")),
    "a wrong stop_in": (lambda: parser(stop_in="all"), ("stop_in", "'all'", "everywhere")),
    "a wrong start_in": (lambda: parser(start_in="middle"), ("start_in", "'middle'", "'content'")),
    "a wrong trust": (lambda: parser(trust="me"), ("trust", "'me'", "either")),
    "a wrong reasoning": (lambda: parser(reasoning="qwen4"), ("'qwen4'", "'qwen")),
    "a wrong white_space": (lambda: parser(white_space="strip"), ("white_space", "'strip'", "trim")),
    "unknown_tools": (lambda: parser(unknown_tools="drop"), ("unknown_tools", "'drop'", "drop-with-report")),
    "a negative limit": (lambda: parser(max_calls=-1), ("max_calls", "-1")),
    "a text as a limit": (lambda: parser(max_calls="many"), ("max_calls", "str", "int")),
    "too deep": (lambda: parser(max_depth=5000), ("max_depth", "5000", "512")),
    "a text as a flag": (lambda: parser(repair="yes"), ("repair", "str", "bool")),
    "reasoning_field": (lambda: parser(reasoning_field="thinking"), ("reasoning_field", "'thinking'", "reasoning_content")),
    "also without a format": (lambda: parser(tools=TOOLS, also="nope"), ("'nope'", "unspool formats")),
    "a tool that is not offered": (lambda: parser(tools=TOOLS, tool_choice="g"), ("tool_choice", "'g'", "required")),
    "tool_choice without a name": (lambda: parser(tools=TOOLS, tool_choice={"type": "function"}), ("tool_choice", "name")),
    "tools as one dict": (lambda: parser(tools=TOOLS[0]), ("tools", "list")),
    "tools as a text": (lambda: parser(tools="f"), ("tools", "list")),
    "tools as numbers": (lambda: parser(tools=[5]), ("tools[0]", "int", "dict")),
    "a tool without a name": (lambda: parser(tools=[{"type": "function", "function": {}}]), ("tools[0]", "name")),
    "labels without a tokenizer": (lambda: parser(labels=True), ("labels", "tokenizer")),
    "ids without a tokenizer": (lambda: parser().parse_chunk(tokens=[1]), ("tokenizer",)),
    "a tokenizer's name": (lambda: parser(tokenizer="Qwen/Qwen3-8B"), ("'Qwen/Qwen3-8B'", "Vocabulary.from_file")),
    "a number as a tokenizer": (lambda: parser(tokenizer=5), ("int", "tokenizers.Tokenizer")),
    # Chunks.
    "swapped arguments of parse": (lambda: unspool.parse("hermes", LONG), ("swapped",)),
    "an output as a format": (lambda: unspool.Parser(LONG), ("unknown format", "characters")),
    "a dict as a chunk": (lambda: parser().parse_chunk({"text": "x"}), ("text", "dict", "str")),  # type: ignore[arg-type]
    "a number as a chunk": (lambda: parser().parse_chunk(5), ("text", "int", "str")),  # type: ignore[arg-type]
    "a wrong finish reason": (lambda: parser().finish("done"), ("finish_reason", "'done'", "stop")),
    "a number as a finish reason": (lambda: parser().finish(5), ("finish_reason", "int", "'stop'")),  # type: ignore[arg-type]
    "a chunk after the end": (lambda: (p := parser(), p.finish(), p.parse_chunk("x")), ("ended",)),
    "a wrong argument's name": (lambda: parser().parse_chunk(txt="x"), ("'txt'", "text, tokens")),  # type: ignore[call-arg]
    "a text as ids": (lambda: streamer().put("Hi"), ("ids", "str", "list of ints")),
    "a negative id": (lambda: streamer().put(-1), ("-1",)),
    "a float id": (lambda: streamer().put([1.5]), ("float", "int")),
    "two rows": (lambda: streamer().put([[1], [2]]), ("list", "int")),
    "rollback without a window": (lambda: streamer().rollback(1), ("rollback_window",)),
    "a text as a count": (lambda: streamer(rollback_window=4).rollback("1"), ("count", "str", "int")),  # type: ignore[arg-type]
    "labels of a stream without": (lambda: streamer().labels(), ("labels=True",)),
    "no snapshot": (lambda: unspool.Parser.restore(b"abc", "hermes"), ("snapshot",)),
    "a short key": (lambda: parser().snapshot(key=b"abc"), ("key", "16")),
    "outputs as a text": (lambda: unspool.parse_batch("Hi", "hermes"), ("outputs", "list")),
    "an output as a number": (lambda: unspool.parse_batch(["a", 1.5], "hermes"), ("outputs[1]", "float", "text")),
    "no threads": (lambda: unspool.parse_batch(["a"], "hermes", threads=0), ("threads", "0", "1")),
    # A batch.
    "a slot that is free": (lambda: batch().step([3], [1]), ("3", "slot")),
    "a slot twice": (lambda: (b := batch(), s := b.add(), b.step([s, s], [1, 2])), ("twice", "0")),
    "fewer ids": (lambda: (b := batch(), s := b.add(), b.step([s], [])), ("1", "0")),
    "a text as slots": (lambda: batch().step("0", [1]), ("slots", "str", "int32")),
    "a misspelt option of a slot": (lambda: batch().add(repiar=True), ("'repiar'", "'repair'")),
    "a text as a slot": (lambda: batch().finish("a"), ("slot", "'a'", "int")),
    "no writer": (lambda: batch().add(writer=5), ("writer", "int", "WireWriter")),
    "a batch without a tokenizer": (lambda: unspool.StreamBatch(None, "hermes"), ("tokenizer", "None")),
    # Channels.
    "a text in a channel": (lambda: unspool.DeltaChannel().put("x"), ("Delta", "str")),  # type: ignore[arg-type]
    "a text as a size": (lambda: unspool.DeltaChannel("big"), ("maxsize", "'big'", "int")),  # type: ignore[arg-type]
    "a negative size": (lambda: unspool.DeltaChannel(-1), ("maxsize", "-1")),
    "a text as a timeout": (lambda: unspool.DeltaChannel().get("1"), ("timeout", "'1'", "float")),  # type: ignore[arg-type]
    "no channel": (lambda: streamer(channel=[]), ("channel", "list", "DeltaChannel")),
    "a text as an error": (lambda: unspool.DeltaChannel().fail("x"), ("exception", "str")),  # type: ignore[arg-type]
    # Wires.
    "no protocol": (unspool.WireWriter, ("protocol", "model")),  # type: ignore[call-arg]
    "no model": (lambda: unspool.WireWriter("messages"), ("model",)),  # type: ignore[call-arg]
    "a wrong protocol": (lambda: unspool.WireWriter("chat", model="m"), ("'chat'", "chat_completions")),
    "a misspelt option of a writer": (lambda: writer(include_usages=True), ("'include_usages'", "'include_usage'")),
    "a number as usage": (lambda: writer().end(5), ("usage", "int", "dict")),  # type: ignore[arg-type]
    "no answers": (lambda: writer(n=0), ("n ", "0", "1")),
    "an extra of the writer's own": (lambda: writer(extra={"choices": 1}), ("extra", "choices")),
    "a text as deltas": (lambda: writer().write("Hi"), ("Delta", "str")),  # type: ignore[arg-type]
    "a wrong choice": (lambda: writer().add_logprobs(3, []), ("choice", "3")),
    "logprobs without a tuple": (lambda: writer().add_logprobs(0, [-0.1]), ("WireWriter", "-0.1")),  # type: ignore[list-item]
    "logprobs above 0": (lambda: writer().add_logprobs(0, [("a", 0.5)]), ("log-probability", "above 0")),
    "an end too soon": (lambda: writer().end(), ("choice 0", "finish")),
    "a wrong kind": (lambda: unspool.Delta("text"), ("kind", "'text'", "content")),
    "a number as a span": (lambda: unspool.Delta("content", token_span=5), ("token_span", "5 (int)", "(begin, end)")),  # type: ignore[arg-type]
    "deltas as a number": (lambda: unspool.DeltaChannel().put_many(5), ("deltas", "5 (int)", "iterable")),  # type: ignore[arg-type]
    "a method without an object": (unspool.DeltaChannel.put, ("DeltaChannel.put", "'self' and 'delta'")),  # type: ignore[call-arg]
    "numbers as a detokenizer's stop": (lambda: unspool.Detokenizer(VOCABULARY, stop=[5]), ("stop", "[5]", "list of str")),  # type: ignore[list-item]
    "a wrong value of several constructors": (lambda: unspool.FormatFile(text=5), ("FormatFile", "5")),  # type: ignore[call-overload]
    "a number as an added token": (lambda: VOCABULARY.find_added(5), ("Vocabulary.find_added", "content is 5", "a str")),  # type: ignore[arg-type]
    "a misspelt attribute": (lambda: unspool.Delta("content", txt="x"), ("'txt'", "Delta")),  # type: ignore[call-arg]
    # Render, grammar, labels, detection.
    "a text as a message": (lambda: format_file().render("Hi"), ("message", "str", "dict")),  # type: ignore[arg-type]
    "a wrong syntax": (lambda: format_file().grammar(TOOLS, syntax="bnf"), ("syntax", "'bnf'", "lark")),  # type: ignore[arg-type]
    "a misspelt option of a grammar": (lambda: format_file().grammar(TOOLS, tool_choise="f"), ("'tool_choise'", "'tool_choice'")),  # type: ignore[call-arg]
    "a grammar for another tool": (lambda: format_file().grammar(TOOLS, tool_choice="g"), ("'g'",)),
    "choice as a text": (lambda: format_file().grammar(choice="yes"), ("choice", "str", "list")),
    "a mask without labels": (lambda: unspool.loss_mask(parser().parse("Hi").labels), ("labels", "labels=True")),  # type: ignore[arg-type]
    "a message as labels": (lambda: unspool.loss_mask(parser().parse("Hi")), ("labels", "message.labels")),  # type: ignore[arg-type]
    "a wrong region": (lambda: unspool.loss_mask(labels(), train=("contents",)), ("'contents'", "content")),  # type: ignore[arg-type]
    "a negative prompt": (lambda: unspool.loss_mask(labels(), prompt=-1), ("prompt", "-1")),
    "detect a path": (lambda: unspool.detect("/nope/model"), ("/nope/model",)),
    "detect nothing": (unspool.detect, ("nothing to detect from", "tokenizer")),
    "detect a number": (lambda: unspool.detect(5), ("5", "int")),
    "learn from a missing file": (lambda: unspool.learn(Path("/nope.jinja")), ("Path", "template")),
    "a wrong vocabulary file": (lambda: unspool.Vocabulary.from_file("/nope.json"), ("/nope.json",)),
    "a vocabulary without tokens": (unspool.Vocabulary, ("tokens",)),  # type: ignore[call-arg]
    "an id as a text": (lambda: VOCABULARY.content("a"), ("id", "'a'", "int")),  # type: ignore[arg-type]
    "sampling, misspelt": (lambda: unspool.SamplingParams(temprature=1), ("'temprature'", "temperature")),  # type: ignore[call-arg]
    "sampling, out of bounds": (lambda: unspool.SamplingParams(temperature=-1), ("temperature", "-1")),
    "generate without a model": (lambda: unspool.generate("gpt2", "x"), ("'messages_or_prompt'",)),  # type: ignore[call-arg]
    # Files.
    "a file that is no TOML": (lambda: read("name = "), ("mine.toml:1:8", "TOML")),
    "a misspelt key": (lambda: read('name = "x"\ncal = "<a>${object}</a>"'), ("mine.toml:2:1", "cal: unknown key", "call,")),
    "no hole": (lambda: read('name = "x"\ncall = "<a></a>"'), ("mine.toml", "call")),
    "an unknown hole": (lambda: read('name = "x"\ncall = "<a>${objekt}</a>"'), ("objekt", "object,")),
    "no name": (lambda: read('call = "<a>${object}</a>"'), ("mine.toml", "name")),
    # The command line.
    "learn nope.jinja": (lambda: run("learn", "nope.jinja"), ("nope.jinja", "no such file")),
    "serve nope/x": (lambda: run("serve", "./nope/x"), ("nope/x", "no folder")),
    "serve a repository without a network": (lambda: run("serve", "nope/x"), ("nope/x",)),
    "check a bad file": (check_bad, ("sub/bad.toml:2:1",)),
    "serve --port 99999": (lambda: run("serve", "./nope", "--port", "99999"), ("99999", "65535")),
    "check nope.toml": (lambda: run("check", "sub/nope.toml"), ("sub/nope.toml",)),
    "parse without a format": (lambda: run("parse", "nope"), ("--format",)),
    "a misspelt command": (lambda: run("lern", "x"), ("lern", "learn")),
    "a misspelt option of a command": (lambda: run("serve", "x", "--prot", "80"), ("--prot", "--port")),
}  # fmt: skip


def show(name: str) -> str:
    try:
        result = WRONG[name][0]()
    except BaseException as error:
        text = (
            str(error) if len(str(error)) < 1500 else f"{str(error)[:300]} … ({len(str(error)):,} characters)"
        )
        return f"{type(error).__name__}: {text}"
    return f"NO ERROR: {str(result)[:80]}"


if __name__ == "__main__":
    for name in WRONG:
        print(f"## {name}\n{show(name)}\n")
