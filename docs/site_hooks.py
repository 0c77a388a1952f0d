"""MkDocs hooks: pages and a playground from files outside docs/, links to them, and the C++ reference from the headers.

`mkdocs build --strict` then checks every link of the site, and the same links work on GitHub.
"""

from __future__ import annotations

import importlib.util
import posixpath
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
#: Files outside docs/ that the site shows, with their place in it.
PAGES = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "bench/README.md": "benchmarks/index.md",
    "bench/figures.md": "benchmarks/figures.md",
    "bench/figures.svg": "benchmarks/figures.svg",
    "python/unspool/serve/playground/static/icon.svg": "icon.svg",
    **{
        f"bench/conformance/{path.name}": f"benchmarks/conformance/{path.name.replace('README', 'index')}"
        for path in (ROOT / "bench" / "conformance").glob("*.md")
    },
}
#: The playground without a server, if docs/playground/build_static.py has built it.
PLAYGROUND = ROOT / "build" / "playground"
SOURCES = {target: source for source, target in PAGES.items()}
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\(([^()\s]+)\)")
_PICTURES = re.compile(r'(?<=<div class="demo" markdown>\n).*?(?=</div>)', re.S)
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.M | re.S)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the repository's address from pyproject.toml.

    It is not `repo_url`: with that the theme asks GitHub for the number of stars when a page is read.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.extra["repository"] = project["urls"]["Repository"]
    if (PLAYGROUND / "index.html").is_file() and config.nav:
        config.nav.insert(2, {"Try it": "try/index.html"})
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages of `PAGES`, and the playground as /try/."""
    for source, target in PAGES.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    for path in PLAYGROUND.rglob("*"):
        if path.is_file():
            target = f"try/{path.relative_to(PLAYGROUND).as_posix()}"
            files.append(File.generated(config, target, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Point links at the site's pages, and at the repository for what the site does not show."""
    here = page.file.src_uri
    markdown = _maker("make_cpp_reference").fill(_with_install(markdown, page.meta))
    if here == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    if (PLAYGROUND / "index.html").is_file():
        frame = f'<iframe src="try/{_maker("demo_link").demo_link()}" title="The playground"></iframe>'
        markdown = _PICTURES.sub(frame, markdown)
    source = SOURCES.get(here, f"docs/{here}")

    def link(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        path, _, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return match[0]
        found = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        place = PAGES.get(found) or found.removeprefix("docs/")
        if found in PAGES or (found.startswith("docs/") and not found.endswith((".py", ".toml"))):
            relative = posixpath.relpath(place, posixpath.dirname(here) or ".")
            return f"{text}({relative}{'#' + anchor if anchor else ''})"
        if not (ROOT / found).exists():
            return match[0]  # mkdocs reports it
        return f"{text}({config.extra['repository']}/blob/main/{found})"

    parts = _CODE.split(markdown)
    # A link's text may hold code, so links are searched in the whole text between two fences.
    out, prose = [], ""
    for part in parts:
        if part.startswith("```"):
            out += [_LINK.sub(link, prose), part]
            prose = ""
        else:
            prose += part
    return _bars("".join([*out, _LINK.sub(link, prose)]))


def _with_install(markdown: str, meta: Mapping[str, Any]) -> str:
    """The page with the command that installs what its front matter states, unless it begins with it."""
    if "extras" not in meta:
        return markdown
    command = _maker("install").command(meta["extras"], meta.get("packages", ()))
    if command in markdown.partition("```python")[0]:
        return markdown
    return re.sub(r"^(# .*\n)", rf"\1\nInstall: `{command}`\n", markdown, count=1, flags=re.M)


def _bars(markdown: str) -> str:
    """Bars in code in tables without the backslash that GitHub wants: Python's Markdown would show it."""

    def row(match: re.Match[str]) -> str:
        return re.sub(r"(`+)(?!`).*?\1", lambda code: code[0].replace(r"\|", "|"), match[0])

    return re.sub(r"^\|.*$", row, markdown, flags=re.M)


def _maker(name: str) -> Any:
    """One of the scripts beside this file."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
