"""Records are immutable, checked when they are made, and go through JSON unchanged."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unspool import ArgumentError
from unspool.core.records import Record
from unspool.integrations.easydel import PromptOutput, SampleState


@dataclass(frozen=True, slots=True)
class Inner(Record):
    number: int = 0


@dataclass(frozen=True, slots=True)
class Everything(Record):
    count: int = 0
    ratio: float = 0.5
    rate: float = -math.inf
    text: str | None = None
    is_on: bool = False
    ids: int | Sequence[int] | None = None
    rows: Sequence[Sequence[int]] = ()
    counts: int | Mapping[int, int] = 1
    names: Mapping[str, float] = dataclasses.field(default_factory=dict)
    inner: Inner | None = None
    anything: Any = None


finite = st.floats(allow_nan=False, allow_infinity=False)
ids = st.lists(st.integers(0)) | st.lists(st.integers(0)).map(tuple)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
everything = st.builds(
    Everything,
    count=st.integers(),
    ratio=finite | st.integers(-(10**6), 10**6),
    rate=finite | st.just(-math.inf),
    text=st.none() | st.text(),
    is_on=st.booleans(),
    ids=st.none() | st.integers() | ids,
    rows=st.lists(ids),
    counts=st.integers() | st.dictionaries(st.integers(), st.integers()),
    names=st.dictionaries(st.text(), finite),
    inner=st.none() | st.builds(Inner, st.integers()),
    anything=json_values,
)
prompt_outputs = st.builds(
    PromptOutput,
    text=st.none() | st.text(),
    generated_tokens=st.none() | st.integers(0),
    tokens_per_second=st.none() | st.floats(0, allow_infinity=False),
    error=st.none() | st.text(),
    finish_reason=st.sampled_from([None, "stop", "length", "tool_calls", "error", "cancelled"]),
)
sample_states = st.builds(
    SampleState,
    current_length=st.integers(0),
    sequences=st.lists(ids),
    running_token=st.none() | st.integers() | ids,
    is_sequence_finished=st.booleans() | st.lists(st.booleans()),
    tokens_per_second=st.just(-math.inf) | st.floats(0, allow_infinity=False),
    generated_tokens=st.integers(0),
    padded_length=st.integers(0),
    time_spent_s=st.floats(0, allow_infinity=False),
    time_to_first_token_s=st.none() | st.floats(0, allow_infinity=False),
)


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)


@given(everything | prompt_outputs | sample_states)
def test_a_record_goes_through_dicts_and_strict_json_unchanged(record: Record) -> None:
    cls = type(record)
    assert cls.from_dict(record.to_dict()) == record
    text = record.to_json()
    assert cls.from_json(text) == record
    assert cls.from_json(text).to_json() == text
    assert list(strict(text)) == [field.name for field in dataclasses.fields(record)]
    assert pickle.loads(pickle.dumps(record)) == record == copy.deepcopy(record)


@given(everything)
def test_what_the_caller_changes_later_does_not_change_the_record(record: Everything) -> None:
    plain = record.to_dict()
    again = Everything.from_dict(plain)
    for value in plain.values():
        if isinstance(value, (list, dict)):
            value.clear()
    assert again == record


def test_minus_infinity_is_null_where_it_is_the_default() -> None:
    assert strict(Everything().to_json())["rate"] is None
    assert Everything().to_dict()["rate"] is None
    assert Everything.from_json('{"rate": null}').rate == -math.inf
    assert Everything.from_dict({"rate": -math.inf}).rate == -math.inf
    with pytest.raises(ArgumentError, match="ratio is -inf; pass a finite number"):
        Everything(ratio=-math.inf)
    with pytest.raises(TypeError, match="ratio is None; pass float"):
        Everything.from_dict({"ratio": None})


def test_values_are_normalised_once() -> None:
    record = Everything(ratio=1, ids=[1, 2], rows=[[1], (2,)], anything=[1, {"a": [2]}])
    assert isinstance(record.ratio, float)
    assert record.ids == (1, 2)
    assert record.rows == ((1,), (2,))
    assert record.anything == (1, {"a": (2,)})
    assert record.to_dict()["rows"] == [[1], [2]]


def test_nested_records_and_number_keys_are_read_from_json() -> None:
    record = Everything.from_json('{"inner": {"number": 3}, "counts": {"64": 2, "-1": 3}}')
    assert record.inner == Inner(3)
    assert record.counts == {64: 2, -1: 3}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": True}, "count is True, of type bool; pass int"),
        ({"count": 1.0}, "count is 1.0, of type float; pass int"),
        ({"count": "1"}, "count is '1', of type str; pass int"),
        ({"count": None}, "count is None; pass int"),
        ({"ratio": False}, "ratio is False"),
        ({"ratio": "0.5"}, "ratio is '0.5'"),
        ({"is_on": 1}, "is_on is 1, of type int; pass bool"),
        ({"text": b"x"}, "text is b'x', of type bytes; pass str or None"),
        ({"ids": b"\1\2"}, "pass int or a sequence of int or None"),
        ({"ids": "12"}, "ids is '12'"),
        ({"ids": {1, 2}}, "of type set"),
        ({"ids": [1, True]}, r"ids\[1\] is True"),
        ({"rows": [[1], [2, "x"]]}, r"rows\[1\]\[1\] is 'x'"),
        ({"counts": {"064": 1}}, "a key of counts is '064'"),
        ({"counts": {64: 1.5}}, r"counts\[64\] is 1.5"),
        ({"inner": 3}, "inner is 3, of type int; pass Inner or None"),
        ({"inner": {"number": "3"}}, "number is '3'"),
    ],
)
def test_wrong_types_are_named(changes: dict[str, Any], message: str) -> None:
    for make in (lambda: Everything(**changes), lambda: Everything.from_dict(changes)):
        with pytest.raises(TypeError, match=message):
            make()
    with pytest.raises(TypeError, match=message):
        Everything().replace(**changes)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"cuont": 1}, "unknown key 'cuont'; Everything has count, ratio"),
        ({"count": 1, 2: 3}, "unknown key 2"),
        ({"ratio": math.nan}, "ratio is nan; pass a finite number"),
        ({"ratio": 10**400}, "ratio is larger than a float can be"),
        ({"rate": math.inf}, "rate is inf"),
        ({"names": {"a": math.nan}}, r"names\['a'\] is nan"),
        ({"counts": {64: 1, "64": 2}}, "counts has a key twice"),
        ({"inner": {"size": 1}}, "unknown key 'size'; Inner has number"),
    ],
)
def test_values_that_cannot_be_are_refused(mapping: dict[Any, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Everything.from_dict(mapping)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('{"ratio": NaN}', ArgumentError, "text holds NaN"),
        ('{"rate": -Infinity}', ArgumentError, "text holds -Infinity"),
        ('{"ratio": 1e999}', ArgumentError, "ratio is inf"),
        ('{"count": 1, "count": 2}', ArgumentError, "the key 'count' twice"),
        ('{"count": 1', ArgumentError, "text is not JSON"),
        ("[" * 100_000, ArgumentError, "text is not JSON"),
        ("[]", TypeError, "Everything is read from a mapping"),
        (b"{}", TypeError, "pass a str"),
    ],
)
def test_json_is_read_strictly(text: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Everything.from_json(text)


class Opaque(tuple[Any, ...]):
    """As JAX had its PartitionSpec: a tuple that JSON would turn into a list."""


@pytest.mark.parametrize("value", [object(), Opaque((1, 2)), {1: 2}, {1, 2}, b"x"])
def test_what_json_has_no_form_for_is_carried_but_not_written(value: Any) -> None:
    record = Everything(anything=["rule", value])
    assert Everything.from_dict(record.to_dict()) == record
    assert record.to_dict()["anything"][1] is value or type(value) is dict
    with pytest.raises(TypeError, match=r"anything\[1\] is .*JSON has no form for"):
        record.to_json()


def test_a_float_that_json_does_not_have_is_not_written() -> None:
    with pytest.raises(ArgumentError, match=r"anything\['a'\] is nan"):
        Everything(anything={"a": math.nan}).to_json()


def test_replace_copies_and_checks() -> None:
    record = Everything(count=1)
    assert record.replace(count=2) == Everything(count=2)
    assert record.count == 1
    with pytest.raises(ArgumentError, match="unknown key 'cuont'"):
        record.replace(cuont=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.count = 2  # type: ignore[misc]
    assert hash(Inner(1)) == hash(Inner(1))


def test_outputs_know_nothing_at_first() -> None:
    assert PromptOutput().to_dict() == dict.fromkeys(
        ["text", "generated_tokens", "tokens_per_second", "error", "finish_reason"]
    )
    state = SampleState()
    assert state.tokens_per_second == -math.inf
    assert state.to_dict() == {
        "current_length": 0,
        "sequences": [],
        "running_token": None,
        "is_sequence_finished": False,
        "tokens_per_second": None,
        "generated_tokens": 0,
        "padded_length": 0,
        "time_spent_s": 0.0,
        "time_to_first_token_s": None,
    }


@pytest.mark.parametrize("cls", [PromptOutput, SampleState])
@pytest.mark.parametrize("key", ["generated_tokens", "tokens_per_second", "time_spent_s", "current_length"])
def test_outputs_have_no_negative_counts(cls: type[Record], key: str) -> None:
    if key not in cls.__dataclass_fields__:
        return
    with pytest.raises(ArgumentError, match=f"{key} is -1"):
        cls.from_dict({key: -1})
    assert getattr(cls.from_dict({key: 0}), key) == 0
