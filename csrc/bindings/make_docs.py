"""Writes the documentation of the native module's members for csrc/bindings/docs.cpp: python make_docs.py STUB OUT"""

from __future__ import annotations

import ast
import copy
import sys
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


def has_mark(function: Function, name: str) -> bool:
    return any(getattr(mark, "id", "") == name for mark in function.decorator_list)


def signature(function: Function, owner: str) -> str:
    """As `inspect` reads it from a native docstring: without types, and `self` marked."""
    arguments = copy.deepcopy(function.args)
    for node in ast.walk(arguments):
        if isinstance(node, ast.arg):
            node.annotation = None
    is_method = bool(owner) and not has_mark(function, "staticmethod")
    return f"({'$' if is_method else ''}{ast.unparse(arguments)})"


def document(name: str, owner: str, overloads: list[Function]) -> str:
    text = "\n\n".join(filter(None, map(ast.get_docstring, overloads)))
    if has_mark(overloads[0], "property"):
        return text
    if not text and name.startswith("__") and name != "__init__":
        return ""
    # `inspect` reads one signature.
    return (f"{name}{signature(overloads[0], owner)}\n--\n\n" if len(overloads) == 1 else "") + text


def document_class(node: ast.ClassDef) -> str:
    makers = [
        each for each in node.body if isinstance(each, Function) and each.name in ("__init__", "__new__")
    ]
    head = ""
    if len(makers) == 1:
        maker = copy.deepcopy(makers[0])
        del maker.args.args[0]
        head = f"{node.name}{signature(maker, '')}\n--\n\n"
    return head + (ast.get_docstring(node) or "")


def find_docs(stub: ast.Module) -> dict[str, tuple[str, str]]:
    """The text, and the signature with types, for each class, "Class.member" and function; "" for none."""
    docs: dict[str, tuple[str, str]] = {}

    def add_functions(owner: str, nodes: list[ast.stmt]) -> None:
        functions: dict[str, list[Function]] = {}
        for node in nodes:
            if isinstance(node, Function):
                functions.setdefault(node.name, []).append(node)
        for name, overloads in functions.items():
            typed = f"({ast.unparse(overloads[0].args)})" if len(overloads) == 1 else ""
            docs[f"{owner}.{name}" if owner else name] = (document(name, owner, overloads), typed)

    add_functions("", stub.body)
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            docs[node.name] = (document_class(node), "")
            add_functions(node.name, node.body)
    return docs


def main(stub: str, out: str) -> None:
    docs = find_docs(ast.parse(Path(stub).read_text(encoding="utf-8")))
    rows = [
        f'{{"{name}", R"doc({text})doc", R"doc({typed})doc"}},\n'
        for name, (text, typed) in sorted(docs.items())
    ]
    Path(out).write_text("".join(rows), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
