"""docs/mlserver.md: its first block runs as it stands, and its tables say what there is."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mlserver", reason="mlserver is not installed; pip install 'unspool[mlserver]'")

from unspool.serve.wires.inference_request import INPUTS, InferenceParameters

from .mlserver_host import environment, frames, free_ports, texts

PAGE = Path(__file__).parents[2] / "docs" / "mlserver.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")


def section(title: str) -> str:
    return PAGE.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_first_block_streams(tmp_path: Path) -> None:
    """Pasted into a shell; other ports are all that is changed."""
    block = re.search(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert block
    ports = dict(zip(("HTTP", "GRPC", "METRICS"), free_ports(3), strict=True))
    text = block[1].replace("localhost:8080", f"127.0.0.1:{ports['HTTP']}")
    variables = environment(ports)
    variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), variables["PATH"]])
    log = tmp_path / "log"
    # The server says all it has to say to the log: what is left is curl's.
    text = text.replace("mlserver start chat &", f"mlserver start chat > {log} 2>&1 &")
    shell = subprocess.Popen(
        ["bash", "-c", text], env=variables, cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        out, _ = shell.communicate(timeout=60)
    finally:
        os.killpg(shell.pid, signal.SIGTERM)  # the server, which the reader ends too
    responses = frames(out.decode())
    assert texts(responses)
    assert len(responses) > 3
    assert responses[-1]["parameters"]["finish_reason"] == "stop", log.read_text()


def test_the_settings_are_those_that_are_read() -> None:
    from unspool.integrations.mlserver import RuntimeSettings

    rows = [line.split("|")[1] for line in section("Settings").splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert told == {field.name for field in dataclasses.fields(RuntimeSettings)}


def test_the_parameters_are_those_that_are_read() -> None:
    fields = set(InferenceParameters.__struct_fields__)
    text = section("A request")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == fields
    assert set(INPUTS) <= set(re.findall(r"`(\w+)`", text.split("\n|")[0]))


def test_the_factory_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unspool.serve.models.call_factory import call_factory

    from .mlserver_models import byte_tokenizer, llama

    generator: Any = llama()
    generator.model.save_pretrained(tmp_path / "tiny")
    byte_tokenizer().save_pretrained(tmp_path / "tiny")
    code = re.search(r"```python\n(.*?)```", section("Settings"), re.S)
    assert code
    text = code[1].replace("/models/Qwen3-8B", str(tmp_path / "tiny"))
    (tmp_path / "own_model.py").write_text(text, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "own_model", raising=False)
    made = call_factory("own_model:make", str(tmp_path))
    assert made.generate("Hello", max_new_tokens=3).usage.completion_tokens == 3
    del sys.modules["own_model"]
