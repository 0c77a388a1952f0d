"""A host in C++ without Python (docs/embedding.md): what it streams is what Python streams, for every format."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool import TokenStreamer, Vocabulary, WireWriter
from unspool.core.format.compile_format import export_format
from unspool.testing import shipped_cases

ROOT = Path(__file__).parents[2]
TOOLS = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"$ref": "#/$defs/count"}},
            "$defs": {"count": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        },
    }
]

pytestmark = [
    pytest.mark.skipif(not (ROOT / "examples" / "cpp").is_dir(), reason="runs in a checkout"),
    pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is missing: pip install cmake ninja"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
    ),
    pytest.mark.timeout(900),
]


def run(*command: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run([*map(str, command)], capture_output=True, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.stdout.decode()[-3000:]}{done.stderr.decode()[-3000:]}"
    return done


def link(folder: Path, library: Path) -> None:
    """Compiles the example alone, against the library that the Python module was linked from."""
    example = ROOT / "examples" / "cpp"
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))))
    options = ("-std=c++20", "-pthread", f"-I{ROOT / 'csrc'}", f"-I{example / 'stand_in'}")
    for name in ("stream", "openvino_host"):
        run(compiler, *options, example / f"{name}.cpp", library, "-o", folder / name)


def built_library() -> Path | None:
    """The newest static library of an installation or `dev_build.sh`, if it is newer than every source."""
    changed = max(file.stat().st_mtime for file in (ROOT / "csrc").rglob("*.*"))
    places = (*ROOT.glob("build/cp*"), ROOT / "build" / "dev")
    built = {
        path.stat().st_mtime: path for path in (p / "libunspool_core.a" for p in places) if path.exists()
    }
    return built[max(built)] if built and max(built) > changed else None


def is_newer(made: Path, library: Path) -> bool:
    sources = (library, *(ROOT / "examples" / "cpp").rglob("*.*"))
    return made.exists() and made.stat().st_mtime > max(file.stat().st_mtime for file in sources)


@pytest.fixture(scope="session")
def build(pytestconfig: pytest.Config) -> Path:
    """The example, built without Python; UNSPOOL_EMBED names a build of one's own, with sanitizers say.

    Plain `pytest` does not compile the core a second time.
    """
    if os.environ.get("UNSPOOL_EMBED"):
        return ROOT / os.environ["UNSPOOL_EMBED"]
    library = built_library() if pytestconfig.option.part == "sample" else None
    folder = ROOT / "build" / ("embed-linked" if library else "embed")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of the test processes builds
        if library is None:
            run("cmake", "-S", ROOT / "examples" / "cpp", "-B", folder, "-DUNSPOOL_INSTALL=ON")
            run("cmake", "--build", folder, "--parallel", "2")
        elif not is_newer(folder / "openvino_host", library):
            link(folder, library)
    return folder


def byte_vocabulary(format: str) -> Vocabulary:
    """Bytes are ids, and the format's markers are tokens, as far as models have them as such."""
    markers = unspool.get_format(format).facts.marker_tokens
    added = [(1000 + i, marker, marker, True) for i, marker in enumerate(markers)]
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True)


def encode(vocabulary: Vocabulary, text: str) -> list[int]:
    ids = {content: id for id, content in vocabulary.added_tokens.items()}
    pattern = "|".join(map(re.escape, sorted(ids, key=len, reverse=True))) or "(?!)"
    encoded: list[int] = []
    for part in re.split(f"({pattern})", text):
        encoded += [ids[part]] if part in ids else part.encode()
    return encoded


def response_of(streamer: TokenStreamer, ids: Sequence[int]) -> bytes:
    """What the example writes for an answer."""
    writer = WireWriter("chat_completions", model="example", id="chatcmpl-1", created=1)
    out = b""
    for deltas in (*map(streamer.put, ids), streamer.end()):
        for delta in deltas:
            out += writer.write(delta)
    return out + writer.end()


