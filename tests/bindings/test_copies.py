"""An instance of a native class is copied and pickled as an equal one, or refuses; the process goes on."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import unspool
from unspool import _core
from unspool.core.format.compile_format import compile_format
from unspool.core.format.other_families import compile_others
from unspool.core.stream.tool_schemas import compile_tools

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
CLASSES = sorted(name for name, value in vars(_core).items() if isinstance(value, type))


def parts_of(value: Any, found: dict[str, Any], inside: frozenset[type] = frozenset()) -> None:
    """Adds an instance of each native class that a value is made of."""
    if isinstance(value, (tuple, list)):
        for item in value:
            parts_of(item, found, inside)
    elif type(value).__module__ == _core.__name__ and type(value) not in inside:
        found.setdefault(type(value).__name__, value)
        for name, member in vars(type(value)).items():
            if isinstance(member, property):
                parts_of(getattr(value, name), found, inside | {type(value)})


def make_instances() -> dict[str, Any]:
    vocabulary = unspool.Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
    tools = compile_tools([{"name": "f"}])
    reader = unspool.ArgumentReader()
    deltas = unspool.Parser("hermes", tools).parse_chunk(CALL)
    batch = unspool.StreamBatch(vocabulary, "hermes")
    result = batch.step([batch.add()], [65])
    made = {
        "Vocabulary": vocabulary,
        "ToolSchemas": tools,
        "Detokenizer": _core.Detokenizer(vocabulary),
        "OtherFamilies": compile_others("mistral"),
        "Format": compile_format("hermes"),
        "Delta": deltas[0],
        "DeltaChannel": unspool.DeltaChannel(),
        "ArgumentReader": reader,
        "ArgumentEvent": reader.put(deltas)[0],
        "WireWriter": unspool.WireWriter("chat_completions", model="m"),
        "StreamRecipe": _core.StreamRecipe(compile_format("hermes"), {}),
        "StreamBatch": batch,
        "BatchResult": result,
        "_BatchColumn": result.data.obj,
        "TokenStreamer": unspool.TokenStreamer(vocabulary, "hermes"),
    }
    for file in unspool.formats():
        made.setdefault("FormatSource", file)
        parts_of([file.shape, file.facts, file.free_text_words], made)
    return made


INSTANCES = make_instances()


@pytest.mark.parametrize("name", CLASSES)
def test_a_copy_is_equal_or_refused(name: str) -> None:
    instance = INSTANCES[name]
    copies = [copy.copy, copy.deepcopy]
    copies += [
        lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]
    for made in copies:
        try:
            result = made(instance)
        except TypeError as error:
            result = error
        refused = isinstance(result, TypeError) and "cannot be copied or pickled" in str(result)
        assert refused or result == instance
