"""The settings of the server and of its command. Each stands once, in one of these tables.

To add a setting, add a field. Its check, the command's option, the variable and the key in the configuration file come from
the field. Then run `python docs/make_command_line.py`, which writes the documentation.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from unspool.core.stream.stream_options import PARSER_OPTIONS, IncompleteCalls, ReasoningField, StopIn
from unspool.errors import ArgumentError
from unspool.serve.models.engine_kind import EngineKind
from unspool.serve.setting_table import Setting, check_settings, describe, fields_of

__all__ = ["ListenOptions", "ModelOptions", "ServeOptions"]


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The server's settings.

    Raises:
        ArgumentError: A value is out of its range.
    """

    api_keys: Annotated[
        Sequence[str],
        Setting("A key that clients must send. May be repeated.", "Without keys, no key is needed."),
    ] = ()
    max_workers: Annotated[
        int,
        Setting(
            "Answers generated at the same time. Default: 10, or 1024 with an engine.",
            least=1,
            shows_default=False,
        ),
    ] = 10
    max_queue: Annotated[int, Setting("Requests that may wait; further ones get 429.", least=0)] = 100
    retry_after_s: Annotated[
        int, Setting("Seconds that a rejected client should wait (`Retry-After`).", flag="")
    ] = 1
    keep_alive_s: Annotated[
        float,
        Setting(
            "Seconds without a delta until a comment is sent, so that proxies keep the connection.",
            above=0,
            flag="",
        ),
    ] = 15.0
    reasoning_field: Annotated[ReasoningField, Setting("The field of reasoning in chat completions.")] = (
        PARSER_OPTIONS["reasoning_field"].default
    )
    reasoning_events: Annotated[
        Literal["summary", "text"],
        Setting(
            "The form in which the Responses API sends reasoning.",
            "All clients show a summary; LangChain and Vercel's AI SDK drop text.",
        ),
    ] = "summary"
    allowed_origins: Annotated[
        Sequence[str],
        Setting("An origin whose pages may call the server; '*' for all. May be repeated."),
    ] = ()
    allowed_hosts: Annotated[
        Sequence[str],
        Setting(
            "Another name to accept in Host; '*' for all. On loopback, others get 403.",
            "On another address the server accepts every name, unless this is set.",
        ),
    ] = ()
    max_body_bytes: Annotated[int, Setting("A longer body gets 413.", least=1)] = 8 * 1024 * 1024
    max_header_bytes: Annotated[int, Setting("Longer headers get 431.", least=1)] = 64 * 1024
    max_items: Annotated[
        int,
        Setting(
            "Limit of messages and parts, and of tools, in a request.",
            "A request with more gets 413.",
            least=1,
        ),
    ] = 10_000
    read_timeout_s: Annotated[
        float,
        Setting(
            "Seconds to receive a request.",
            "They count for the headers, and again for the body; a slower client gets 408.",
            above=0,
        ),
    ] = 60.0
    prepare_timeout_s: Annotated[
        float,
        Setting(
            "Seconds to prepare the prompt and the grammar, before the model runs.",
            "A request that takes longer gets 504 (`prepare_timeout`).",
            above=0,
        ),
    ] = 30.0
    drain_timeout_s: Annotated[
        float,
        Setting(
            "Seconds in which running answers must end when the server stops.",
            "The others end with an error event.",
            least=0,
        ),
    ] = 30.0
    stream_timeout_s: Annotated[
        float | None,
        Setting("Seconds without a token after which a request fails.", "None: no limit.", above=0),
    ] = None
    flush_ms: Annotated[
        float,
        Setting(
            "Milliseconds to gather deltas before they are sent together.",
            "The first delta is sent at once. 0: each delta is sent at once.",
            least=0,
            most=10_000,
            shows_default=False,
        ),
    ] = 0.0
    incomplete_calls: Annotated[
        IncompleteCalls,
        Setting(
            "Whether clients get the beginning of a call that is cut off or malformed.",
            "A request may override it.",
        ),
    ] = PARSER_OPTIONS["incomplete_calls"].default
    stop_in: Annotated[
        StopIn,
        Setting(
            "The text in which stop strings count: the content, or also reasoning and calls.",
            "A request may override it.",
        ),
    ] = PARSER_OPTIONS["stop_in"].default
    strict_markers: Annotated[
        bool,
        Setting(
            "Markers count only as tokens, or inside what a token opens.",
            "Models that replay text, such as the demo, do not support this.",
        ),
    ] = PARSER_OPTIONS["strict_markers"].default
    response_store_mb: Annotated[
        float,
        Setting("Megabytes for responses that clients may request again or continue; 0: none.", least=0),
    ] = 0.0
    response_store_age_s: Annotated[float, Setting("Seconds until these responses are deleted.", above=0)] = (
        3600.0
    )
    strict_requests: Annotated[
        bool,
        Setting(
            "Reject requests with fields that would be ignored, such as unknown fields.",
            "An effort without a switch in the model is such a field too.",
        ),
    ] = False
    record: Annotated[
        str | None,
        Setting(
            "A folder for records of the answers, without the users' texts; see `unspool replay`.",
            "There is one file for each answer, without headers. None: no records.",
        ),
    ] = None
    record_mb: Annotated[
        float,
        Setting(
            "Megabytes that these files may take together.", "At least 1. The oldest files are deleted first."
        ),
    ] = 256.0
    record_texts: Annotated[bool, Setting("Record the requests with the users' texts.")] = False

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

    engine_urls: Annotated[
        Sequence[str],
        Setting(
            "The URL of an engine that runs the model. Repeat it for engines that run the same model.",
            flag="--engine",
        ),
    ] = ()
    kind: Annotated[
        EngineKind | None, Setting("The kind of engine. By default, the server asks the engine.")
    ] = None
    tokenizer: Annotated[
        str | None,
        Setting("The model's folder, GGUF file or repository, if the engine does not provide the tokenizer."),
    ] = None
    engine_model: Annotated[
        str | None, Setting("The model's name in the engine, if the engine serves several models.")
    ] = None
    engine_api_key: Annotated[str | None, Setting("The API key to send to the engine.")] = None
    demo: Annotated[
        bool,
        Setting("Replay the formats' cases, without a model. Each format is served as a model of its name."),
    ] = False
    name: Annotated[
        str | None, Setting("The model's name for clients. Default: the last part of its path.")
    ] = None
    format: Annotated[str, Setting("The format that the model writes.")] = "auto"
    reasoning: Annotated[
        str | None, Setting("Another format, whose reasoning is read instead; 'none' for none.")
    ] = None
    also: Annotated[
        Sequence[str],
        Setting("Another format whose calls are read too; 'any' for all. May be repeated."),
    ] = ()
    backend: Annotated[
        Literal["transformers", "native", "batched"],
        Setting(
            "The code that runs the model. 'batched' shares steps between requests and caches their prompts."
        ),
    ] = "transformers"
    cache_tokens: Annotated[
        int | None, Setting("The size of the cache of 'batched', in tokens of prompts and answers.")
    ] = None
    device: Annotated[
        str | None, Setting("The model's device, such as cuda. Default: where it is loaded.")
    ] = None
    dtype: Annotated[str, Setting("The weights' type, such as bfloat16.")] = "auto"
    gguf_file: Annotated[str | None, Setting("The GGUF file in the model's folder.")] = None
    chat_template: Annotated[
        str | None, Setting("A file with a chat template, which replaces the model's own.")
    ] = None
    trust_template: Annotated[
        bool,
        Setting("Render the model's own chat template in the server's process, without limits."),
    ] = False
    max_new_tokens: Annotated[int, Setting("The limit for requests that set none.")] = 2048
    delay: Annotated[
        float, Setting("With --demo: seconds for each token.", shows_default=False, after="record_texts")
    ] = 0.0


