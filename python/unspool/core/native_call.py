"""Errors for calls of native functions with wrong arguments, by their signatures in the stub."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from unspool.core.wrong_call import shown, unknown_option

__all__ = ["explain"]

#: For each type of the stub: whether a value has the type, and the type in words.
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str), "a str"),
    "bytes": (lambda value: isinstance(value, bytes), "bytes"),
    "bool": (lambda value: isinstance(value, bool), "a bool"),
    "int": (lambda value: hasattr(value, "__index__"), "an int"),
    "float": (lambda value: hasattr(value, "__float__") or hasattr(value, "__index__"), "a float"),
    "Sequence": (
        lambda value: isinstance(value, Sequence) and not isinstance(value, (str, bytes)),
        "a list",
    ),
    "Mapping": (lambda value: isinstance(value, Mapping), "a dict"),
    "Iterable": (lambda value: isinstance(value, Iterable), "an iterable"),
    "Callable": (callable, "a function"),
    "BaseException": (lambda value: isinstance(value, BaseException), "an exception"),
    "None": (lambda value: value is None, "None"),
}


class _Parameter(NamedTuple):
    name: str
    type: ast.expr | None
    is_needed: bool


def explain(
    error: TypeError, function: str, signature: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError | None:
    """Return the error to raise instead of pybind11's; None if `error` is not about the arguments' types.

    Args:
        function: The full name: `Class.method`, or the name of a function.
        signature: The parameters of the stub, with types; empty if there are none, or several overloads.
    """
    if "(): incompatible " not in str(error):  # raised by the function itself
        return None
    parameters = _parameters(signature)
    name = function.removesuffix(".__init__")
    takes_self = name != function or (bool(parameters) and parameters[0].name == "self")
    if takes_self and args:
        own = type(args[0]).__name__  # perhaps a subclass
        name = own if name != function else f"{own}.{function.rpartition('.')[2]}"
        args, parameters = args[1:], parameters[1:]
    names = [each.name for each in parameters]
    values = dict(zip(names, args, strict=False)) | kwargs
    if parameters:
        for unknown in kwargs.keys() - set(names):
            return unknown_option(name, unknown, names)
    if missing := [repr(each.name) for each in parameters if each.is_needed and each.name not in values]:
        return TypeError(f"{name} needs {' and '.join(missing)}; its arguments are {', '.join(names)}")
    for each in parameters:
        if each.name in values and (wanted := _wanted(each.type, values[each.name])):
            value = values[each.name]
            return TypeError(f"{name}: {each.name} is {shown(value)} ({type(value).__name__}); pass {wanted}")
    passed = ", ".join([*map(shown, args), *(f"{each}={shown(value)}" for each, value in kwargs.items())])
    takes = f"its arguments are {', '.join(names)}" if names else f"see help({name})"
    return TypeError(f"{name} does not take ({passed}); {takes}")


def _parameters(signature: str) -> list[_Parameter]:
    """Return the parameters of a signature, with `self`; none if it is empty."""
    if not signature:
        return []
    definition = ast.parse(f"def function{signature}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    by_place = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(by_place) - len(arguments.defaults)) + arguments.defaults + arguments.kw_defaults
    return [
        _Parameter(each.arg, each.annotation, default is None)
        for each, default in zip([*by_place, *arguments.kwonlyargs], defaults, strict=True)
    ]


def _wanted(annotation: ast.expr | None, value: Any) -> str:
    """Return the types that a value should have, in words; "" if it fits or the type is not known."""
    wanted = []
    for each in _alternatives(annotation):
        is_own = each in {base.__name__ for base in type(value).__mro__}
        fits, said = _TYPES.get(each, (lambda _, is_own=is_own: is_own, f"a {each}"))
        if each in ("", "Any", "object") or fits(value):
            return ""
        wanted.append(said)
    return " or ".join(dict.fromkeys(wanted))


def _alternatives(annotation: ast.expr | None) -> list[str]:
    """Return the names of the types in `A[B] | None`; "" for one without a name."""
    if isinstance(annotation, ast.BinOp):
        return _alternatives(annotation.left) + _alternatives(annotation.right)
    if isinstance(annotation, ast.Subscript):
        return _alternatives(annotation.value)
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return ["None"]
    return [annotation.id if isinstance(annotation, ast.Name) else ""]
