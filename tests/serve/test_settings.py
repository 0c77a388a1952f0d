"""The options of `unspool serve`: flag, environment, file, default."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
from unspool.__main__ import cli, main
from unspool.serve import ApiServer, ServeOptions

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


def test_every_option_is_described() -> None:
    assert [param.name for param in SETTINGS if param.name != "model" and not param.help] == []
