#!/usr/bin/env bash
# Runs every fuzz target for a fixed number of inputs, the same in each run: fuzz/run.sh [PERCENT]
# What a target finds is left in build/fuzz/found; `build/fuzz/fuzz/NAME_fuzz FILE` runs it again.
set -eu
cd "$(dirname "$0")/../build/fuzz"
percent=${1:-100}
mkdir -p found

# libFuzzer compares addresses, and looks at its corpus by the clock: both would make each run another one.
fixed=(setarch -R)
"${fixed[@]}" true 2> /dev/null || fixed=()

run() {
  corpus=$(mktemp -d)
  if "${fixed[@]}" fuzz/"$1"_fuzz -seed=1 -reload=0 -runs=$(($2 * percent / 100)) -timeout=30 -dict=fuzz/seeds/dictionary \
    -artifact_prefix=found/"$1"- "$corpus" fuzz/seeds/"$1" > "$1".log 2>&1; then
    echo "$1: $(grep -ao 'cov: [0-9]* ft: [0-9]*' "$1".log | tail -n 1), $(grep -a '^Done' "$1".log)"
  else
    grep -av 'NEW\|REDUCE\|pulse' "$1".log | tail -n 60
    echo "$1: found something"
    return 1
  fi
  rm -r "$corpus"
}

status=0
run parser 20000 &
first=$!
run snapshot 20000 || status=1
run files 60000 || status=1
run template 20000 || status=1
run pattern 60000 || status=1
run wire 40000 || status=1
wait $first || status=1
exit $status
