#!/usr/bin/env bash
# The agents at their fixed versions, outside of the repository: install.sh FOLDER. It needs node 22.19 or newer.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/python"
cd "$1"
cp "$here"/package.json "$here"/package-lock.json .
# Not `npm ci`: it wants optional packages of other systems in the lock file, and not every registry has them all.
npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
# These two put their binary in its place; no other script of a package is run.
node node_modules/opencode-ai/postinstall.mjs
node node_modules/@anthropic-ai/claude-code/install.cjs
for file in "$here"/python/*.txt; do
  environment=python/$(basename "$file" .txt)
  python3 -m venv --without-pip "$environment"
  python3 -m pip --python "$environment/bin/python" install --quiet --requirement "$file"
done
