"""Type checkers find nothing in a program that uses the package."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import unspool

PROGRAM = Path(__file__).with_name("user_program.py")
PACKAGE = Path(unspool.__file__).parents[1]


#: Other packages take most of the time, and have no part in this.
MYPY = """[mypy]
strict = True
mypy_path = {}
[mypy-torch.*,transformers.*,numpy.*,llguidance.*,starlette.*,jinja2.*,msgspec.*]
follow_imports = skip
ignore_missing_imports = True
"""


def test_the_program_runs() -> None:
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=True)
    assert "chat.completion.chunk" in done.stdout


@pytest.mark.timeout(600)  # without a cache
def test_mypy(tmp_path: Path) -> None:
    mypy = shutil.which("mypy") or pytest.skip("needs mypy")
    (tmp_path / "mypy.ini").write_text(MYPY.format(PACKAGE))
    command = [mypy, "--config-file", "mypy.ini", "--python-executable", sys.executable, PROGRAM]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_pyright(tmp_path: Path) -> None:
    pyright = shutil.which("pyright") or shutil.which("basedpyright") or pytest.skip("needs pyright")
    config = {"typeCheckingMode": "strict", "include": [str(PROGRAM)], "extraPaths": [str(PACKAGE)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [pyright, "--pythonpath", sys.executable, "-p", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
