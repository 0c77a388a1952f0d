"""What must agree before a release, and what its notes are.

python tools/release.py check v1.2.3     # in the workflow of a tag, and by hand before it
python tools/release.py notes            # the version's part of CHANGELOG.md
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]


def version(root: Path = ROOT) -> str:
    """The version, which pyproject.toml alone has: CMake, the module, the wheel and its list of parts read it there."""
    found: str = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return found


def notes(root: Path = ROOT, part: str = "") -> str:
    """The part of the changelog on the version, or on another name, or nothing."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.findall(r"^## (\S+)[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return dict(parts).get(part or version(root), "").strip()


def faults(tag: str, root: Path = ROOT) -> list[str]:
    """What stands against a release with this tag, each with what to do."""
    found = []
    if tag != f"v{version(root)}":
        found.append(f"the tag is {tag}, and pyproject.toml has version {version(root)}: set one of them")
    if not notes(root):
        found.append(f"CHANGELOG.md has no part '## {version(root)}': rename 'Unreleased' to it")
    if notes(root, "Unreleased"):
        found.append("CHANGELOG.md has changes in 'Unreleased': move them to the version")
    if _install(root).SOURCE != "unspool":
        found.append(
            'docs/install.py has another SOURCE than "unspool": set it, and run python docs/install.py'
        )
    return found


def _install(root: Path) -> Any:
    spec = importlib.util.spec_from_file_location("install", root / "docs" / "install.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check", tag]:
            sys.exit("\n".join(faults(tag)) or 0)
        case ["notes"]:
            print(notes())
        case _:
            sys.exit(__doc__)
