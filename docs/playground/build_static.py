"""Build the playground as static files, with the core in WebAssembly.

    pip install 'unspool[docs]' && python docs/playground/build_static.py

writes build/playground/, which any web server can serve. `ziglang` brings the compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import unspool
from unspool.serve.playground.examples import example_list, format_list

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "python" / "unspool" / "serve" / "playground" / "static"
SERVERLESS = Path(__file__).parent / "static"

# The browser has one thread, and reads formats as JSON.
_LEFT_OUT = re.compile(r"channel/|toml_document|token_streamer|stream_|put_output|rollback|batch|worker_pool")
_FLAGS = ["-target", "wasm32-wasi", "-Oz", "-DNDEBUG", "-fwasm-exceptions", "-mexception-handling"]
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
)


def main() -> None:
    """Build everything, or only the pages if `--wasm` names a built core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", type=Path, default=ROOT / "build" / "playground")
    parser.add_argument("--wasm", type=Path, help="a core that is built already")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    target = options.output / "unspool.wasm"
    if options.wasm is None:
        build_core(ROOT / "build" / "wasm", target, options.jobs)
    elif options.wasm.resolve() != target.resolve():
        shutil.copy(options.wasm, target)
    write_pages(options.output)
    print(f"{options.output}: {target.stat().st_size:,} bytes of WebAssembly")


def build_core(folder: Path, target: Path, jobs: int | None) -> None:
    """Compile what has changed, and link."""
    folder.mkdir(parents=True, exist_ok=True)
    library = Path(subprocess.check_output([sys.executable, "-c", _FIND_ZIG], text=True).strip()) / "lib"
    folders = re.findall(
        r"^unspool_folder\((\w+)", (ROOT / "csrc/CMakeLists.txt").read_text(encoding="utf-8"), re.M
    )
    files = [file for folder in folders for file in sorted((ROOT / "csrc" / folder).glob("*.cpp"))]
    core = [file for file in files if not _LEFT_OUT.search(f"{file.parent.name}/{file.name}")]
    include = ["-std=c++20", f"-I{ROOT / 'csrc'}"]
    tasks = [(file, include) for file in [*core, ROOT / "csrc/wasm/run_stream.cpp"]]
    tasks += [(ROOT / "csrc" / "wasm" / "exception_tag.s", []), *_runtime(library)]
    headers = max(file.stat().st_mtime for file in (ROOT / "csrc").rglob("*.h"))

    def compile_one(task: tuple[Path, list[str]]) -> Path:
        source, flags = task
        made = folder / f"{source.parent.name}-{source.name}.o"
        if not made.exists() or made.stat().st_mtime < max(headers, source.stat().st_mtime):
            _zig("c++" if source.suffix == ".cpp" else "cc", *_FLAGS, *flags, "-c", source, "-o", made)
        return made

    with ThreadPoolExecutor(jobs) as pool:
        objects = list(pool.map(compile_one, tasks))
    _zig(
        "c++", *_FLAGS, "-mexec-model=reactor", "-Wl,--gc-sections", "-Wl,--strip-all", *objects, "-o", target
    )


_FIND_ZIG = "import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).parent)"


def _runtime(library: Path) -> list[tuple[Path, list[str]]]:
    """The C++ runtime of exceptions, which zig's own for WASI leaves out."""
    abi, unwind = library / "libcxxabi", library / "libunwind"
    flags = [
        "-D_LIBCXXABI_BUILDING_LIBRARY", "-D_LIBCPP_BUILDING_LIBRARY", "-DLIBCXX_BUILDING_LIBCXXABI",
        "-D_LIBCXXABI_HAS_NO_THREADS", "-D__USING_WASM_EXCEPTIONS__",
        f"-I{abi / 'include'}", f"-I{abi / 'src'}", f"-I{library / 'libcxx' / 'src'}", f"-I{unwind / 'include'}",
    ]  # fmt: skip
    return [
        (abi / "src" / "cxa_exception.cpp", flags),
        (abi / "src" / "cxa_personality.cpp", flags),
        (
            unwind / "src" / "Unwind-wasm.c",
            ["-fdeclspec", "-D__USING_WASM_EXCEPTIONS__", f"-I{unwind / 'include'}"],
        ),
    ]


def _zig(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "ziglang", *map(str, arguments)], check=True)


def write_pages(output: Path) -> None:
    """Copy the page with its back end, and write the formats and their examples as JSON."""
    for file in STATIC.iterdir():
        if file.name not in ("index.html", "backend.js"):
            shutil.copy(file, output)
    for file in SERVERLESS.iterdir():
        shutil.copy(file, output)
    page = (STATIC / "index.html").read_text(encoding="utf-8").replace('"playground/', '"')
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    page = page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n  {policy}')
    (output / "index.html").write_text(page, encoding="utf-8")
    _write_json(output / "formats.json", [_format(item) for item in format_list()])
    (output / "examples").mkdir(exist_ok=True)
    for format in unspool.formats():
        _write_json(output / "examples" / f"{format.name}.json", {"examples": example_list(format.name)})


def _format(item: dict[str, object]) -> dict[str, object]:
    """A format of the list, with what its parser needs."""
    file = unspool.get_format(str(item["name"]))
    return {
        **item,
        "patterns": {"name": file.name, **file.patterns},
        "markers": list(file.facts.marker_tokens),
        "is_plain": file.is_plain,
    }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    main()