@dataclass(frozen=True, kw_only=True)
class ListenOptions:
    """The command's settings for its address, its processes and its log."""

    host: Annotated[str, Setting("The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Setting("The port; 0 chooses a free one.", least=0, most=65535)] = 11556
    metrics_port: Annotated[
        int,
        Setting(
            "Another port for the metrics. -1: serve them only at /metrics.",
            least=-1,
            most=65535,
            shows_default=False,
        ),
    ] = -1
    workers: Annotated[
        int,
        Setting(
            "Processes on one socket. Each loads the models and has its own limits.",
            least=1,
            after="api_keys",
        ),
    ] = 1
    log_level: Annotated[
        str,
        Setting("The level of the log: critical, error, warning, info, debug or trace.", after="delay"),
    ] = "info"
    ssl_keyfile: Annotated[
        str | None, Setting("The PEM file with the private key, for HTTPS.", after="log_level")
    ] = None
    ssl_certfile: Annotated[
        str | None, Setting("The PEM file with the certificate, for HTTPS.", after="ssl_keyfile")
    ] = None


# For `help(ServeOptions)`.
ServeOptions.__doc__ = f"{inspect.getdoc(ServeOptions)}\n\nAttributes:\n" + "".join(
    f"    {field.name}: {describe(field)}\n" for field in fields_of(ServeOptions)
)
