"""The settings of the server and of its command. Each stands once, in one of these tables.

To add a setting, add a field. Its check, the command's option, the variable and the key in the configuration file come from
the field. Then run `python docs/make_command_line.py`, which writes the documentation.
"""

# ruff: noqa: RUF009 (`setting` makes a field, as `dataclasses.field` does)

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unspool.core.stream.stream_options import PARSER_OPTIONS, IncompleteCalls, ReasoningField, StopIn
from unspool.errors import ArgumentError
from unspool.serve.models.engine_kind import EngineKind
from unspool.serve.setting_table import check_settings, describe, fields_of, setting

__all__ = ["ListenOptions", "ModelOptions", "ServeOptions"]


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The server's settings.

    Raises:
        ArgumentError: A value is out of its range.
    """

    api_keys: Sequence[str] = setting(
        (), "A key that clients must send. May be repeated.", "Without keys, no key is needed."
    )
    max_workers: int = setting(
        10,
        "Answers generated at the same time. Default: 10, or 1024 with an engine.",
        least=1,
        shows_default=False,
    )
    max_queue: int = setting(100, "Requests that may wait; further ones get 429.", least=0)
    retry_after_s: int = setting(1, "Seconds that a rejected client should wait (`Retry-After`).", flag="")
    keep_alive_s: float = setting(
        15.0,
        "Seconds without a delta until a comment is sent, so that proxies keep the connection.",
        above=0,
        flag="",
    )
    reasoning_field: ReasoningField = setting(
        PARSER_OPTIONS["reasoning_field"].default, "The field of reasoning in chat completions."
    )
    reasoning_events: Literal["summary", "text"] = setting(
        "summary",
        "The form in which the Responses API sends reasoning.",
        "All clients show a summary; LangChain and Vercel's AI SDK drop text.",
    )
    allowed_origins: Sequence[str] = setting(
        (), "An origin whose pages may call the server; '*' for all. May be repeated."
    )
    allowed_hosts: Sequence[str] = setting(
        (),
        "Another name to accept in Host; '*' for all. On loopback, others get 403.",
        "On another address the server accepts every name, unless this is set.",
    )
    max_body_bytes: int = setting(8 * 1024 * 1024, "A longer body gets 413.", least=1)
    max_header_bytes: int = setting(64 * 1024, "Longer headers get 431.", least=1)
    max_items: int = setting(
        10_000,
        "Limit of messages and parts, and of tools, in a request.",
        "A request with more gets 413.",
        least=1,
    )
    read_timeout_s: float = setting(
        60.0,
        "Seconds to receive a request.",
        "They count for the headers, and again for the body; a slower client gets 408.",
        above=0,
    )
    prepare_timeout_s: float = setting(
        30.0,
        "Seconds to prepare the prompt and the grammar, before the model runs.",
        "A request that takes longer gets 504 (`prepare_timeout`).",
        above=0,
    )
    drain_timeout_s: float = setting(
        30.0,
        "Seconds in which running answers must end when the server stops.",
        "The others end with an error event.",
        least=0,
    )
    stream_timeout_s: float | None = setting(
        None, "Seconds without a token after which a request fails.", "None: no limit.", above=0
    )
    flush_ms: float = setting(
        0.0,
        "Milliseconds to gather deltas before they are sent together.",
        "The first delta is sent at once. 0: each delta is sent at once.",
        least=0,
        most=10_000,
        shows_default=False,
    )
    incomplete_calls: IncompleteCalls = setting(
        PARSER_OPTIONS["incomplete_calls"].default,
        "Whether clients get the beginning of a call that is cut off or malformed.",
        "A request may override it.",
    )
    stop_in: StopIn = setting(
        PARSER_OPTIONS["stop_in"].default,
        "The text in which stop strings count: the content, or also reasoning and calls.",
        "A request may override it.",
    )
    strict_markers: bool = setting(
        PARSER_OPTIONS["strict_markers"].default,
        "Markers count only as tokens, or inside what a token opens.",
        "Models that replay text, such as the demo, do not support this.",
    )
    response_store_mb: float = setting(
        0.0, "Megabytes for responses that clients may request again or continue; 0: none.", least=0
    )
    response_store_age_s: float = setting(3600.0, "Seconds until these responses are deleted.", above=0)
    strict_requests: bool = setting(
        False,
        "Reject requests with fields that would be ignored, such as unknown fields.",
        "An effort without a switch in the model is such a field too.",
    )
    record: str | None = setting(
        None,
        "A folder for records of the answers, without the users' texts; see `unspool replay`.",
        "There is one file for each answer, without headers. None: no records.",
    )
    record_mb: float = setting(
        256.0,
        "Megabytes that these files may take together.",
        "At least 1. The oldest files are deleted first.",
    )
    record_texts: bool = setting(False, "Record the requests with the users' texts.")

    def __post_init__(self) -> None:
        for name in ("api_keys", "allowed_origins", "allowed_hosts"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, (value,))
        if not all(self.api_keys):
            raise ArgumentError("an API key is empty; leave it out, or give it a value")
        check_settings(self)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The command's settings for the model that it serves."""

    engine_urls: Sequence[str] = setting(
        (),
        "The URL of an engine that runs the model. Repeat it for engines that run the same model.",
        flag="--engine",
    )
    kind: EngineKind | None = setting(None, "The kind of engine. By default, the server asks the engine.")
    tokenizer: str | None = setting(
        None, "The model's folder, GGUF file or repository, if the engine does not provide the tokenizer."
    )
    engine_model: str | None = setting(
        None, "The model's name in the engine, if the engine serves several models."
    )
    engine_api_key: str | None = setting(None, "The API key to send to the engine.")
    demo: bool = setting(
        False, "Replay the formats' cases, without a model. Each format is served as a model of its name."
    )
    name: str | None = setting(None, "The model's name for clients. Default: the last part of its path.")
    format: str = setting("auto", "The format that the model writes.")
    reasoning: str | None = setting(None, "Another format, whose reasoning is read instead; 'none' for none.")
    also: Sequence[str] = setting(
        (), "Another format whose calls are read too; 'any' for all. May be repeated."
    )
    backend: Literal["transformers", "native", "batched"] = setting(
        "transformers",
        "The code that runs the model. 'batched' shares steps between requests and caches their prompts.",
    )
    cache_tokens: int | None = setting(
        None, "The size of the cache of 'batched', in tokens of prompts and answers."
    )
    device: str | None = setting(None, "The model's device, such as cuda. Default: where it is loaded.")
    dtype: str = setting("auto", "The weights' type, such as bfloat16.")
    gguf_file: str | None = setting(None, "The GGUF file in the model's folder.")
    chat_template: str | None = setting(None, "A file with a chat template, which replaces the model's own.")
    trust_template: bool = setting(
        False, "Render the model's own chat template in the server's process, without limits."
    )
    max_new_tokens: int = setting(2048, "The limit for requests that set none.")
    delay: float = setting(
        0.0, "With --demo: seconds for each token.", shows_default=False, after="record_texts"
    )


@dataclass(frozen=True, kw_only=True)
class ListenOptions:
    """The command's settings for its address, its processes and its log."""

    host: str = setting("127.0.0.1", "The address to listen on.")
    port: int = setting(11556, "The port; 0 chooses a free one.", least=0, most=65535)
    metrics_port: int = setting(
        -1,
        "Another port for the metrics. -1: serve them only at /metrics.",
        least=-1,
        most=65535,
        shows_default=False,
    )
    workers: int = setting(
        1, "Processes on one socket. Each loads the models and has its own limits.", least=1, after="api_keys"
    )
    log_level: str = setting(
        "info", "The level of the log: critical, error, warning, info, debug or trace.", after="delay"
    )
    ssl_keyfile: str | None = setting(
        None, "The PEM file with the private key, for HTTPS.", after="log_level"
    )
    ssl_certfile: str | None = setting(
        None, "The PEM file with the certificate, for HTTPS.", after="ssl_keyfile"
    )


# For `help(ServeOptions)`.
ServeOptions.__doc__ = f"{inspect.getdoc(ServeOptions)}\n\nAttributes:\n" + "".join(
    f"    {field.name}: {describe(field)}\n" for field in fields_of(ServeOptions)
)
