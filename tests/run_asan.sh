#!/usr/bin/env bash
# The core's Python tests under AddressSanitizer and UBSan, with the module that fuzz/build.sh made:
# tests/run_asan.sh [pytest's options]. Left out: most of tests/parser, since the fuzz targets draw from each format's
# cases; other people's clients and schemas, which are slow here and not ours. What measures memory is in
# tests/bindings: the sanitizer keeps what is freed.
set -eu
cd "$(dirname "$0")/.."
source=$PWD
package=$(mktemp -d)
trap 'rm -r "$package"' EXIT
cp -r python/unspool "$package"
rm -rf "$package"/unspool/_core*.so "$package"/unspool/{parsers,testing/formats}
cp build/fuzz/_core*.so "$package"/unspool
ln -s "$source"/parsers "$package"/unspool/parsers
ln -s "$source"/tests/formats "$package"/unspool/testing/formats
# An editable install finds its own module before any other.
echo 'import sys; sys.meta_path = [f for f in sys.meta_path if type(f).__name__ != "ScikitBuildRedirectingFinder"]' \
  > "$package"/sitecustomize.py

compiler=$(command -v clang++-19 || command -v clang++)
runtime=$("$compiler" -print-file-name=libclang_rt.asan-x86_64.so)
[ -e "$runtime" ] || runtime=$("$compiler" -print-file-name=libclang_rt.asan.so)
# Without libstdc++ in place at the start, the runtime does not find the functions that throw.
# Python itself leaks at its end.
export LD_PRELOAD="$runtime $("$compiler" -print-file-name=libstdc++.so.6)" ASAN_OPTIONS=detect_leaks=0
export PYTHONMALLOC=malloc PYTHONPATH="$package"
case $(python3 -c 'import unspool._core; print(unspool._core.__file__)') in
  "$package"/*) ;;
  *) echo "another module than the sanitized one is imported"; exit 1 ;;
esac
python3 -m pytest "$@" -k "not every_split and not sdk_clients and not hostile_schemas" \
  tests/parser/test_parser.py tests/stream tests/delta tests/wire tests/channel tests/vocabulary tests/template \
  tests/test_damaged_files.py
