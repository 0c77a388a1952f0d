"""The same arguments give the recipe that was made before; what differs in anything does not."""

from __future__ import annotations

import copy
import gc
import json
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool import ArgumentError, Parser, TokenStreamer, UnknownFormatError, Vocabulary
from unspool.core.stream.stream_options import PARSER_OPTIONS, Option
from unspool.core.stream.stream_recipe import RECIPE_OPTIONS, recipe_options, with_defaults
from unspool.core.stream.tool_schemas import compile_tools
from unspool.streams import choose_recipe as module
from unspool.streams.choose_recipe import Recipe, choose_recipe

from ..outputs import TOOLS

MINE = """
name = "mine"
call = "<mine>${object}</mine>"
"""

#: Valid values of options that are neither choices nor flags nor numbers; some are equal if only `==` is asked.
OF_OTHER_TYPES: dict[str, tuple[Any, ...]] = {
    "reasoning": ("qwen3", False),
    "tool_choice": ("required", {"function": {"name": "f"}}),
    "also": ("qwen3_coder", ["qwen3_coder", "json"]),
    "stop": ("a", ["a"], ["a", "b"], ["ab"]),
}


def others(option: Option) -> tuple[Any, ...]:
    """Valid values of an option that are not its default."""
    if option.words:
        return tuple(word for word in option.words if word != option.default)
    if isinstance(option.default, bool):
        return (not option.default,)
    return (1, 2) if isinstance(option.default, int) else OF_OTHER_TYPES[option.name]


def bytes_vocabulary() -> Vocabulary:
    return Vocabulary(
        {bytes([byte]): byte for byte in range(256)}, [(256, "<tool_call>", "<tool_call>", True)]
    )


IDS = bytes_vocabulary()


def recipe(format: Any = "hermes", tools: Any = None, **options: Any) -> Recipe:
    return choose_recipe(format, compile_tools(tools), IDS, recipe_options(with_defaults(options)))


def test_every_option_has_its_own_recipe() -> None:
    for name in RECIPE_OPTIONS:
        values = (PARSER_DEFAULTS[name], *others(PARSER_OPTIONS[name]))
        made = [recipe(**{name: value}) for value in values]
        assert len(set(map(id, made))) == len(made) > 1, name
        again = [recipe(**{name: copy.deepcopy(value)}) for value in values]
        assert again == made, name


PARSER_DEFAULTS = with_defaults({})


def test_tools_and_prompts_share_a_recipe() -> None:
    shared = recipe()
    assert recipe(tools=TOOLS) is shared
    assert recipe(tools=[]) is not shared
    assert recipe(format="Hermes") is not shared
    assert recipe(format=unspool.get_format("hermes")) is recipe(format=unspool.get_format("hermes"))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("max_calls", 1, True),
        ("max_calls", 1, 1.0),
        ("id_seed", 0, False),
        ("id_seed", 0, -0.0),
        ("stop", ["1"], [1]),
        ("stop_in", "content", b"content"),
    ],
)
def test_an_equal_value_of_another_type_is_refused_each_time(name: str, right: Any, wrong: Any) -> None:
    for _ in range(2):
        Parser("hermes", **{name: right})
        with pytest.raises((TypeError, ArgumentError), match=name):
            Parser("hermes", **{name: wrong})


def test_an_error_is_raised_each_time() -> None:
    for _ in range(2):
        with pytest.raises(UnknownFormatError, match="hermez"):
            Parser("hermez")
        with pytest.raises(TypeError, match="'colour'"):
            unspool.parse_batch([], "hermes", colour=1)
        with pytest.raises(ArgumentError, match="trust is 'x'"):
            Parser("hermes", trust="x")  # type: ignore[arg-type]


def test_a_channel_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="channel is of type int; pass a DeltaChannel"):
        TokenStreamer(IDS, "hermes", channel=1)  # type: ignore[arg-type]


def test_a_tool_that_another_request_has_not_is_refused() -> None:
    Parser("hermes", [{"name": "f"}], tool_choice="f")
    with pytest.raises(ArgumentError, match="tool_choice is 'f'"):
        Parser("hermes", [{"name": "g"}], tool_choice="f")


def test_a_list_that_changes_is_read_again() -> None:
    stop = ["X"]
    assert Parser("hermes", stop=stop).parse("a Y b").content == "a Y b"
    stop[0] = "Y"
    assert Parser("hermes", stop=stop).parse("a Y b").content == "a "
    choice = {"function": {"name": "f"}}
    assert Parser("hermes", tool_choice=choice).parse('{"a": 1}').tool_calls[0].name == "f"
    choice["function"]["name"] = "g"
    assert Parser("hermes", tool_choice=choice).parse('{"a": 1}').tool_calls[0].name == "g"


def test_a_format_that_is_registered_later_is_any_format_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    text = '<mine>{"name": "f", "arguments": {"a": 1}}</mine>'
    assert not Parser("hermes", [{"name": "f"}], also="any").parse(text).tool_calls
    with pytest.raises(UnknownFormatError):
        Parser("mine")
    unspool.register_format(path)
    assert Parser("hermes", [{"name": "f"}], also="any").parse(text).tool_calls[0].written_as == "mine"
    assert Parser("mine").parse(text).tool_calls


def test_few_recipes_are_kept() -> None:
    for number in range(100):
        Parser("hermes", [{"name": f"f{number}"}], stop=str(number))
    assert len(module._text_recipes._entries) == module._SIZE


def test_very_large_tools_are_not_kept() -> None:
    tools = [{"name": "f", "description": "x" * (1 << 18)}]
    assert compile_tools(tools) is not compile_tools(tools)


def test_a_vocabulary_that_is_gone_takes_its_recipes_along() -> None:
    vocabulary = bytes_vocabulary()
    TokenStreamer(vocabulary, "hermes").put(97)
    kept = weakref.ref(module._id_recipes[vocabulary])
    gone = weakref.ref(vocabulary)
    del vocabulary
    gc.collect()
    assert gone() is None
    assert kept() is None


def test_threads_find_their_own_recipes() -> None:
    wrong: list[str] = []

    def run(number: int) -> None:
        for i in range(100):
            tools = json.loads(json.dumps([{"name": f"f{number}", "parameters": {"type": "object"}}]))
            stop = f"<{(number + i) % 20}>"
            content = Parser("hermes", tools, stop=stop, unknown_tools="content").parse(f"a{stop}b").content
            if content != "a":
                wrong.append(content)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
