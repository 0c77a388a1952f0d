"""No method of a native class runs before `__init__` has."""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import unspool
from unspool import _core
from unspool.core.format.compile_format import compile_format

CLASSES = [value for value in vars(_core).values() if isinstance(value, type)]
CLEAN = (TypeError, AttributeError, ValueError, BufferError, unspool.UnspoolError)
# Static methods, and those of the class.
STATIC = {
    "parse",
    "from_tokenizer",
    "from_file",
    "from_tiktoken",
    "from_bytes",
    "from_response_template",
    "restore",
}


def make(cls: type) -> Any:
    return cls.__new__(cls)


def members(cls: type) -> list[str]:
    hidden = ("__new__", "__init__", "__doc__", "__module__")
    return [
        name for name in vars(cls) if name not in hidden and "pybind11" not in name and name not in STATIC
    ]


def calls(value: Any, name: str) -> list[Callable[[], Any]]:
    if not callable(getattr(type(value), name)):
        return [lambda: getattr(value, name)]
    given: list[tuple[Any, ...]] = [
        (),
        (None,),
        (b"x",),
        ("x",),
        (1,),
        ([1],),
        ([], 1),
        (None, None),
        ("x", 1),
    ]
    recipe = _core.StreamRecipe(compile_format("hermes"), {})
    given += [
        (_core.DeltaChannel(),),
        ((), "stop", 1, "reasoning"),
        (print, 0),
        (recipe, None, None, None, 0, False, None),
    ]
    return [lambda arguments=arguments: run(getattr(value, name)(*arguments)) for arguments in given]  # type: ignore[misc]


def error_of(call: Callable[[], Any]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error
    return None


def run(result: Any) -> None:
    if inspect.iscoroutine(result):
        asyncio.run(result)


def test_all_classes_are_here() -> None:
    names = {cls.__name__ for cls in CLASSES}
    assert names >= {"Vocabulary", "Detokenizer", "Format", "ToolSchemas", "TokenStreamer", "DeltaChannel"}
    assert names >= {"WireWriter", "StreamRecipe", "Delta"}
    assert names >= {"StreamBatch", "BatchResult"}
    assert all(members(cls) for cls in CLASSES if cls is not _core._BatchColumn)
    with pytest.raises(BufferError):
        memoryview(make(_core._BatchColumn))


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        pytest.param(cls, name, id=f"{cls.__name__}.{name}")
        for cls in [*CLASSES, unspool.Parser, unspool.TokenStreamer]
        for name in members(cls)
        if cls is not _core.Delta
    ],
)
def test_a_member_refuses(cls: type, name: str) -> None:
    errors = [error_of(call) for call in calls(make(cls), name)]
    assert all(isinstance(error, (type(None), *CLEAN)) for error in errors), errors
    is_refused = any("__init__" in str(error) or isinstance(error, AttributeError) for error in errors)
    assert is_refused or name.startswith("__"), f"{cls.__name__}.{name} ran"


def test_delta_is_made_whole() -> None:
    with pytest.raises(TypeError):
        make(_core.Delta)
    with pytest.raises(TypeError):
        object.__new__(_core.Delta)


def test_slots_refuse() -> None:
    channel, schemas = make(_core.DeltaChannel), make(_core.ToolSchemas)
    slots: list[Callable[[], Any]] = [
        lambda: len(channel), lambda: next(iter(channel)), lambda: bool(channel), lambda: len(schemas),
        lambda: "f" in schemas, lambda: repr(make(_core.Format)), lambda: repr(make(_core.Vocabulary)),
    ]  # fmt: skip
    for slot in slots:
        with pytest.raises(TypeError, match="__init__"):
            slot()


def test_an_argument_refuses() -> None:
    recipe = _core.StreamRecipe(compile_format("hermes"), {})
    uses: list[Callable[[], Any]] = [
        lambda: _core.StreamRecipe(make(_core.Format), {}),
        lambda: _core.TokenStreamer(make(_core.StreamRecipe)),
        lambda: unspool.Parser(make(_core.Format)),
        lambda: unspool.Parser("hermes", make(_core.ToolSchemas)),
        lambda: unspool.Parser("hermes", tokenizer=make(_core.Vocabulary)),
        lambda: unspool.Detokenizer(make(_core.Vocabulary)),
        lambda: _core._is_template(make(_core.Format)),
        lambda: _core._bind_template(make(_core.Format), []),
        lambda: unspool.WireWriter("chat_completions", model="m").drain(make(_core.DeltaChannel)),
        lambda: _core.TokenStreamer(recipe, channel=make(_core.DeltaChannel)),
    ]
    for use in uses:
        with pytest.raises(TypeError, match="__init__"):
            use()


def test_subclasses_refuse() -> None:
    class Early(unspool.Parser):
        def __init__(self) -> None:
            self.parse_chunk("too early")

    with pytest.raises(TypeError, match="__init__ of this object has not run"):
        Early()

    class Both(_core.StreamRecipe, _core.TokenStreamer):  # type: ignore[misc]
        pass

    both = Both.__new__(Both)
    with pytest.raises(TypeError, match="__init__"):
        both.parse_chunk("text")
    _core.TokenStreamer.__init__(both, _core.StreamRecipe(compile_format("hermes"), {}))
    assert [delta.text for delta in both.parse_chunk("text")] == ["text"]
    assert both.region == "content"
    with pytest.raises(TypeError, match="__init__"):
        both.parse((), "stop", 1, "reasoning")


def test_the_collector_sees_unmade_objects() -> None:
    made = [make(cls) for cls in CLASSES if cls is not _core.Delta for _ in range(10)]
    gc.collect()
    del made
    gc.collect()


def test_init_twice_changes_nothing() -> None:
    parser = unspool.Parser("hermes")
    parser.parse_chunk("one ")
    parser.__init__("hermes")  # type: ignore[misc]
    assert parser.finish().content == "one "
