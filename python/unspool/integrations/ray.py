"""Ray: a Serve application that streams, and a Data stage that parses. See docs/ray.md."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from unspool.core.needs import needs

with needs("ray"):
    import pyarrow as pa
    from ray import serve
    from ray.data import ActorPoolStrategy

from unspool._core import Format, ToolSchemas
from unspool.core.stream.message import Message
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile
from unspool.streams.parse_batch import BatchParser

if TYPE_CHECKING:
    from ray.data import Dataset
    from ray.serve import Application
    from starlette.applications import Starlette
    from starlette.types import Message as AsgiMessage
    from starlette.types import Receive, Scope, Send

    from unspool.serve import ServeOptions

__all__ = ["CompletionParser", "parse_completions", "serve_app"]

ToolCallsAs = Literal["structs", "json"]


def serve_app(
    models: Callable[[], Mapping[str, Any]] | Mapping[str, Any],
    options: ServeOptions | None = None,
    *,
    name: str = "unspool",
    num_replicas: int | Literal["auto"] = 1,
    **deployment: Any,
) -> Application:
    """Build a Ray Serve application with the server's API (docs/server.md), for `serve.run`.

    Each replica is a complete server with its own models, which are loaded before it receives requests. An
    answer names its replica in the header `x-unspool-replica`.

    Args:
        models: A function that returns models by name, as for `unspool.serve.create_app`; it runs in each
            replica. Or the models themselves, if they can be pickled.
        options: The settings of each replica. By default, `max_workers` and `max_queue` also limit how many
            requests Ray sends to a replica and how many requests wait for one; `max_ongoing_requests` and
            `max_queued_requests` override that.
        name: The deployment's name.
        num_replicas: The number of replicas; "auto" with an `autoscaling_config`.
        deployment: Further options of `ray.serve.deployment`, such as `ray_actor_options`.

    Raises:
        ArgumentError: `models` is neither a mapping nor a function.
        ImportError: The server's packages are missing: `pip install 'unspool[serve]'`.
    """
    from unspool.serve import ServeOptions  # imported here because a Data job does not need it

    if not callable(models) and not isinstance(models, Mapping):
        raise ArgumentError(
            f"models is of type {type(models).__name__}; pass a function that gives models by name"
        )
    options = options or ServeOptions()
    deployment.setdefault("max_ongoing_requests", options.max_workers)
    deployment.setdefault("max_queued_requests", options.max_queue)
    ingress = serve.ingress(_ReplicaApp(models, options))(type("UnspoolReplica", (), {}))
    application: Application = serve.deployment(
        ingress, name=name, num_replicas=num_replicas, **deployment
    ).bind()
    return application


class _ReplicaApp:
    """An ASGI application that can be pickled, because it is created at the first call.

    The first call is that of ASGI's lifespan; Ray waits for it before it sends requests.
    """

    def __init__(self, models: Any, options: ServeOptions) -> None:
        self._models = models
        self._options = options
        self._app: Starlette | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from unspool.serve import create_app

        if self._app is None:
            models = self._models
            if callable(models) and not isinstance(models, Mapping):
                models = await asyncio.to_thread(models)
            self._app = create_app(models, self._options)
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        replica = serve.get_replica_context().replica_id.unique_id.encode()

        async def named(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-unspool-replica", replica)]
            await send(message)

        await self._app(scope, receive, named)


def parse_completions(
    dataset: Dataset,
    format: str | FormatFile,
    column: str,
    *,
    workers: int | tuple[int, int] = 1,
    batch_size: int = 4096,
    map_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Dataset:
    """Parse the completions in a Ray dataset.

    The stage adds the columns `content`, `reasoning`, `tool_calls`, `finish_reason`, `malformed`, `dropped`,
    `token_counts` and `extra`; see docs/ray.md for their types. All are null if the completion is null.

    Args:
        dataset: The dataset with the completions; its columns are kept.
        format: As for `unspool.parse`.
        column: The column of texts, or of lists of token ids.
        workers: The number of actors; or a pair, the minimum and maximum size of a pool.
        batch_size: The number of rows that are parsed per native call.
        map_options: Further options of `Dataset.map_batches`, such as `num_cpus`.
        options: As for `CompletionParser`.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: As in `unspool.parse_batch`, before any work
            starts. Malformed model output never raises.
    """
    kwargs = {"format": format, "column": column, **options}
    CompletionParser(**kwargs)  # raises errors here, not later in a worker
    sizes = (
        {"size": workers}
        if isinstance(workers, int)
        else dict(zip(("min_size", "max_size"), workers, strict=True))
    )
    return dataset.map_batches(
        CompletionParser,
        fn_constructor_kwargs=kwargs,
        batch_format="pyarrow",
        batch_size=batch_size,
        zero_copy_batch=True,
        compute=ActorPoolStrategy(**sizes),
        **(map_options or {}),
    )


class CompletionParser:
    """The stage that `parse_completions` runs in each worker, with `batch_format="pyarrow"`.

    Args:
        format, tools: As for `unspool.parse_batch`.
        column: The column of texts, or of lists of token ids.
        finish_reason_column: The column with the finish reason of each generation; null means "stop". None:
            all are "stop".
        tokenizer: For token ids: anything that `Vocabulary.from_tokenizer` accepts and that can be pickled.
        tool_calls: "structs", or "json": each row's calls as the JSON of an OpenAI message's `tool_calls`.
        prefix: A prefix for the names of the new columns.
        threads: As for `unspool.parse_batch`; give the worker as many CPUs.
        options: Further options of the parser.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: As in `unspool.parse_batch`.
    """

    def __init__(
        self,
        format: str | FormatFile | Format,
        column: str,
        *,
        finish_reason_column: str | None = None,
        tools: Iterable[Any] | ToolSchemas | None = None,
        tokenizer: Any = None,
        tool_calls: ToolCallsAs = "structs",
        prefix: str = "",
        threads: int = 1,
        **options: Any,
    ) -> None:
        if tool_calls not in get_args(ToolCallsAs):
            raise ArgumentError(f"tool_calls is '{tool_calls}'; use 'structs' or 'json'")
        self._column = column
        self._finish_reason_column = finish_reason_column
        self._as_json = tool_calls == "json"
        self._prefix = prefix
        self._parser = BatchParser(format, tools, tokenizer=tokenizer, threads=threads, **options)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Add the columns of the messages to a batch."""
        column = _find(table, self._column)
        is_there = column.is_valid()
        reasons: Any = "stop"
        if self._finish_reason_column is not None:
            stated = _find(table, self._finish_reason_column).cast(pa.string())
            reasons = stated.fill_null("stop").filter(is_there)
        parsed = iter(self._parser.parse(column.drop_null(), reasons))
        messages = [next(parsed) if there else None for there in is_there.to_pylist()]
        for name, values in _columns(messages, self._as_json).items():
            if self._prefix + name in table.column_names:
                raise ArgumentError(f"there is a column '{self._prefix + name}' already; pass another prefix")
            table = table.append_column(self._prefix + name, values)
        return table


