"""Twenty-four ways to spoil an output. Each takes bytes and gives bytes, which need not be UTF-8."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import unspool
from unspool.testing import shipped_cases

__all__ = ["MUTATIONS", "World"]

Mutation = Callable[["World", bytes], bytes]

# Characters that a reader takes for those of a marker.
_LOOK_ALIKES = {
    "<": "\u2039\uff1c\u3008", ">": "\u203a\uff1e\u3009", "|": "\u01c0\uff5c\u2223", "{": "\uff5b", "}": "\uff5d", '"': "\u201c\uff02",
    "a": "\u0430", "e": "\u0435", "o": "\u043e", "_": "\u02cd\u2581", ":": "\u02d0\uff1a", "/": "\u2044\uff0f",
}  # fmt: skip
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_BAD_UTF8 = [
    b"\x80",
    b"\xff",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf8\x88\x80\x80\x80",
]
_ODD_NUMBERS = [
    b"NaN", b"-Infinity", b"1e999", b"-0", b"00", b"1.", b".5", b"1e", b"0x1F", b"1_000", b"9" * 400, b"1" + b"0" * 30 + b".5e-7",
]  # fmt: skip
_LINE_ENDS = ["\r", "\r\n", "\n\r", "\u2028", "\u0085", "\v", "\f", "\t"]


@functools.cache
def _outputs() -> dict[str, tuple[bytes, ...]]:
    return {
        file.name: tuple(case.input.encode() for case in shipped_cases(file.name))
        for file in unspool.formats()
    }


@functools.cache
def _markers(format: str) -> tuple[bytes, ...]:
    found = unspool.get_format(format).facts.markers
    return tuple(sorted({marker.strip().encode() for marker in found if marker.strip()}))


@dataclass
class World:
    """What a mutation may use."""

    format: str
    rng: random.Random
    names: list[str] = field(default_factory=lambda: sorted(_outputs()))

    @property
    def markers(self) -> tuple[bytes, ...]:
        """Of the format."""
        return _markers(self.format) or (b"<tool_call>",)

    def marker(self) -> bytes:
        """A marker, usually of the format."""
        own = self.rng.random() < 0.8
        return self.rng.choice(self.markers if own else _markers(self.rng.choice(self.names)) or self.markers)

    def output(self, own: bool) -> bytes:
        """An output of the format, or of another."""
        return self.rng.choice(_outputs()[self.format if own else self.rng.choice(self.names)] or (b"Hi",))

    def place(self, text: bytes) -> int:
        """A place in a text."""
        return self.rng.randint(0, len(text))

    def find(self, text: bytes) -> tuple[int, int] | None:
        """Where one of the format's markers stands."""
        found = [(at, at + len(marker)) for marker in self.markers for at in _places_of(marker, text)]
        return self.rng.choice(found) if found else None


def _places_of(marker: bytes, text: bytes) -> list[int]:
    found, at = [], text.find(marker)
    while at >= 0 and len(found) < 50:
        found.append(at)
        at = text.find(marker, at + 1)
    return found


def _insert(world: World, text: bytes, piece: bytes) -> bytes:
    at = world.place(text)
    return text[:at] + piece + text[at:]


def _at_marker(world: World, text: bytes, change: Callable[[bytes], bytes]) -> bytes:
    place = world.find(text)
    if place is None:
        return _insert(world, text, change(world.marker()))
    begin, end = place
    return text[:begin] + change(text[begin:end]) + text[end:]


def _splice(world: World, text: bytes, own: bool) -> bytes:
    other = world.output(own)
    return text[: world.place(text)] + other[world.place(other) :]


def _swap(world: World, text: bytes) -> bytes:
    return _at_marker(world, text, lambda _: world.marker())


def _nest(world: World, text: bytes) -> bytes:
    return _insert(world, text, world.output(world.rng.random() < 0.7))


def _split_by_invisible(world: World, text: bytes) -> bytes:
    def change(marker: bytes) -> bytes:
        at = world.rng.randint(1, max(1, len(marker) - 1))
        return marker[:at] + world.rng.choice(_INVISIBLE).encode() + marker[at:]

    return _at_marker(world, text, change)


def _look_alike(world: World, text: bytes) -> bytes:
    def change(marker: bytes) -> bytes:
        letters = list(marker.decode(errors="replace"))
        known = [index for index, letter in enumerate(letters) if letter in _LOOK_ALIKES]
        if known:
            index = world.rng.choice(known)
            letters[index] = world.rng.choice(_LOOK_ALIKES[letters[index]])
        return "".join(letters).encode()

    return _at_marker(world, text, change)


def _cut_marker(world: World, text: bytes) -> bytes:
    return _at_marker(world, text, lambda marker: marker[: world.rng.randint(0, len(marker))])


def _line_ends(world: World, text: bytes) -> bytes:
    return text.replace(b"\n", world.rng.choice(_LINE_ENDS).encode(), world.rng.choice([1, -1]))


