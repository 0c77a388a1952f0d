"""String formats as regular expressions, for grammars that spell everything out."""

from __future__ import annotations

from typing import Any

__all__ = ["FORMAT_PATTERNS", "has_pattern"]

_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_LEAP_YEAR = rf"(?:\d\d{_FOURTH}|{_FOURTH}00)"
_YEAR = r"(?:\d{3}[1-9]|\d\d[1-9]0|\d[1-9]00|[1-9]000)"
_DAY_OF_YEAR = (
    r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_DATE = f"(?:{_YEAR}-{_DAY_OF_YEAR}|{_LEAP_YEAR}-02-29)"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL}){{0,8}}"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_GROUP = "[0-9A-Fa-f]{1,4}"
_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,32}"
_URI = r"(?:[A-Za-z0-9._~:/?@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"


def _duration() -> str:
    days = r"(?:\d{1,9}Y(?:\d{1,9}M(?:\d{1,9}D)?)?|\d{1,9}M(?:\d{1,9}D)?|\d{1,9}D)"
    clock = r"T(?:\d{1,9}H(?:\d{1,9}M(?:\d{1,9}S)?)?|\d{1,9}M(?:\d{1,9}S)?|\d{1,9}S)"
    return rf"P(?:{days}(?:{clock})?|{clock}|\d{{1,9}}W)"


def _ipv6() -> str:
    """The pattern of an IPv6 address: eight groups, or fewer with `::` instead of one or more."""
    forms = [f"(?:{_GROUP}:){{7}}{_GROUP}"]
    for before in range(8):
        left = f"{_GROUP}(?::{_GROUP}){{{before - 1}}}" if before else ""
        right = f"(?:{_GROUP}(?::{_GROUP}){{0,{6 - before}}})?" if before < 7 else ""
        forms.append(f"{left}::{right}")
    return f"(?:{'|'.join(forms)})"


FORMAT_PATTERNS = {
    name: f"^{pattern}$"
    for name, pattern in {
        "date-time": f"{_DATE}T{_TIME}",
        "date": _DATE,
        "time": _TIME,
        "duration": _duration(),
        "email": rf"{_ATOM}(?:\.{_ATOM}){{0,4}}@{_HOST}",
        "hostname": _HOST,
        "ipv4": rf"{_BYTE}(?:\.{_BYTE}){{3}}",
        "ipv6": _ipv6(),
        "uuid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
        "uri": rf"[A-Za-z][A-Za-z0-9+.-]{{0,15}}:{_URI}+(?:#{_URI}*)?",
    }.items()
}


def has_pattern(format: Any) -> bool:
    """Whether a grammar can express a schema's `format`, whose value may be of any type."""
    return isinstance(format, str) and format in FORMAT_PATTERNS
