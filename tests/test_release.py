"""tools/release.py refuses a tag that does not fit, and the version stands in one place."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from .scripts import load_script

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "tools").is_dir(), reason="runs in a checkout")


def load() -> ModuleType:
    return load_script(ROOT / "tools" / "release.py")


def test_cmake_and_the_parts_list_read_the_version_where_it_stands() -> None:
    """test_house.py compares the module's version with it."""
    version = re.escape(load().version())
    for name in (
        "CMakeLists.txt",
        "csrc/CMakeLists.txt",
        "csrc/sbom.cdx.json.in",
        "python/unspool/__init__.py",
    ):
        assert not re.search(rf"(?<![\d.]){version}(?![\d.])", (ROOT / name).read_text(encoding="utf-8")), (
            name
        )
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert 'file(STRINGS pyproject.toml version REGEX "^version = ")' in cmake
    assert len(re.findall(r"^version = ", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)) == 1


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One that is ready for 1.2.3."""
    (tmp_path / "docs").mkdir()
    source = (ROOT / "docs" / "install.py").read_text(encoding="utf-8")
    (tmp_path / "docs" / "install.py").write_text(
        re.sub(r'^SOURCE = ".*"', 'SOURCE = "unspool"', source, flags=re.M)
    )
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.3\n\n### Added\n- A.\n\n## 1.2.2\n- B.\n")
    return tmp_path


def test_a_tag_that_fits(repository: Path) -> None:
    assert load().faults("v1.2.3", repository) == []
    assert load().notes(repository) == "### Added\n- A."


@pytest.mark.parametrize(
    ("file", "old", "new", "tag", "told"),
    [
        ("pyproject.toml", "1.2.3", "1.2.3", "v1.2.4", "the tag is v1.2.4, and pyproject.toml has version 1.2.3"),
        ("pyproject.toml", "1.2.3", "1.2.3", "1.2.3", "the tag is 1.2.3"),
        ("CHANGELOG.md", "## 1.2.3", "## Unreleased", "v1.2.3", "no part '## 1.2.3'"),
        ("CHANGELOG.md", "## 1.2.3", "## 1.2.30", "v1.2.3", "no part '## 1.2.3'"),
        ("CHANGELOG.md", "## 1.2.3", "## Unreleased\n\n### Fixed\n- C.\n\n## 1.2.3", "v1.2.3", "in 'Unreleased'"),
        ("docs/install.py", 'SOURCE = "unspool"', 'SOURCE = "."', "v1.2.3", "run python docs/install.py"),
    ],
)  # fmt: skip
def test_what_stands_against_a_tag(
    repository: Path, file: str, old: str, new: str, tag: str, told: str
) -> None:
    path = repository / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert any(told in fault for fault in load().faults(tag, repository))


def test_the_story_after_a_release() -> None:
    """Every command and sentence changes with SOURCE, and back; those of the checkout stay."""
    source = (ROOT / "docs" / "install.py").read_text(encoding="utf-8")
    names: dict[str, object] = {"__file__": str(ROOT / "docs" / "install.py"), "__name__": "install"}
    before = {**names}
    exec(source, before)
    after = {**names}
    exec(re.sub(r'^SOURCE = ".*"', 'SOURCE = "unspool"', source, flags=re.M), after)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    changed = after["rewritten"](readme)  # type: ignore[operator]
    assert "pip install 'unspool[cli]' && unspool demo" in changed
    assert "There is no release yet" not in changed
    assert "pip install -e '.[test]'" in changed
    assert "pip install '.[docs]'" in changed
    if before["SOURCE"] == ".":
        assert before["rewritten"](changed) == readme  # type: ignore[operator]


def test_the_workflow_publishes_after_every_check() -> None:
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    publish = text.split("\n  publish:\n")[1].split("\n  draft:\n")[0]
    assert "needs: [check, wheels, sdist]" in publish
    assert "environment: pypi" in publish
    assert "id-token: write" in publish
    assert "password" not in publish.partition("steps:")[2]
    for job in text.split("\n  publish:\n")[0].split("steps:"):
        assert "write" not in job.partition("permissions")[2], "nothing else may write"
