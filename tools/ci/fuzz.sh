#!/usr/bin/env bash
# Runs each program of tests/fuzz for SECONDS: fuzz.sh SECONDS [NAME...], for example
#
#   bash tools/ci/fuzz.sh 60 c_api shape_list
#
# Starts from the inputs of tests/fuzz/corpus.txt; new inputs accumulate in build/fuzz/corpus. An
# input that finds a bug is kept as build/fuzz/NAME-crash-*. To repeat the bug, run
# build/fuzz/tests/fuzz/fuzz_NAME with that file. Add the input to corpus.txt together with the fix.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/ci/packages.sh
source tools/ci/packages.sh

seconds=${1:?usage: tools/ci/fuzz.sh SECONDS [NAME...]}
shift
names=("$@")
if ((${#names[@]} == 0)); then
  for source in tests/fuzz/*_fuzz.cpp; do
    name=${source##*/}
    names+=("${name%_fuzz.cpp}")
  done
fi

install_missing "${build_packages[@]}" "${fuzz_packages[@]}"
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target "${names[@]/#/fuzz_}"

rm -rf build/fuzz/inputs
while read -r name bytes; do
  mkdir -p "build/fuzz/inputs/${name%/*}"
  LC_ALL=C printf '%b' "$bytes" >"build/fuzz/inputs/$name"
done < <(grep -v '^#' tests/fuzz/corpus.txt)

failed=0
for name in "${names[@]}"; do
  corpus=build/fuzz/corpus/$name
  log=build/fuzz/$name.log
  mkdir -p "$corpus"
  if "build/fuzz/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=1024 -timeout=20 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/$name-" "$corpus" "build/fuzz/inputs/$name" \
    >"$log" 2>&1; then
    result=good
  else
    result="FAILED, see $log"
    failed=1
    tail -n 40 "$log"
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  printf '%-12s %12s inputs in %s s: %s\n' "$name" "${runs:-0}" "$seconds" "$result"
done
exit "$failed"
