"""The options of `unspool serve`: flag, environment, file, default."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from unspool import ArgumentError
from unspool.__main__ import cli, main
from unspool.serve import ApiServer, ServeOptions
from unspool.serve.setting_table import fields_of
from unspool.serve.settings import ListenOptions, ModelOptions

TABLES = (ModelOptions, ListenOptions, ServeOptions)

SETTINGS = [param for param in cli.commands["serve"].params if param.name != "help"]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`serve(…)` runs the command with a server that does not start: its options, and what `fire` is given."""
    seen: list[Any] = []
    monkeypatch.setattr(ApiServer, "__init__", lambda _, models, options: seen.extend([options]))  # noqa: ARG005
    monkeypatch.setattr(ApiServer, "fire", lambda _, *given: seen.append(given))

    def run(*arguments: str) -> tuple[ServeOptions, tuple[Any, ...]]:
        seen.clear()
        monkeypatch.setattr(sys, "argv", ["unspool", "serve", *arguments])
        main()
        options, fired = seen
        return options, fired

    return run


def test_flags_go_before_the_environment_before_the_file_before_defaults(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert serve("--demo")[0] == ServeOptions()
    file = tmp_path / "server.toml"
    file.write_text(
        'demo = true\nmax-queue = 1\nmax_workers = 2\nread-timeout = 3\nallowed-host = "a.example"\n'
    )
    options, _ = serve("--config", str(file))
    assert (options.max_queue, options.max_workers, options.read_timeout_s) == (1, 2, 3)
    assert tuple(options.allowed_hosts) == ("a.example",)
    monkeypatch.setenv("UNSPOOL_CONFIG", str(file))
    monkeypatch.setenv("UNSPOOL_MAX_QUEUE", "10")
    monkeypatch.setenv("UNSPOOL_MAX_WORKERS", "20")
    monkeypatch.setenv("UNSPOOL_API_KEY", "one two")
    monkeypatch.setenv("UNSPOOL_PORT", "1234")
    options, fired = serve("--max-queue", "100")
    assert (options.max_queue, options.max_workers, options.read_timeout_s) == (100, 20, 3)
    assert tuple(options.api_keys) == ("one", "two")
    assert fired[:2] == ("127.0.0.1", 1234)


def test_every_option_has_a_variable_of_its_name() -> None:
    for param in SETTINGS:
        name = max(param.opts, key=len).lstrip("-")
        assert param.envvar == f"UNSPOOL_{name.replace('-', '_').upper()}"


def test_every_setting_of_the_server_is_an_option() -> None:
    has_no_option = {"retry_after_s", "keep_alive_s"}
    names = {field.name for field in dataclasses.fields(ServeOptions)} - has_no_option
    assert names <= {param.name for param in SETTINGS}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max-qeue = 1", "has an unknown option 'max-qeue'; did you mean 'max-queue'?"),
        ("config = 'x'", "has an unknown option 'config'"),
        ("max-queue =", "cannot be read"),
        ("max-queue = 'many'", "many"),
        (None, "cannot be read"),
    ],
)
def test_a_wrong_file_is_one_line(
    tmp_path: Path, text: str | None, told: str, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.toml"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(sys, "argv", ["unspool", "serve", "--demo", "--config", str(file)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_workers": 0}, "max_workers is 0; it must be at least 1"),
        ({"max_queue": -1}, "max_queue is -1; it must be at least 0"),
        ({"drain_timeout_s": -1.0}, "drain_timeout_s is -1.0; pass seconds, 0 or more"),
        ({"response_store_mb": math.nan}, "response_store_mb is nan; pass megabytes, 0 or more"),
        ({"keep_alive_s": 0}, "keep_alive_s is 0; pass seconds above 0"),
        ({"flush_ms": 10_001}, "flush_ms is 10001; pass milliseconds, at most 10000"),
        ({"stream_timeout_s": 0}, "stream_timeout_s is 0; pass seconds above 0, or None"),
        ({"stop_in": "calls"}, "stop_in is 'calls'; use 'content' or 'everywhere'"),
        ({"reasoning_events": "all"}, "reasoning_events is 'all'; use 'summary' or 'text'"),
        ({"api_keys": ("a", "")}, "an API key is empty; leave it out, or give it a value"),
    ],
)
def test_a_value_out_of_its_range_is_named(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        ServeOptions(**options)
    assert str(raised.value) == told


def test_names_make_flags() -> None:
    flags = {field.name: field.flag for table in TABLES for field in fields_of(table)}
    assert flags["read_timeout_s"] == "--read-timeout"
    assert flags["api_keys"] == "--api-key"
    assert flags["flush_ms"] == "--flush-ms"
    assert flags["engine_urls"] == "--engine"
    assert flags["keep_alive_s"] == ""


def test_tables_share_no_name_and_accept_their_defaults() -> None:
    """The command's values are divided among the tables by name."""
    names = [field.name for table in TABLES for field in fields_of(table)]
    assert len(names) == len(set(names))
    for table in TABLES:
        defaults = {field.name: field.default for field in fields_of(table)}
        assert table() == table(**defaults)


def test_help_of_the_options_describes_each() -> None:
    text = inspect.getdoc(ServeOptions) or ""
    for field in fields_of(ServeOptions):
        assert f"    {field.name}: {field.setting.help}" in text


def test_every_option_is_described() -> None:
    assert [param.name for param in SETTINGS if param.name != "model" and not param.help] == []
