#!/usr/bin/env bash
# An environment for each client that wants another version of openai than the tests: install.sh FOLDER.
set -euo pipefail
mkdir -p "$1"
for client in instructor litellm; do
  python3 -m venv --without-pip "$1/$client"
  python3 -m pip --python "$1/$client/bin/python" install --quiet "$client"
done
