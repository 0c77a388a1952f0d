"""A virtual environment as pip would make it for some extras, in a tenth of a second.

Its site-packages links to the installed files of each distribution that pip would choose, and to no other. What is not
installed here is not there either: a page that runs in it runs in the whole environment too.
"""

from __future__ import annotations

import os
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import unspool
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
_TABLES: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT: dict[str, Any] = _TABLES["project"]
PACKAGES: dict[str, str] = _TABLES["tool"]["scikit-build"]["wheel"]["packages"]


def make_environment(folder: Path, requirements: Iterable[str]) -> Path:
    """The interpreter of a new environment, with the package that is tested here and what `requirements` choose."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    scripts = dict(PROJECT["scripts"])
    for one in chosen_distributions(requirements)[0]:
        _link(one, site)
        scripts.update(
            (entry.name, entry.value) for entry in one.entry_points.select(group="console_scripts")
        )
    _link_package(site / "unspool")
    for name, value in scripts.items():
        module, _, function = value.partition(":")
        script = folder / "bin" / name
        script.write_text(f"#!{folder}/bin/python\nfrom {module} import {function}\n{function}()\n")
        script.chmod(0o755)
    return folder / "bin" / "python"


def clean_variables(python: Path) -> dict[str, str]:
    """The variables of a process in an environment: nothing leads to other packages."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST_"))}
    return {**kept, "PATH": os.pathsep.join([str(python.parent), kept.get("PATH", "")])}


def chosen_distributions(requirements: Iterable[str]) -> tuple[list[Distribution], set[str]]:
    """The installed ones that pip would choose, without the package itself, and the names of those that are missing."""
    todo = [*map(Requirement, requirements)]
    done: set[tuple[str, str]] = set()
    found: dict[str, Distribution] = {}
    missing: set[str] = set()
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        for extra in {"", *wanted.extras}:
            if (name, extra) in done or name in missing:
                continue
            done.add((name, extra))
            if name == "unspool":
                todo += _own_requirements(extra)
                continue
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:
                missing.add(name)
                continue
            todo += _requirements(found[name].requires or [], extra)
    return [*found.values()], missing


def _own_requirements(extra: str) -> Iterator[Requirement]:
    """Of the checkout: what an installed copy says may be older."""
    return _requirements(PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"])


def _requirements(texts: Iterable[str], extra: str = "") -> Iterator[Requirement]:
    for one in map(Requirement, texts):
        if one.marker is None or one.marker.evaluate({"extra": extra}):
            yield one


def _link(one: Distribution, site: Path) -> None:
    """Packages as whole folders; the files of namespace packages, which distributions share, one by one."""
    files = [file for file in one.files or () if file.parts[0] != ".." and "__pycache__" not in file.parts]
    whole = {
        file.parts[0] for file in files if len(file.parts) == 2 and file.name in ("__init__.py", "METADATA")
    }
    for parts in {file.parts[:1] if file.parts[0] in whole else file.parts for file in files}:
        target = site.joinpath(*parts)
        if parts[-1].endswith(".pth") or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(str(one.locate_file("/".join(parts))))


def _link_package(folder: Path) -> None:
    """The installed package; of a checkout, what a wheel takes from it."""
    installed = Path(unspool._core.__file__).parent
    _link_entries(installed, folder)
    if Path(unspool.__file__).is_relative_to(ROOT):
        for target, source in PACKAGES.items():
            _link_entries(ROOT / source, folder.parent / target)


def _link_entries(source: Path, folder: Path) -> None:
    if folder.parent.is_symlink():
        _open(folder.parent)
    if folder.is_symlink():
        _open(folder)
    folder.mkdir(exist_ok=True)
    for entry in source.iterdir():
        if not (folder / entry.name).exists() and entry.name != "__pycache__":
            (folder / entry.name).symlink_to(entry)


def _open(folder: Path) -> None:
    """Replace a link to a folder by links to its entries, so that others find their place beside them."""
    whole = folder.resolve()
    folder.unlink()
    _link_entries(whole, folder)
