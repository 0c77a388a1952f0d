#!/usr/bin/env bash
# An environment for each client that wants another version of openai than the tests: install.sh FOLDER.
set -euo pipefail
mkdir -p "$1"
for client in instructor litellm; do
  python3 -m venv "$1/$client"
  "$1/$client/bin/pip" install --quiet "$client"
done
