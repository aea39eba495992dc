#!/usr/bin/env bash
# Runs the tests that need a GPU: those labelled gpu, each in its own process, then a few kernels of every family
# under each tool of compute-sanitizer.
#
#   bash tools/test_gpu.sh [FOLDER] [LOGS]
#
# FOLDER is a build folder, default build/dev. Output goes to LOGS, default gpu_test_logs. The tests labelled slow take
# minutes each and are excluded. On an H200 this takes about ten minutes. The exit status is 1 if anything failed.
set -euo pipefail

folder=${1:-build/dev}
logs=${2:-gpu_test_logs}
mkdir -p "$logs"
failed=0

ctest --test-dir "$folder" -L gpu --no-tests=error --output-log "$(realpath "$logs")/tests.txt" || failed=1

if ! sanitizer=$(command -v compute-sanitizer); then
  echo "skipped: compute-sanitizer is not installed; it comes with the CUDA toolkit" >&2
else
  for tool in memcheck racecheck synccheck initcheck; do
    status=0 outcome=FAILED
    "$sanitizer" --tool "$tool" --error-exitcode 1 "$folder/tests/runtime_tests" "[sample]" >"$logs/$tool.txt" 2>&1 || status=$?
    case $status in
      0) outcome=ok ;;
      77) outcome=skipped ;;
      *) failed=1 ;;
    esac
    printf '%-8s %s: a few kernels of every family (%s)\n' "$outcome" "$tool" "$logs/$tool.txt"
  done
fi

exit "$failed"
