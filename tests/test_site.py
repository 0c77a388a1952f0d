"""The documentation's site builds strictly, needs no other host, and has every public name; its links work on GitHub too."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import unspool

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not (ROOT / "mkdocs.yml").is_file(), reason="runs in a checkout")
PAGES = [
    *sorted(DOCS.rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")),
    *sorted((ROOT / "bench" / "conformance").glob("*.md")),
]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_builds_and_needs_no_other_host(tmp_path: Path) -> None:
    for name in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(name, reason="the site needs unspool[docs]")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    try_it = tmp_path / "try"
    if (ROOT / "build" / "playground" / "unspool.wasm").is_file():
        assert (try_it / "unspool.wasm").stat().st_size > 500_000
        assert 'href="try/' in (tmp_path / "index.html").read_text(encoding="utf-8")
    pages = [page for page in tmp_path.rglob("*.html") if try_it not in page.parents]
    assert len(pages) > 40
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(
            r"<(?:script|img|iframe|source)[^>]*\bsrc=\"?(?:https?:)?//[^>]*>|<link[^>]*stylesheet[^>]*//[^>]*>",
            text,
        )
        assert loaded == [], page
        assert 'data-md-component="source"' not in text, "the theme would ask GitHub for the number of stars"


def test_every_page_is_in_the_navigation() -> None:
    listed = set(
        re.findall(
            r"^ +- (?:[^:\n]+: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M
        )
    )
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert pages - listed == set(), "add the page to nav in mkdocs.yml"


def test_every_public_name_is_on_one_reference_page() -> None:
    named = [
        name
        for page in (DOCS / "reference").glob("*.md")
        for name in re.findall(r"^::: unspool\.(\w+)$", page.read_text(encoding="utf-8"), re.M)
    ]
    assert sorted(named) == sorted(set(unspool.__all__) - {"__version__"})
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert [name for name in named if f"`{name}`" not in index] == []


def test_every_helper_of_tests_is_on_its_reference_page() -> None:
    import unspool.testing

    page = (DOCS / "reference" / "testing.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: unspool\.testing\.(\w+)$", page, re.M)) == sorted(unspool.testing.__all__)


def test_every_public_header_is_in_the_cpp_reference() -> None:
    headers = re.findall(r'#include "(.*?)"', (ROOT / "csrc" / "unspool.h").read_text(encoding="utf-8"))
    page = (DOCS / "reference" / "cpp.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: (.*\.h)$", page, re.M)) == sorted(headers)
    maker = load("make_cpp_reference")
    for header in headers:
        text = (ROOT / "csrc" / header).read_text(encoding="utf-8")
        names = [name for name, _, _ in maker.entities(text)]
        for kind in re.findall(r"^(?:class|struct|enum class) (\w+)(?: final)? [:{]", text, re.M):
            assert kind in names, (header, kind)
        shown = maker.reference(header)
        assert "_;" not in shown, f"{header}: a private member is shown"
    assert "### `TokenStreamer`" in maker.fill(page)


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_work(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^()\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor and file.suffix == ".md":
            body = re.sub(r"^```.*?^```$", "", file.read_text(encoding="utf-8"), flags=re.M | re.S)
            slugs = {slug(heading) for heading in re.findall(r"^#+ (.*)$", body, re.M)}
            assert anchor in slugs, f"{page.name} links to {target}"
