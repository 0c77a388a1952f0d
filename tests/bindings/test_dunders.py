"""Every special method of every public class, made and not made, with odd arguments: a clean answer or a clean error."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import sys
from typing import Any

import pytest
import unspool
from unspool import _core

from .test_before_init import CLEAN, run
from .test_copies import CALL, INSTANCES

# These end or change the process, or are the class's own business.
SKIPPED = {
    "__init_subclass__",
    "__subclasshook__",
    "__class_getitem__",
    "__prepare__",
    "__del__",
    "__class__",
    "__abstractmethods__",
}
NATIVE = [value for value in vars(_core).values() if isinstance(value, type)]
PUBLIC = [value for name in unspool.__all__ if inspect.isclass(value := getattr(unspool, name))]
CLASSES = {cls.__name__: cls for cls in [*NATIVE, *PUBLIC]}
ODD: list[tuple[Any, ...]] = [
    (), (None,), (0,), (-1,), (10**30,), ("x",), (b"x",), ([],), ({},), (object(),), (int,), ("x", None), (None, None),
    ("__class__", int), ("x", "y", "z"), (None, None, None), (slice(None),), (2,), ({"a": 1}, None),
]  # fmt: skip


def made() -> dict[str, Any]:
    """An instance of each public class that can be made without a model."""
    parser = unspool.Parser("hermes", [{"name": "f", "parameters": {"required": ["b"]}}])
    parser.parse_chunk(CALL + "<tool_call>x")
    message = parser.finish()
    labelled = unspool.TokenStreamer(INSTANCES["Vocabulary"], "hermes", labels=True)
    labelled.put([65])
    labels = labelled.finish().labels
    assert labels is not None
    channel = unspool.DeltaChannel()
    channel.cancel()  # an open one would wait for deltas
    has_matcher = importlib.util.find_spec("llguidance") is not None
    values = [
        *INSTANCES.values(),
        channel,
        _core.FormatSource(unspool.get_format("hermes")),
        parser,
        message,
        message.tool_calls[0],
        message.tool_calls[0].violations[0],
        message.malformed[0],
        message.token_counts,
        labels,
        labels.spans[0],
        unspool.get_format("hermes").grammar([{"name": "f"}]),
        unspool.BatchParser("hermes"),
        unspool.trace(CALL, "hermes"),
        unspool.why(CALL, "hermes"),
        *([unspool.GrammarMatcher('start: "A"\n', INSTANCES["Vocabulary"])] if has_matcher else []),
    ]
    found = {type(value).__name__: value for value in values}
    for cls in PUBLIC:
        try:
            found.setdefault(cls.__name__, cls("x") if issubclass(cls, BaseException) else cls())
        except TypeError:
            continue
    return found


MADE = made()


def dunders(cls: type) -> list[str]:
    return [
        name for name in dir(cls) if name.startswith("__") and name.endswith("__") and name not in SKIPPED
    ]


def try_all(value: Any, name: str) -> list[BaseException]:
    """The errors of a special method that are not clean."""
    faults: list[BaseException] = []
    for arguments in ODD:
        try:
            method = getattr(value, name)
            result = method(*arguments) if callable(method) else method
            run(result)
            if name in ("__iter__", "__reversed__"):
                list(itertools.islice(result, 3))
        except (*CLEAN, StopIteration, LookupError, NotImplementedError, RuntimeError, OverflowError):
            pass
        except BaseException as error:
            faults.append(error)
    return faults


@pytest.mark.parametrize("name", CLASSES)
def test_special_methods(name: str) -> None:
    cls = CLASSES[name]
    faults: list[Any] = []
    for method in dunders(cls):
        if name in MADE and method not in ("__init__", "__setattr__", "__delattr__", "__setstate__"):
            faults += [(method, fault) for fault in try_all(MADE[name], method)]  # others use this instance
        try:
            unmade = cls.__new__(cls)
        except CLEAN:
            continue
        faults += [(method, fault) for fault in try_all(unmade, method)]
    assert not faults


def test_nearly_every_class_is_made() -> None:
    # They need a model, a run of one, or are bases.
    assert set(CLASSES) - set(MADE) <= {
        "Bridge", "ConditioningHook", "DeltaStream", "Detection", "Dropped", "Evidence", "FormatFile", "PrefillReport",
        "PrefillScope", "PromptOutput", "GrammarMatcher", "SampleState", "SlowDetokenizer", "StreamGenerator", "StreamMetrics", "StreamResult",
        "ContextLengthError", "PreCompileConfig", "InferenceConfig", "ChatTokenizer", "ServedModel",
    }  # fmt: skip


@pytest.mark.parametrize("name", [cls.__name__ for cls in NATIVE])
def test_a_native_instance_that_is_changed_by_force(name: str) -> None:
    """Attributes are set, deleted and restored by force; the instance goes on or refuses."""
    value = MADE[name]
    for attribute in ("x", "__dict__", "__class__", "__doc__"):
        for given in (1, None, {}, int):
            try:
                before = getattr(value, attribute, None)
                setattr(value, attribute, given)
                if attribute != "x":
                    setattr(value, attribute, before)
                else:
                    delattr(value, attribute)
            except (*CLEAN, RuntimeError):
                pass
    assert type(value).__name__ == name
    repr(value)
    hash_of = getattr(type(value), "__hash__", None)
    if hash_of is not None:
        hash(value)
    sys.getsizeof(value)
