#!/usr/bin/env bash
# In-tree build for work on the core: PYTHONPATH=python then sees the fresh module.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
cmake -S . -B build/dev -G Ninja -DSKBUILD_PROJECT_VERSION="$version" -DUNSPOOL_STRICT=ON -DCMAKE_UNITY_BUILD=OFF \
  -DPython_EXECUTABLE="$(command -v "$python")" \
  -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" >/dev/null
cmake --build build/dev
cp build/dev/_core*.so python/unspool/
[ -e python/unspool/testing/formats ] || ln -s ../../../tests/formats python/unspool/testing/formats
[ -e python/unspool/parsers ] || ln -s ../../parsers python/unspool/parsers
