#!/usr/bin/env bash
# The core built by clang, once: for the fuzz targets and for a Python module under the sanitizers.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
compiler=$(command -v clang++-19 || command -v clang++)
cmake --preset fuzz -DCMAKE_CXX_COMPILER="$compiler" -DSKBUILD_PROJECT_VERSION=0 \
  -DPython_EXECUTABLE="$(command -v "$python")" -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)"
cmake --build --preset fuzz
