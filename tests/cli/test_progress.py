"""Progress goes to standard error, and only if that is a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

SCRIPT = """
import time
from unspool.core.progress import progress_bar, spinner

with spinner("Reading the model"):
    time.sleep(0.5)  # a short command shows nothing
print(*progress_bar(["a", "b", "c"], "Checking"), *progress_bar(["d"], "Nothing"))
"""


END = b"end"


def shown_by(*, is_terminal: bool) -> tuple[str, str]:
    """What the script writes to standard output and to standard error."""
    pty = pytest.importorskip("pty")
    read, write = pty.openpty() if is_terminal else os.pipe()
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=write, env=environment
    ) as process:
        error: list[bytes] = []
        reader = threading.Thread(target=read_to_end, args=(read, error))
        reader.start()  # a terminal holds little
        output, _ = process.communicate(timeout=60)
        os.write(write, END)
        reader.join(60)
    os.close(read)
    os.close(write)
    return output.decode(), b"".join(error).removesuffix(END).decode()


def read_to_end(file: int, read: list[bytes]) -> None:
    while not read or not read[-1].endswith(END):
        read.append(os.read(file, 65536))


def test_a_terminal_shows_that_a_command_works() -> None:
    output, error = shown_by(is_terminal=True)
    assert output == "a b c d\n"
    assert "Reading the model" in error
    assert "Checking" in error
    assert "Nothing" not in error


def test_a_file_gets_nothing_of_it() -> None:
    assert shown_by(is_terminal=False) == ("a b c d\n", "")
