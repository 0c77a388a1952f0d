"""Reports the parser names of other stacks that no format has.

    python bench/conformance/names_of_stacks.py [--packages FOLDER]

The names are read from the stack's package if it is installed, or is in FOLDER (`pip install --no-deps --target FOLDER
vllm`), and else from docs/stack_names.toml. Nothing is imported: a package's files say what it registers. A name that
docs/stack_names.toml lacks is reported too. The exit code is the number of names that are reported.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import unspool

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).parents[2] / "docs" / "stack_names.toml"
KINDS = ("tools", "reasoning")

#: Names of a checkpoint's own template.
OF_THE_TEMPLATE = {"hf", "response_template", "auto"}
#: (stack, kind, name): why the name has no format that reads this.
BY_DESIGN = {
    ("rapid_mlx", "tools", "generic"): "tries one form after the other; here detect chooses: pass 'auto'",
    (
        "rapid_mlx",
        "tools",
        "deepseek_r1",
    ): "reads V3's calls; elsewhere it is the reasoning alone: pass 'deepseek_v3'",
    (
        "rapid_mlx",
        "tools",
        "kimi",
    ): "reads Kimi K2's calls; elsewhere it is Kimi VL's reasoning: pass 'kimi_k2'",
}

_TABLE = r'^ {4,8}"([\w.-]+)": ?[\w(]'
_DECORATOR = (
    r"^ {0,4}@?[\w.]*register_(?:module|parser)\((?:name=|module_name=)?\[?((?:\s*['\"][\w.-]+['\"],?)+)"
)
#: The distribution of each stack, and for each kind the files and the pattern of the names in them.
SOURCES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "vllm": ("vllm", {
        "tools": (r"vllm/tool_parsers/__init__\.py", _TABLE),
        "reasoning": (r"vllm/reasoning/__init__\.py", _TABLE),
    }),
    "sglang": ("sglang", {
        "tools": (r"sglang/srt/function_call/function_call_parser\.py", r'^ {8}"([\w.-]+)": \w+Detector'),
        "reasoning": (r"sglang/srt/parser/reasoning_parser_names\.py", r'^ {4}"([\w.-]+)",'),
    }),
    "easydel": ("easydel", {
        "tools": (r"easydel/inference/tools/.*\.py", _DECORATOR),
        "reasoning": (r"easydel/inference/reasoning/.*\.py", _DECORATOR),
    }),
    "lmdeploy": ("lmdeploy", {
        "tools": (r"lmdeploy/serve/parsers/tool_parser/.*\.py", _DECORATOR),
        "reasoning": (r"lmdeploy/serve/parsers/reasoning_parser/.*\.py", _DECORATOR),
    }),
    "rapid_mlx": ("rapid-mlx", {
        "tools": (r"rapid_mlx/tool_parsers/.*\.py", _DECORATOR),
        "reasoning": (r"rapid_mlx/reasoning/.*\.py", _DECORATOR),
    }),
    "mlx_lm": ("mlx-lm", {"tools": (r"mlx_lm/tool_parsers/(?!_).*\.py", "")}),
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Report the parser names of other stacks that no format has."
    )
    parser.add_argument("--packages", type=Path, help="a folder into which pip has installed the stacks")
    folder = parser.parse_args().packages
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    reported = 0
    for stack, names in listed.items():
        own = installed_names(stack, folder)
        release = own[0] if own else f"{names['release']}, listed"
        found = {kind: own[1].get(kind, []) if own else names[kind] for kind in KINDS}
        problems = [
            *unresolved(stack, found),
            *(f"{kind} {name}: not listed" for kind in KINDS if own for name in found[kind]
              if name not in names[kind] and (stack, kind, name) not in BY_DESIGN and resolves(kind, name)),
        ]  # fmt: skip
        reported += len(problems)
        print(f"{stack} {release}: {sum(map(len, found.values()))} names, {len(problems)} reported")
        for problem in problems:
            print(f"  {problem}")
    return reported


def unresolved(stack: str, names: dict[str, list[str]]) -> list[str]:
    """The names that have no format of their kind, except by design."""
    return [
        f"{kind} {name}: no format"
        for kind in KINDS
        for name in names[kind]
        if (stack, kind, name) not in BY_DESIGN and not resolves(kind, name)
    ]


def resolves(kind: str, name: str) -> bool:
    """Whether a format has the name, and reads calls or reasoning; one that keeps everything as content reads both."""
    if name in OF_THE_TEMPLATE:
        return True
    try:
        file = unspool.get_format(name)
    except unspool.UnknownFormatError:
        return False
    return file.is_plain or (file.has_tools if kind == "tools" else file.has_reasoning)


def installed_names(stack: str, folder: Path | None) -> tuple[str, dict[str, list[str]]] | None:
    """The release of a stack's package and the names in its files; None if it is not installed."""
    if stack not in SOURCES:
        return None
    project, kinds = SOURCES[stack]
    paths = {} if folder is None else {"path": [str(folder)]}
    package = next(iter(metadata.distributions(name=project, **paths)), None)
    if package is None:
        return None
    names = {
        kind: list(dict.fromkeys(names_in(package, files, pattern)))
        for kind, (files, pattern) in kinds.items()
    }
    return f"{package.version}, installed", names


def names_in(package: metadata.Distribution, files: str, pattern: str) -> Iterator[str]:
    """The names that the files register; without a pattern, a file's name is the parser's."""
    for file in package.files or ():
        if not re.fullmatch(files, file.as_posix()):
            continue
        if not pattern:
            yield file.stem
            continue
        for match in re.finditer(pattern, Path(str(package.locate_file(file))).read_text("utf-8"), re.M):
            yield from re.findall(r"[\w.-]+", match[1])


if __name__ == "__main__":
    sys.exit(main())
