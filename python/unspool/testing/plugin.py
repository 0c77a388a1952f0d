"""A pytest plugin that collects `*.format.toml` files, with one test per example."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from unspool.formats.format_file import FormatFile
    from unspool.testing.cases import Case


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(".format.toml"):
        return None
    return _FormatTests.from_parent(parent, path=file_path)


class _FormatTests(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        from unspool.errors import FormatError
        from unspool.formats.format_file import read_format
        from unspool.testing.cases import Case

        # An exception from this method would stop the whole run before its first test.
        try:
            file = read_format(self.path)
        except FormatError as error:
            yield _FailedTest.from_parent(self, name="file", problem=str(error))
            return
        for number, (line, example) in enumerate(zip(file.example_lines, file.examples, strict=True), 1):
            try:
                case = Case.from_example(file, example, number)
            except ValueError as error:
                problem = f"{self.path.name}:{line}: {error}"
                yield _FailedTest.from_parent(self, name=f"example {number}", problem=problem)
            else:
                yield _ExampleTest.from_parent(self, name=case.name, format_file=file, case=case)


class _FailedTest(pytest.Item):
    """A test that fails, because a file or an example cannot be read."""

    def __init__(self, *, problem: str, **more: Any) -> None:
        super().__init__(**more)
        self._problem = problem

    def runtest(self) -> None:
        pytest.fail(self._problem, pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class _ExampleTest(pytest.Item):
    def __init__(self, *, format_file: FormatFile, case: Case, **more: Any) -> None:
        super().__init__(**more)
        self._file = format_file
        self._case = case

    def runtest(self) -> None:
        from unspool.testing.check import assert_format

        assert_format(self._file, self._case)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self._file.name}: {self.name}"
