"""The options of `unspool serve`, made from the tables of settings.

Each is a flag, a variable and a key of the configuration file: --max-queue, UNSPOOL_MAX_QUEUE and max-queue.
"""

from __future__ import annotations

from typing import Any

import click

from unspool.serve.command.config_file import read_config_file
from unspool.serve.setting_table import SettingField, fields_of
from unspool.serve.settings import ListenOptions, ModelOptions, ServeOptions

__all__ = ["engines_of_file", "make_options"]

# Where the file's engines are kept for the command.
_ENGINES = "unspool.engines"


def make_options() -> list[click.Parameter]:
    """Return the parameters of the command, in the order of its help."""
    config = click.Option(
        ["--config"],
        envvar="UNSPOOL_CONFIG",
        callback=_read_config,
        is_eager=True,
        expose_value=False,
        help="A TOML file with any of these options.",
    )
    model = click.Argument(["model"], required=False, envvar="UNSPOOL_MODEL")
    # `ServeOptions` checks its numbers itself.
    return [model, config, *(_option(field, field not in fields_of(ServeOptions)) for field in _ordered())]


def _ordered() -> list[SettingField]:
    tables = (ModelOptions, ListenOptions, ServeOptions)
    fields = [field for table in tables for field in fields_of(table) if field.flag]
    for field in [field for field in fields if field.setting.after]:
        fields.remove(field)
        before = next(item for item in fields if item.name == field.setting.after)
        fields.insert(fields.index(before) + 1, field)
    return fields


def _option(field: SettingField, checks_range: bool) -> click.Option:
    setting = field.setting
    kind: Any = field.kind
    if field.choices:
        kind = click.Choice(field.choices)
    elif checks_range and setting.least is not None:
        kind = click.IntRange(setting.least, setting.most)
    return click.Option(
        [field.flag, field.name],
        envvar=f"UNSPOOL_{field.flag[2:].replace('-', '_').upper()}",
        type=kind,
        is_flag=kind is bool,
        multiple=field.is_many,
        default=field.default if setting.shows_default and not field.is_many else None,
        show_default=setting.shows_default and kind is not bool,
        help=setting.help,
    )


def _read_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Make the options in a file the defaults, which flags and the environment override."""
    if path is None:
        return
    params = [param for param in context.command.params if param.name not in (None, "help")]
    names = {max(param.opts, key=len).lstrip("-"): param for param in params if param.opts != ["--config"]}
    options = read_config_file(path, names)
    context.meta[_ENGINES] = options.pop("engines", None)
    context.default_map = {
        names[key].name or key: [value] if names[key].multiple and isinstance(value, str) else value
        for key, value in options.items()
    }


def engines_of_file(context: click.Context) -> Any:
    """Return the table of engines in the configuration file; None: it has none."""
    return context.meta.get(_ENGINES)
