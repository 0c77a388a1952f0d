"""The machine's tolerances: each rule has its cases, and each case is read at every split."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.testing import Case, assert_format

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
RULES = tomllib.loads((Path(__file__).parent / "tolerances.toml").read_text(encoding="utf-8"))["rule"]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS = ({"name": "get_weather", "parameters": SCHEMA},)
CASES = [
    pytest.param(rule, case, id=f"{rule['name']}: {case['format']} {number}")
    for rule in RULES
    for number, case in enumerate(rule["case"])
]


def options_of(rule: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """What a case needs is what its group and its result name."""
    return {
        **({"repair": True} if "repair" in rule["group"] else {}),
        **({"also": "any"} if "written_as" in table else {}),
        **({"unmarked_calls": True} if "unmarked" in table else {}),
    }


def case_of(rule: dict[str, Any], table: dict[str, Any]) -> Case:
    """A rule's case, with the tool that all cases call."""
    calls = tuple((c["name"], c["arguments"], c.get("status", "complete")) for c in table.get("calls", ()))
    return Case(
        format=table["format"],
        name=rule["name"],
        input=table["input"],
        content=table.get("content", ""),
        reasoning=table.get("reasoning", ""),
        calls=calls,
        malformed=tuple(table.get("malformed", ())),
        finish_reason=table.get("finish_reason", "stop"),
        tools=TOOLS,
        options=options_of(rule, table),
    )


@pytest.mark.parametrize(("rule", "table"), CASES)
def test_tolerance_at_every_split(rule: dict[str, Any], table: dict[str, Any]) -> None:
    assert_format(table["format"], case_of(rule, table))


@pytest.mark.parametrize(("rule", "table"), CASES)
def test_the_call_says_what_read_it(rule: dict[str, Any], table: dict[str, Any]) -> None:
    case = case_of(rule, table)
    message = unspool.parse(
        case.input, case.format, list(TOOLS), finish_reason=case.finish_reason, **case.options
    )
    repairs = [repair for call in message.tool_calls for repair in call.repairs]
    assert repairs == table.get("repairs", [])
    others = [call.written_as or "" for call in message.tool_calls]
    assert others == table.get("written_as", [""] * len(others))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["name"])
def test_a_rule_names_its_source_and_repair_is_needed(rule: dict[str, Any]) -> None:
    if (ROOT / "csrc").is_dir():  # in a checkout
        assert (ROOT / rule["where"]).is_file()
    if "repair" not in rule["group"]:
        return
    for table in rule["case"]:
        case = case_of(rule, table)
        plain = unspool.parse(case.input, case.format, list(TOOLS), finish_reason=case.finish_reason)
        assert case.differences(plain), "without repair=True the answer is another"
