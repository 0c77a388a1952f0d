"""Writes the documentation of the native module's members for csrc/bindings/docs.cpp: python make_docs.py STUB OUT"""

from __future__ import annotations

import ast
import copy
import sys
from pathlib import Path


def signature(function: ast.FunctionDef | ast.AsyncFunctionDef, owner: str) -> str:
    """As `inspect` reads it from a native docstring: without types, and `self` marked."""
    arguments = copy.deepcopy(function.args)
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            rest.annotation = None
    is_static = any(getattr(mark, "id", "") == "staticmethod" for mark in function.decorator_list)
    return f"({'$' if owner and not is_static else ''}{ast.unparse(arguments)})"


def is_property(function: ast.AST) -> bool:
    return any(getattr(mark, "id", "") == "property" for mark in getattr(function, "decorator_list", ()))


def find_docs(stub: ast.Module) -> list[tuple[str, str, str]]:
    """(class, member, text): a text of a class has no member, one of a function no class."""
    found = []

    def add(owner: str, nodes: list[ast.stmt]) -> None:
        functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                functions.setdefault(node.name, []).append(node)
        for name, overloads in functions.items():
            text = "\n\n".join(filter(None, map(ast.get_docstring, overloads)))
            if is_property(overloads[0]):
                found.append((owner, name, text))
            elif text or name == "__init__" or not name.startswith("__"):
                heads = [f"{name}{signature(each, owner)}\n--\n\n" for each in overloads]
                # `inspect` reads one signature.
                found.append((owner, name, (heads[0] if len(heads) == 1 else "") + text))

    add("", stub.body)
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            makers = [
                each
                for each in node.body
                if isinstance(each, ast.FunctionDef) and each.name in ("__init__", "__new__")
            ]
            head = ""
            if len(makers) == 1:
                maker = copy.deepcopy(makers[0])
                del maker.args.args[0]
                head = f"{node.name}{signature(maker, '')}\n--\n\n"
            found.append((node.name, "", head + (ast.get_docstring(node) or "")))
            add(node.name, node.body)
    return [entry for entry in found if entry[2]]


def main(stub: str, out: str) -> None:
    docs = find_docs(ast.parse(Path(stub).read_text(encoding="utf-8")))
    rows = [f'{{"{owner}", "{name}", R"doc({text})doc"}},\n' for owner, name, text in docs]
    Path(out).write_text("".join(rows), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
