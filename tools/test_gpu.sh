#!/usr/bin/env bash
# Everything that needs a GPU, a line a test: the tests tagged [gpu], each in a process of its own,
# then a few kernels of every family under each tool of compute-sanitizer.
#
#   bash tools/test_gpu.sh [FOLDER] [LOGS]
#
# FOLDER has runtime_tests and what is built beside it: default build/dev/tests. Output of what failed goes to LOGS, default
# gpu_test_logs. The tests tagged [slow] take minutes each and are left out. On an H200 this takes
# about ten minutes. The exit status is 1 if anything failed.
set -euo pipefail

folder=${1:-build/dev/tests}
logs=${2:-gpu_test_logs}
mkdir -p "$logs"
failed=0 count=0

# run NAME COMMAND...: a line with the outcome, the seconds and the name.
run() {
  local name=$1 begin=$SECONDS outcome=ok status=0
  shift
  local log=$logs/$((++count)).txt
  "$@" >"$log" 2>&1 || status=$?
  case $status in
    0) ;;
    77) outcome=skipped ;;
    *)
      outcome=FAILED
      failed=$((failed + 1))
      name+=" (status $status, $log)"
      ;;
  esac
  printf '%-8s %4d s  %s\n' "$outcome" "$((SECONDS - begin))" "$name"
}

program=$folder/runtime_tests
tests="[gpu]~[slow]"
# Catch2 2 knows the first option, 3 the second.
names=$("$program" --list-test-names-only "$tests" 2>/dev/null) ||
  (($? < 200)) || names=$("$program" --list-tests --verbosity quiet "$tests")
while read -r name; do
  # In what Catch2 is asked for, a comma separates names, and a bracket begins a tag.
  escaped=${name//,/\\,}
  run "$name" "$program" "${escaped//[/\\[}"
done < <(grep -v '^seed: ' <<<"$names" | sed '/^ *$/d')

if ! sanitizer=$(command -v compute-sanitizer); then
  echo "skipped: compute-sanitizer is not installed; it comes with the CUDA toolkit" >&2
else
  for tool in memcheck racecheck synccheck initcheck; do
    run "$tool: a few kernels of every family" \
      "$sanitizer" --tool "$tool" --error-exitcode 1 "$program" "[sample]"
  done
fi

printf '%d of %d failed\n' "$failed" "$count"
exit "$((failed > 0))"
