"""Our patterns against Python's `regex`, which response templates are written for."""

from __future__ import annotations

import itertools
import time

import pytest
import unspool
from hypothesis import example, given
from hypothesis import strategies as st
from unspool import _core

regex = pytest.importorskip("regex")

_atoms = st.sampled_from(
    ["a", "b", "c", ".", r"\w", r"\s", r"\d", r"\S", "[ab]", "[^a]", r"[\s\d]", "é", "^", "$", r"\b", r"\Z"]
)
_counts = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?"])


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.builds(lambda part, count: f"(?:{part}){count}", inner, _counts),
        inner.map(lambda part: f"(?P<g>{part})" if "(?P" not in part else part),
    )


_plain = st.recursive(_atoms, _compound, max_leaves=8)
_look = st.builds(
    lambda a, sign, b, c: f"{a}(?{sign}{b}){c}",
    _plain,
    st.sampled_from("=!"),
    _plain.filter(lambda p: "(?P" not in p),
    _plain,
)
_texts = st.text("aabbc1 é\n", max_size=14)


def _has_empty_loop(pattern: str) -> bool:
    """A loop round what may be empty: engines differ in the captures, and in who goes first."""
    return bool(regex.search(r"\)[*+{?]", pattern))


def _expected(pattern: str, text: str) -> tuple[int, int, dict[str, str]] | None:
    match = regex.search(pattern, text, regex.DOTALL)
    if match is None:
        return None
    begin, end = (len(text[:at].encode()) for at in match.span())
    return begin, end, {k: v for k, v in match.groupdict().items() if v is not None}


def _pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in itertools.pairwise(places)]


@given(st.one_of(_plain, _look), _texts, st.lists(st.integers(0, 20), max_size=6))
@example("a(?:bc)?", "ab", [1])
@example("<(?:bcd)?|b", "<bc", [1, 2])
@example(r"a(?!bc)", "abac", [1, 2, 3])
@example(r"(?=[\s\S]*?c)", "aabbc", [1, 2, 3])
@example(r"aa\s*|$", "aa", [1])
def test_the_match_is_that_of_the_whole_text(pattern: str, text: str, cuts: list[int]) -> None:
    expected = _expected(pattern, text)
    found = _core._find_pattern(pattern, _pieces(text, cuts))
    assert found == _core._find_pattern(pattern, list(text)) == _core._find_pattern(pattern, [text])
    if not _has_empty_loop(pattern):
        assert found == expected
    else:
        assert (found is None) == (expected is None)
        if found and expected:
            assert found[0] == expected[0]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(a)\1", "back-reference"),
        (r"(?P<a>x)(?P=a)", "back-reference"),
        (r"(?<=a)b", "look-behind"),
        (r"(?<!a)b", "look-behind"),
        (r"a*+", "possessive"),
        (r"(?>a)", "atomic"),
        (r"(?R)", "recursion"),
        (r"(?i)a", "flag"),
        (r"\p{L}", "escape"),
        ("(a", "missing )"),
        ("a)", "unbalanced"),
        ("[a", "missing ]"),
        ("a**", "multiple repeat"),
        ("*a", "nothing to repeat"),
        ("(?:a{100}){100}{100}", "multiple repeat"),
        ("(?:(?:a{100}){100}){100}", "too large"),
        ("(" * 500, "nested"),
        ("(?:(?:(?:(?:){1000}){1000}){1000}){1000}", "more than 1000000 parts"),
        ("(?:" + "(?:)" * 10_000 + "a){1000}", "more than 1000000 parts"),
        ("a" * 65_537, "at most 65536"),
        ("(?=a{1000})", "look-aheads"),
        ("(?=a{400})" * 3, "look-aheads"),
        ("".join(f"(?P<g{i}>a)" for i in range(65)), "64 named groups"),
    ],
)
def test_what_would_not_be_linear_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(unspool.FormatError, match=regex.escape(why)):
        _core._find_pattern(pattern, [])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?=[\s\S]*?</think>)x", "a"),
        (r"(?:a*)*b", "a"),
        (r"(?:a|a)*b", "a"),
        (r"commentary to=\w+.*?<\|message\|>", "commentary to=x"),
        (r"a(?=b*c)", "ab"),
    ],
)
def test_time_is_linear(pattern: str, text: str) -> None:
    def seconds(count: int) -> float:
        pieces = [text] * count
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            _core._find_pattern(pattern, pieces)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(16_000) < 40 * seconds(1_000) + 0.01


@pytest.mark.parametrize("name", ["w", "s", "d"])
def test_classes_are_those_of_regex(name: str) -> None:
    points = [*range(0x3100), *range(0x4E00, 0x4E10), *range(0xAC00, 0xAC08), 0x1D7CE, 0x1F600, 0x20000]
    for point in points:
        expected = regex.match(rf"\{name}", chr(point)) is not None
        assert (_core._find_pattern(rf"\{name}", [chr(point)]) is not None) == expected, hex(point)
