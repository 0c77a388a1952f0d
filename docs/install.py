"""The one story of the install, in README, in the pages and on the site.

A page states in its front matter what its blocks need: `extras`, and `packages` of others. The site shows the command under
the title (site_hooks.py), and tests/docs/test_pages.py runs the blocks with exactly that. After a change of `SOURCE`,
`python docs/install.py` writes README and the pages anew; the same tests compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

#: What pip installs: the checkout, or "unspool" once there is a release.
SOURCE = "."
#: How that is done, by source.
STORIES = {
    ".": "There is no release yet, so run this in a clone of the repository. You need a C++20 compiler.",
    "unspool": "A wheel needs no compiler. On a platform without a wheel, you need a C++20 compiler.",
}
#: These extras serve who works on the repository, so their commands always name the checkout.
_OF_THE_CHECKOUT = re.compile("test|docs|bench|wheels|dev")
_COMMAND = re.compile(r"(?<!-e )(pip install) (?:'(?:\.|unspool)\[([\w,-]+)\]'|(?:\.|unspool)(?![\w./]))")
_FRONT_MATTER = re.compile(r"---\nextras: \[(.*)\]\n(?:packages: \[(.*)\]\n)?---\n")
ROOT = Path(__file__).parents[1]


def command(extras: Iterable[str] = (), packages: Iterable[str] = ()) -> str:
    """The command that installs the package with these extras, and other packages."""
    names = ",".join(extras)
    source = "." if _OF_THE_CHECKOUT.match(names) else SOURCE
    return " ".join(["pip install", f"'{source}[{names}]'" if names else source, *packages])


def front_matter(page: str) -> tuple[list[str], list[str]] | None:
    """The extras and the other packages that a page states; None: it states nothing."""
    found = _FRONT_MATTER.match(page)
    if found is None:
        return None
    extras, packages = (re.findall(r"[^\s,]+", part or "") for part in found.groups())
    return extras, packages


def rewritten(text: str) -> str:
    """A page whose commands name the source."""
    for story in STORIES.values():
        text = text.replace(story, STORIES[SOURCE])
    return _COMMAND.sub(lambda found: command([found[2]] if found[2] else []), text)


def pages() -> Iterator[Path]:
    """Every file that tells the story."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


if __name__ == "__main__":
    for path in pages():
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
