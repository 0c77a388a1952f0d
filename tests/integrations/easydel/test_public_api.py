"""The layer uses the public API, and the old names still lead to it."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
import unspool
from unspool import integrations
from unspool.integrations import easydel

# What has `__all__`; most has a page: see docs/easydel.md.
PUBLIC = (
    "unspool.errors", "unspool.formats.format_file", "unspool.generation", "unspool.generation.prefill",
    "unspool.generation.stream_generator", "unspool.core.needs", "unspool.core.records", "unspool.serve",
    "unspool._core",
)  # fmt: skip
FOLDER = Path(integrations.__file__).parent
LAYERS = ("unspool.integrations.easydel", "unspool.integrations.ollm", "unspool.integrations.opentslm")
FILES = [*sorted((FOLDER / "easydel").glob("*.py")), FOLDER / "ollm.py", FOLDER / "opentslm.py"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_it_imports_public_names_alone(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
            if node.module in PUBLIC:
                if node.module == "unspool.serve":
                    pytest.importorskip("uvicorn")
                module = importlib.import_module(node.module)
                assert {alias.name for alias in node.names} <= {*getattr(module, "__all__", vars(unspool))}
        for name in names:
            assert name != "unspool", "the face imports this layer"
            inside = name.startswith("unspool.")
            assert not inside or name in PUBLIC or name.startswith(LAYERS), name


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_it_uses_no_private_attribute_of_another_object(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            is_own = isinstance(node.value, ast.Name) and node.value.id in (
                "self",
                "cls",
                "GenerationDefaults",
            )
            assert is_own, f"line {node.lineno}: {ast.unparse(node)}"


def test_nothing_imports_the_layer_but_the_package_itself() -> None:
    root = Path(unspool.__file__).parent
    for file in root.rglob("*.py"):
        if file in FILES or file == root / "__init__.py":
            continue
        text = file.read_text(encoding="utf-8")
        assert not any(layer in text for layer in LAYERS), file


@pytest.mark.parametrize("name", ["InferenceConfig", "PreCompileConfig", "PromptOutput", "SampleState"])
def test_names_of_the_package_are_the_same_objects(name: str) -> None:
    assert getattr(unspool, name) is getattr(easydel, name)
    assert name in dir(unspool)


def test_a_name_that_is_missing() -> None:
    with pytest.raises(AttributeError, match="no attribute 'vInferense'"):
        _ = unspool.vInferense  # type: ignore[attr-defined]