def _depth(world: World, text: bytes) -> bytes:
    count = world.rng.choice([3, 60, 600])
    opener, closer = world.rng.choice([(b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"{", b"}")])
    return _insert(
        world, text, opener * count + b"1" + closer * world.rng.choice([0, count - 1, count, count + 1])
    )


def _long_name(world: World, text: bytes) -> bytes:
    name = world.rng.choice([b"n", b"n.", b" n", "ü".encode()]) * world.rng.choice([100, 1100])
    for known in (b"get_weather", b"name"):
        if known in text:
            return text.replace(known, name, 1)
    return _at_marker(world, text, lambda marker: marker + name)


def _twice(world: World, text: bytes) -> bytes:
    """A part stands twice: a key, a value, a call."""
    begin, end = sorted((world.place(text), world.place(text)))
    part = text[begin : min(end, begin + 80)]
    return text[:begin] + part + world.rng.choice([b"", b",", b", ", b"\n"]) + text[begin:]


def _flip(world: World, text: bytes) -> bytes:
    changed = bytearray(text)
    for _ in range(world.rng.choice([1, 1, 3])):
        if changed:
            changed[world.rng.randrange(len(changed))] ^= 1 << world.rng.randrange(8)
    return bytes(changed)


def _interleave(world: World, text: bytes) -> bytes:
    other, made = world.output(world.rng.random() < 0.5), bytearray()
    left, right = text, other
    while left or right:
        size = world.rng.randint(1, 40)
        made += left[:size]
        left = left[size:]
        size = world.rng.randint(1, 40)
        made += right[:size]
        right = right[size:]
    return bytes(made)


def _number(world: World, text: bytes) -> bytes:
    digits = [index for index, byte in enumerate(text) if 48 <= byte <= 57]
    odd = world.rng.choice(_ODD_NUMBERS)
    if not digits:
        return _insert(world, text, odd)
    at = world.rng.choice(digits)
    return text[:at] + odd + text[at + 1 :]


def _escape(world: World, text: bytes) -> bytes:
    pieces = [
        b"\\",
        b"\\u12",
        b"\\ud83d",
        b"\\udc00",
        b'\\"',
        b"\\\\",
        b"\\x41",
        b"\\n",
        b"&lt;",
        b"&#x3c;",
        b"&quot;",
    ]
    return _insert(world, text, world.rng.choice(pieces))


def _quoted(world: World, text: bytes) -> bytes:
    """A whole output, as a value of another one may hold it."""
    value = world.rng.choice([b"Paris", b"Hello", b"x", b"f"])
    inner = world.output(world.rng.random() < 0.7)
    if world.rng.random() < 0.3:  # within JSON
        inner = json.dumps(inner.decode())[1:-1].encode()
    if value not in text:
        return _insert(world, text, inner)
    return text.replace(value, world.rng.choice([inner, b"Example:\n" + inner + b"\nThat was it."]), 1)


def _fenced(world: World, text: bytes) -> bytes:
    """A whole output in a fence, after prose or before it."""
    fence = world.rng.choice([b"```", b"~~~", b"````"])
    inner = world.output(world.rng.random() < 0.7)
    block = fence + world.rng.choice([b"", b"xml", b"json"]) + b"\n" + inner + b"\n" + fence
    before, behind = world.rng.choice([(b"A call:\n\n", b"\n\nShall I?"), (b"", b""), (b"- ", b"\n")])
    return world.rng.choice([before + block + behind + text, text + b"\n" + before + block + behind])


def _delete(world: World, text: bytes) -> bytes:
    begin, end = sorted((world.place(text), world.place(text)))
    return text[:begin] + text[min(end, begin + world.rng.choice([1, 3, 20])) :]


MUTATIONS: dict[str, Mutation] = {
    "splice of the family's outputs": lambda world, text: _splice(world, text, True),
    "splice of two families' outputs": lambda world, text: _splice(world, text, False),
    "marker doubled": lambda world, text: _at_marker(world, text, lambda marker: marker * 2),
    "marker removed": lambda world, text: _at_marker(world, text, lambda _: b""),
    "marker swapped": _swap,
    "marker inserted": lambda world, text: _insert(world, text, world.marker()),
    "marker cut": _cut_marker,
    "marker split by nothing visible": _split_by_invisible,
    "marker of look-alikes": _look_alike,
    "output in an output": _nest,
    "output quoted in a value": _quoted,
    "output in a fence": _fenced,
    "interleaved": _interleave,
    "invalid UTF-8": lambda world, text: _insert(world, text, world.rng.choice(_BAD_UTF8)),
    "line ends": _line_ends,
    "NUL": lambda world, text: _insert(world, text, world.rng.choice([b"\0", b"\0" * 9, b"\x1b[0m", b"\x7f"])),
    "byte order mark": lambda world, text: b"\xef\xbb\xbf" + text if world.rng.random() < 0.5 else _insert(world, text, b"\xef\xbb\xbf"),
    "odd number": _number,
    "odd escape": _escape,
    "depth": _depth,
    "long name": _long_name,
    "part twice": _twice,
    "bits flipped": _flip,
    "part removed": _delete,
}  # fmt: skip
