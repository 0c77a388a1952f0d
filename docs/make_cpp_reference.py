"""The C++ reference: each line `::: path/of/a/header.h` of a page becomes what the header declares.

Only the site shows it (docs/site_hooks.py). To print it: `python docs/make_cpp_reference.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

CORE = Path(__file__).parents[1] / "csrc"
PAGE = Path(__file__).parent / "reference" / "cpp.md"
_PLACE = re.compile(r"^::: ([\w/]+\.h)$", re.M)


def fill(page: str) -> str:
    """The page with the reference of each header that it names."""
    return _PLACE.sub(lambda match: reference(match[1]), page)


def reference(header: str) -> str:
    """What a header declares, with its comments, by class."""
    text = (CORE / header).read_text(encoding="utf-8")
    intro = re.match(r"((?://.*\n)+)", text)
    parts = [" ".join(line.removeprefix("//").strip() for line in intro[1].splitlines()), ""] if intro else []
    for name, comment, body in entities(text):
        parts += [f"### `{name}`", "", *([comment, ""] if comment else []), "```cpp", body, "```", ""]
    return "\n".join(parts).rstrip()


def entities(text: str) -> list[tuple[str, str, str]]:
    """The name, comment and public declaration of each class, struct, enum and function of a header."""
    lines = text[text.index("namespace unspool {") :].splitlines()[1:]
    found: list[tuple[str, str, str]] = []
    comment: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("///"):
            comment.append(line.removeprefix("///").strip())
        elif line and line[0] not in " }/#":
            end = _end_of(lines, at)
            block = lines[at : end + 1]
            name = _name_of(" ".join(block))
            if name:
                found.append((name, " ".join(comment), _public("\n".join(block))))
            comment, at = [], end
        elif not line:
            comment = []
        at += 1
    return found


def _end_of(lines: list[str], at: int) -> int:
    """The line where the declaration that begins here ends."""
    depth = 0
    for number in range(at, len(lines)):
        code = lines[number].split("//")[0]
        depth += code.count("{") - code.count("}") + code.count("(") - code.count(")")
        if depth == 0 and code.rstrip().endswith((";", "}")):
            return number
    return len(lines) - 1


def _name_of(text: str) -> str | None:
    """What a declaration declares; None: a forward declaration."""
    found = re.match(
        r"(?:template <[^>]*> )?(?:class|struct|enum class|enum) (\w+)(?: final)?\s*([:{;])", text
    )
    if found:
        return None if found[2] == ";" else found[1]
    found = re.match(r"(?:[\w:<>,&*\[\] ]+?[ &*])(\w+)\(", text) or re.match(r"using (\w+) =", text)
    return found[1] if found else re.sub(r"\s*[={;].*", "", text).split(" ")[-1]


def _public(block: str) -> str:
    """The declaration without private parts and bodies of functions."""
    if re.match(r"(?:template <[^>]*>\s+)?(?:class|struct)\b", block):
        block = re.sub(r"^ (?:private|protected):\n.*?(?=^ public:|^\};?$)", "", block, flags=re.M | re.S)
        block = re.sub(r"\n public:\n", "\n", block, count=1)
        head = r"^(  (?![ /])[^;{}]*?\)(?: const)?(?: noexcept)?(?: override)?)(?:\s*:\s[^;]*?)?"
        block = re.sub(head + r" \{(?:[^\n]*\}|\n.*?^  \})$", r"\1;", block, flags=re.M | re.S)
    elif "(" in block and not block.startswith(("enum", "using")):
        block = re.sub(r" \{.*\}$", ";", block, flags=re.S)
    return re.sub(r"\n{3,}", "\n\n", block).replace("\n\n};", "\n};").strip()


if __name__ == "__main__":
    print(fill(PAGE.read_text(encoding="utf-8")))
