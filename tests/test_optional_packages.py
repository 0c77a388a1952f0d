"""Where a package of an extra is missing, one line says what to install."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import unspool

from .environments import ROOT, clean_variables, make_environment

pytestmark = pytest.mark.skipif(not (ROOT / "csrc").is_dir(), reason="runs in a checkout")
PACKAGE = Path(unspool.__file__).parent
IMPORT_ALL = """
import importlib, pkgutil, unspool
for module in pkgutil.walk_packages(unspool.__path__, "unspool.", onerror=lambda name: None):
    if module.name == "unspool.testing.plugin":  # only pytest imports it
        continue
    try:
        importlib.import_module(module.name)
    except SystemExit as stop:  # the command line
        assert "; pip install 'unspool[" in str(stop), (module.name, stop)
    except ImportError as error:
        assert "; pip install 'unspool[" in str(error), (module.name, error)
        assert "\\n" not in str(error)
"""
#: Functions that only run with objects of a package, or in a process that has it.
REACHED_WITH_IT = {
    **{
        path.relative_to(PACKAGE).as_posix(): {"torch", "transformers"}
        for path in PACKAGE.glob("generation/**/*.py")
    },
    "core/schema/check_keywords.py": {"referencing"},
    "core/schema/function_schema.py": {"pydantic"},
    "core/stream/typed_arguments.py": {"pydantic"},
    "formats/templates/child.py": {"jinja2"},
    "generation/telemetry.py": {"opentelemetry"},  # it records if the program has imported it
    "generation/prompts/sandboxed_template.py": {"jinja2"},
    "writing/engines/mask.py": {"numpy", "torch"},
}


def test_every_module_says_what_it_needs(tmp_path: Path) -> None:
    python = make_environment(tmp_path, ["unspool"])
    done = subprocess.run(
        [python, "-c", IMPORT_ALL], capture_output=True, text=True, env=clean_variables(python), check=False
    )
    assert done.returncode == 0, done.stderr


def bare_imports(node: ast.AST, is_guarded: bool = False, is_inner: bool = False) -> Iterator[str]:
    """The packages of others that functions import without a word about what to install."""
    if isinstance(node, (ast.Import, ast.ImportFrom)) and is_inner and not is_guarded:
        modules = [name.name for name in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        yield from {name.split(".")[0] for name in modules} - {*sys.stdlib_module_names, "unspool"}
    if isinstance(node, ast.With):
        is_guarded = is_guarded or any(
            ast.unparse(item.context_expr).startswith(("needs(", "foreign(")) for item in node.items
        )
    if isinstance(node, ast.Try):
        is_guarded = is_guarded or any("ImportError" in ast.unparse(one.type or one) for one in node.handlers)
    is_inner = is_inner or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    for child in ast.iter_child_nodes(node):
        yield from bare_imports(child, is_guarded, is_inner)


def test_every_function_says_what_it_needs() -> None:
    """Modules that import at their head are in the test above."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(("integrations/", "serve/")) or name == "__main__.py":
            continue  # their heads import what they need
        bare = {*bare_imports(ast.parse(path.read_text(encoding="utf-8")))} - REACHED_WITH_IT.get(name, set())
        if bare:
            found[name] = bare
    assert found == {}


def test_the_line_names_the_package_and_the_extra(tmp_path: Path) -> None:
    python = make_environment(tmp_path, ["unspool"])
    code = (
        "import unspool; vocabulary = unspool.Vocabulary({b'a': 0}, [], is_bytes=True)\n"
        "unspool.GrammarMatcher('start: \"a\"', vocabulary)"
    )
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, env=clean_variables(python), check=False
    )
    assert done.stderr.splitlines()[-1] == (
        "ImportError: No module named 'numpy'; pip install 'unspool[constrain]'"
    )
