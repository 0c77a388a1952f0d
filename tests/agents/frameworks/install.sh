#!/usr/bin/env bash
# An environment for each framework, at a fixed version, outside of the repository: install.sh FOLDER.
set -euo pipefail
mkdir -p "$1"
for file in "$(dirname "$0")"/pins/*.txt; do
  environment=$1/$(basename "$file" .txt)
  python3 -m venv --without-pip "$environment"
  python3 -m pip --python "$environment/bin/python" install --quiet --requirement "$file"
done