def _find(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise ArgumentError(f"there is no column '{name}'; this dataset has {', '.join(table.column_names)}")
    return table.column(name)


_CALL = {"id": pa.string(), "name": pa.string(), "arguments": pa.string(), "status": pa.string()}
_MALFORMED = {"text": pa.string(), "reason": pa.string(), "index": pa.int32()}
_COUNTS = ("content", "reasoning", "tool_calls")


def _columns(messages: list[Message | None], as_json: bool) -> dict[str, pa.Array]:
    """Build the new columns; null if there is no message."""

    def texts(read: Callable[[Message], str | None]) -> pa.Array:
        return pa.array([m and read(m) for m in messages], pa.string())

    def lists(read: Callable[[Message], tuple[Any, ...]], fields: dict[str, pa.DataType]) -> pa.Array:
        return _lists([None if m is None else read(m) for m in messages], fields)

    is_null = pa.array([m is None for m in messages], pa.bool_())
    counts = [
        pa.array([0 if m is None else getattr(m.token_counts, name) for m in messages], pa.int64())
        for name in _COUNTS
    ]
    return {
        "content": texts(lambda m: m.content),
        "reasoning": texts(lambda m: m.reasoning),
        "tool_calls": texts(_json_calls) if as_json else lists(lambda m: m.tool_calls, _CALL),
        "finish_reason": texts(lambda m: m.finish_reason),
        "malformed": lists(lambda m: m.malformed, _MALFORMED),
        "dropped": lists(lambda m: m.dropped, _MALFORMED),
        "token_counts": pa.StructArray.from_arrays(counts, _COUNTS, mask=is_null),
        "extra": texts(lambda m: json.dumps(m.extra, ensure_ascii=False) if m.extra else None),
    }


def _json_calls(message: Message) -> str:
    return json.dumps([call.to_openai() for call in message.tool_calls], ensure_ascii=False)


def _lists(rows: list[tuple[Any, ...] | None], fields: dict[str, pa.DataType]) -> pa.Array:
    """Build lists of structs field by field, because lists of dicts would take ten times as long."""
    items = [item for row in rows for item in row or ()]
    arrays = [pa.array([getattr(item, name) for item in items], type) for name, type in fields.items()]
    ends = [0, *itertools.accumulate(len(row or ()) for row in rows)]
    offsets = [None if row is None else begin for row, begin in zip(rows, ends, strict=False)]
    return pa.ListArray.from_arrays(
        pa.array([*offsets, ends[-1]], pa.int32()), pa.StructArray.from_arrays(arrays, list(fields))
    )
