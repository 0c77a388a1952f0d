"""Errors for calls with wrong arguments: what is wrong, the value, and what to pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from unspool.errors import UnknownOptionError, shorten

__all__ = ["explain", "near_names", "shown", "unknown_option"]


def shown(value: object) -> str:
    """A value's repr, cut if it is long."""
    return shorten(repr(value), 80)


def near_names(name: str, names: Iterable[str], count: int = 1) -> str:
    """Return a hint such as `did you mean 'stop'?`; empty if no name is similar."""
    import difflib  # only errors need it

    near = difflib.get_close_matches(name, list(names), n=count)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""


def unknown_option(call: str, name: str, names: Iterable[str]) -> UnknownOptionError:
    """The error for an option that does not exist."""
    known = list(names)
    hint = near_names(name, known) or f"see help({call})"
    return UnknownOptionError(f"{call}: there is no option {shown(name)}; {hint}")


#: For each type name of pybind11: whether a value has the type, and the type in words.
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str), "a str"),
    "bytes": (lambda value: isinstance(value, bytes), "bytes"),
    "bool": (lambda value: isinstance(value, bool), "a bool"),
    "dict": (lambda value: isinstance(value, dict), "a dict"),
    "list": (lambda value: isinstance(value, list), "a list"),
    "typing.SupportsInt": (lambda value: hasattr(value, "__index__"), "an int"),
    "typing.SupportsFloat": (lambda value: hasattr(value, "__float__"), "a float"),
    "typing.SupportsIndex": (lambda value: hasattr(value, "__index__"), ""),
    "collections.abc.Sequence": (
        lambda value: isinstance(value, Sequence) and not isinstance(value, (str, bytes)),
        "a list",
    ),
    "collections.abc.Mapping": (lambda value: isinstance(value, Mapping), "a dict"),
    "None": (lambda value: value is None, "None"),
}


def explain(text: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError | None:
    """Return the error to raise instead of pybind11's; None: keep pybind11's.

    Args:
        text: The message of pybind11's error, which has the function's name and signatures.
    """
    if text.startswith(("Unable to cast Python instance", "Object of type ")):
        given = ", ".join(
            [*map(shown, args[1:]), *(f"{name}={shown(value)}" for name, value in kwargs.items())]
        )
        owner = f"{type(args[0]).__name__}: " if args else ""
        return TypeError(f"{owner}an argument has a wrong type, of ({given}); see help() for what it takes")
    signatures = re.findall(r"^    \d+\. (.*)$", text, re.M)
    if "incompatible" not in text or not signatures:
        return None
    parameters = _parameters(signatures[0])
    name = text.partition("(")[0]
    if "incompatible constructor" in text:
        name = signatures[0].partition("(")[0].rpartition(".")[2]
        args = args[1:]
    if parameters and parameters[0][0] == "self":
        name, args, parameters = f"{type(args[0]).__name__}.{name}", args[1:], parameters[1:]
    names = [each for each, _, _ in parameters]
    if len(signatures) == 1:
        for unknown in kwargs.keys() - set(names):
            return unknown_option(name, unknown, names)
        given_by_name = dict(zip(names, args, strict=False)) | kwargs
        missing = [
            f"'{each}'" for each, _, is_needed in parameters if is_needed and each not in given_by_name
        ]
        if missing:
            return TypeError(f"{name} needs {' and '.join(missing)}; its arguments are {', '.join(names)}")
        for each, kind, _ in parameters:
            if each in given_by_name and (wanted := _wanted(kind, given_by_name[each])):
                value = given_by_name[each]
                return TypeError(f"{name}: {each} is {shown(value)} ({type(value).__name__}); pass {wanted}")
    return TypeError(
        f"{name} does not take ({', '.join(map(shown, args))}); its arguments are {', '.join(names)}"
    )


def _parameters(signature: str) -> list[tuple[str, str, bool]]:
    """Return (name, type, whether it is required) for each parameter of a signature."""
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    found = []
    for part in re.split(r", (?=\w+: |\*, )|, (?=\*)", inside):
        name, _, kind = part.removeprefix("*, ").partition(": ")
        if kind:
            found.append((name, kind.partition(" = ")[0], " = " not in kind))
    return found


def _wanted(kind: str, value: Any) -> str:
    """Return the types that a value should have, in words; "" if it fits or the type is not known."""
    wanted = []
    for each in re.sub(r"\[.*?\]+", "", kind).split(" | "):
        own = each.rpartition(".")[2]
        fits, said = _TYPES.get(each, (None, f"a {own}"))
        if fits is None and not each.startswith("unspool."):
            return ""
        if fits(value) if fits else any(own == base.__name__ for base in type(value).__mro__):
            return ""
        wanted += [said] if said else []
    return " or ".join(wanted)