def stream(build: Path, folder: Path, format: str, vocabulary: bytes, tools: Any, answers: Any) -> bytes:
    (folder / "format.json").write_text(format, encoding="utf-8")
    (folder / "model.vocabulary").write_bytes(vocabulary)
    files = [folder / "format.json", folder / "model.vocabulary"]
    if tools is not None:
        files.append(folder / "tools.json")
        files[-1].write_text(json.dumps(tools))
    lines = "".join(" ".join(map(str, ids)) + "\n" for ids in answers)
    return run(build / "stream", *files, input=lines.encode(), timeout=120).stdout


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", [file.name for file in unspool.formats()])
def test_cpp_streams_what_python_streams(build: Path, tmp_path: Path, format: str) -> None:
    """Every case of the format, over the two threads of the example, to the byte."""
    vocabulary = byte_vocabulary(format)
    by_tools: dict[str, list[list[int]]] = {}
    for case in shipped_cases(format):
        for cut in (len(case.input), len(case.input) // 2):
            tools = None if case.tools is None else list(case.tools)
            by_tools.setdefault(json.dumps(tools), []).append(encode(vocabulary, case.input[:cut]))
    assert by_tools
    for written, answers in by_tools.items():
        tools = json.loads(written)
        expected = b"".join(
            response_of(TokenStreamer(vocabulary, format, tools or None, id_seed=1), ids) for ids in answers
        )
        exported = export_format(format)
        assert stream(build, tmp_path, exported, vocabulary.to_bytes(), tools or None, answers) == expected


def test_a_real_tokenizer(build: Path, tmp_path: Path, deepseek: Any) -> None:
    text = 'Zürich 東京 🙂 <tool_call>\n{"name": "get_weather", "arguments": {"city": "Köln"}}\n</tool_call>'
    answers = [deepseek.encode(text), []]
    expected = b"".join(
        response_of(TokenStreamer(deepseek.vocabulary, "hermes", TOOLS, id_seed=1), ids) for ids in answers
    )
    exported = deepseek.vocabulary.to_bytes()
    assert stream(build, tmp_path, export_format("hermes"), exported, TOOLS, answers) == expected
    assert b'"name":"get_weather"' in expected


@pytest.mark.parametrize("kind", ["format", "vocabulary", "tools"])
def test_broken_files_are_one_line(build: Path, tmp_path: Path, kind: str) -> None:
    vocabulary = byte_vocabulary("hermes").to_bytes()
    broken = {
        "format": (export_format("hermes")[:-20], vocabulary, []),
        "vocabulary": (export_format("hermes"), vocabulary[:-7], []),
        "tools": (export_format("hermes"), vocabulary, [{"parameters": {}}]),
    }[kind]
    with pytest.raises(AssertionError, match=r"stream: .*(not a format file|cut off|has no name)"):
        stream(build, tmp_path, *broken, [[104, 105]])


@pytest.mark.rest
def test_the_pages_blocks(build: Path, tmp_path: Path) -> None:
    """The first block of docs/embedding.md, line by line, and the one for OpenVINO GenAI, compiled and run."""
    page = (ROOT / "docs" / "embedding.md").read_text()
    commands = re.search(r"```sh\n(.*?)```", page, re.S)
    assert commands
    shim = tmp_path / "bin" / "unspool"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m unspool "$@"\n')
    shim.chmod(0o755)
    paths = {
        "PATH": f"{shim.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(unspool.__path__[0]).parent),
    }
    added = [{"id": 0, "content": "<tool_call>", "special": True}]
    words = {"Hi": 1, "!": 2}
    model = {"model": {"type": "BPE", "vocab": words, "merges": []}, "added_tokens": added}
    (tmp_path / "tokenizer.json").write_text(json.dumps(model | {"decoder": {"type": "Fuse"}}))
    script = commands.group(1).replace("examples/cpp", f"{ROOT}/examples/cpp")
    if os.environ.get("UNSPOOL_EMBED"):  # that build is done, with options of its own
        script = "\n".join(line for line in script.splitlines() if not line.startswith("cmake"))
    script = script.replace("build/embed", str(build))
    done = run("sh", "-e", "-c", script, cwd=tmp_path, env=os.environ | paths)
    assert b'"content":"Hi"' in done.stdout
    assert done.stdout.endswith(b"data: [DONE]\n\n")

    program = re.search(r"```cpp\n(#include <fstream>.*?)```", page, re.S)
    assert program
    assert program.group(1) == (ROOT / "examples" / "cpp" / "openvino_host.cpp").read_text()
    (tmp_path / "ids").write_text("1 2 1")
    arguments = (tmp_path / "ids", tmp_path / "qwen3.json", tmp_path / "model.vocabulary", "Hello")
    done = run(build / "openvino_host", *arguments, timeout=60)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"content": "Hi"}, {"content": "!"}, {"content": "Hi"}, {},
    ]  # fmt: skip


@pytest.mark.rest
def test_an_installed_package(build: Path, tmp_path: Path) -> None:
    """`find_package(unspool)`, and the same example from it."""
    run("cmake", "--install", build, "--prefix", tmp_path / "prefix")
    options = ("-DUSE_INSTALLED=ON", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    run("cmake", "-S", ROOT / "examples" / "cpp", "-B", tmp_path / "build", *options)
    run("cmake", "--build", tmp_path / "build")
    vocabulary = byte_vocabulary("hermes")
    expected = response_of(TokenStreamer(vocabulary, "hermes", id_seed=1), b"hello")
    exported = vocabulary.to_bytes()
    assert (
        stream(tmp_path / "build", tmp_path, export_format("hermes"), exported, None, [b"hello"]) == expected
    )
    assert not list((tmp_path / "prefix").rglob("*bindings*"))
