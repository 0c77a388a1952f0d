"""What goes into a wheel, and what builds it: named, licensed, pinned."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="runs in a checkout")

NATIVE_READERS = ("llguidance", "msgspec")


def sbom() -> dict[str, Any]:
    files = importlib.metadata.distribution("unspool").files or ()
    (path,) = (file for file in files if "/sboms/" in str(file))
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_the_parts_list_names_what_is_compiled_in() -> None:
    found = sbom()
    assert found["metadata"]["component"]["version"] == importlib.metadata.version("unspool")
    header = (ROOT / "csrc" / "third_party" / "toml.hpp").read_text(encoding="utf-8")
    numbers = [
        re.search(rf"#define\s+TOML_LIB_{part}\s+(\d+)", header) for part in ("MAJOR", "MINOR", "PATCH")
    ]
    toml = ".".join(number[1] for number in numbers if number)
    versions = {part["name"]: part["version"] for part in found["components"]}
    assert versions["toml++"] == toml
    assert re.fullmatch(r"3\.\d+\.\d+", versions["pybind11"])
    assert versions.keys() == {"toml++", "pybind11"}
    references = {part["bom-ref"] for part in found["components"]}
    assert set(found["dependencies"][0]["dependsOn"]) == references


def test_the_notice_has_a_license_for_each_part() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for part in sbom()["components"]:
        assert part["name"] in notice
    assert "Mark Gillard" in notice
    assert "Wenzel Jakob" in notice
    vendored = {path.name for path in (ROOT / "csrc" / "third_party").glob("*.hpp")}
    assert vendored == {"toml.hpp"}, "name it in NOTICE and in csrc/sbom.cdx.json.in"


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name
)
def test_actions_are_pinned_to_a_commit(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for use in re.findall(r"uses:\s*(\S+.*)", text):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+.*", use), use
    assert re.search(r"^permissions:\n  contents: read$", text, re.M), "nothing may write by default"


def test_what_builds_a_published_wheel_is_pinned() -> None:
    folder = ROOT / ".github" / "wheels"
    for line in _lines(folder / "requirements.txt"):
        assert re.fullmatch(r"[\w.-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}", line), line
    pins = dict(line.split("==") for line in _lines(folder / "constraints.txt"))
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert {re.match(r"[\w-]+", line)[0] for line in build} <= pins.keys()  # type: ignore[index]
    ecosystems = re.findall(r"package-ecosystem: (\S+)", (ROOT / ".github" / "dependabot.yml").read_text())
    assert ecosystems == ["github-actions", "pip"]


def test_native_readers_of_hostile_input_have_an_upper_bound() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    for name, lines in extras.items():
        for line in lines:
            if line.startswith(NATIVE_READERS):
                assert re.fullmatch(r"\w+>=[\d.]+,<\d+", line), (name, line)
    oldest = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for reader in NATIVE_READERS:
        lowest = next(line for line in extras["serve"] + extras["constrain"] if line.startswith(reader))
        version = lowest.partition(">=")[2].partition(",")[0]
        assert f"'{reader}=={version}.0'" in oldest, "the lower end of the bound is tested"


def _lines(path: Path) -> list[str]:
    return [
        line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    ]
