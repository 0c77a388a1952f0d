"""The documentation's site builds strictly, needs no other host, and fits its window; its links work on GitHub too."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import unspool

from .scripts import load_script
from .serve.webdriver import MISSING, Browser

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not (ROOT / "mkdocs.yml").is_file(), reason="runs in a checkout")
PAGES = [
    *sorted(DOCS.rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")),
    *sorted((ROOT / "bench" / "conformance").glob("*.md")),
]


def load(name: str) -> ModuleType:
    return load_script(DOCS / f"{name}.py")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site's folder."""
    for name in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(name, reason="the site needs unspool[docs]")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def pages_of(site: Path) -> list[Path]:
    """All but the playground's."""
    return [page for page in sorted(site.rglob("*.html")) if site / "try" not in page.parents]


def test_the_site_needs_no_other_host(site: Path) -> None:
    pages = pages_of(site)
    assert len(pages) > 40
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(
            r"<(?:script|img|iframe|source)[^>]*\bsrc=\"?(?:https?:)?//[^>]*>|<link[^>]*stylesheet[^>]*//[^>]*>",
            text,
        )
        assert loaded == [], page
        assert 'data-md-component="source"' not in text, "the theme would ask GitHub for the number of stars"


def test_the_home_page_has_the_playground_or_its_picture(site: Path) -> None:
    """The frame parses what the page's block parses."""
    home = (site / "index.html").read_text(encoding="utf-8")
    frames = re.findall(r'<iframe src="try/(.*?)"', home)
    pictures = re.findall(r'src="(playground/home-\w+.png)', home)
    if (ROOT / "build" / "playground" / "unspool.wasm").is_file():
        assert (site / "try" / "unspool.wasm").stat().st_size > 500_000
        assert 'href="try/' in home
        assert frames == [load("demo_link").demo_link()]
        assert pictures == []
    else:
        assert len(pictures) == 2
        assert all((site / name).is_file() for name in pictures)
        assert frames == []


@pytest.mark.parametrize("word", ["fastapi", "ollama", "codex", "litellm", "instructor", "openai-harmony"])
def test_the_search_finds(site: Path, word: str) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any(word in entry["title"].lower() for entry in index["docs"]), "no heading has it"


#: What is wider than the window: the page, or a table that neither fits nor scrolls in a box inside the page.
TOO_WIDE = """
const wide = document.documentElement.scrollWidth > innerWidth ? ['page'] : [];
for (const table of document.querySelectorAll('.md-content table')) {
  const box = table.closest('.md-typeset__scrollwrap');
  const isCut = box === null || box.getBoundingClientRect().right > innerWidth || getComputedStyle(box).overflowX !== 'auto';
  if (isCut ? table.getBoundingClientRect().right > innerWidth : innerWidth > 1000 && box.scrollWidth > box.clientWidth)
    wide.push(table.rows[0].textContent.trim());
}
return wide;
"""


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_and_tables_fit(site: Path, tmp_path: Path, width: int) -> None:
    """A table may scroll in its own box on a narrow window alone."""
    browser = Browser(tmp_path)
    try:
        with served(site) as address:
            browser.emulate(width, 800, "light")
            found = {}
            for page in pages_of(site):
                browser.open(f"{address}/{page.relative_to(site).as_posix()}")
                found[page.relative_to(site).as_posix()] = browser.run(TOO_WIDE)
    finally:
        browser.close()
    assert {page: wide for page, wide in found.items() if wide} == {}


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
def test_the_playground_on_the_home_page_has_the_sites_colours(site: Path, tmp_path: Path) -> None:
    if not (site / "try").is_dir():
        pytest.skip("not built: python docs/playground/build_static.py")
    browser = Browser(tmp_path)
    dark = """
        const {body} = document.querySelector('.demo iframe').contentDocument;
        return getComputedStyle(body).colorScheme === 'dark' && body.querySelector('#output .region') !== null"""
    try:
        with served(site) as address:
            browser.emulate(1280, 800, "light")
            browser.open(address)
            browser.run("document.body.dataset.mdColorScheme = 'slate'")  # as the theme's button does
            browser.wait(dark, timeout_s=30)
            assert [entry["message"] for entry in browser.logs("browser")] == []
    finally:
        browser.close()


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of the folder's files."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


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
