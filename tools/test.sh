#!/usr/bin/env bash
# Runs every check: formatting, lint, the sanitizers, and the whole test suite.
#
#   bash tools/test.sh
#
# Without a GPU or a CUDA compiler, the tests that need one report that they skip. The first run
# takes about half an hour on two cores, later runs take a few minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/packages.sh
source tools/packages.sh

begin=$SECONDS
say() { printf '\n== [%d s] %s\n' "$((SECONDS - begin))" "$*"; }

install_missing "${build_packages[@]}" "${test_packages[@]}" "${fuzz_packages[@]}"

say "Formatting and shell scripts"
tools/format.sh --check
shellcheck -x tools/*.sh .ci/run

say "Building with assertions, warnings are errors"
cmake --preset dev
cmake --build --preset dev

say "clang-tidy"
tools/lint.sh build/dev

say "Address and undefined behaviour sanitizers"
cmake --preset asan -DTUNEDGEMM_TOOLS=OFF
cmake --build --preset asan
ctest --preset asan

say "Thread sanitizer, of the layers that have threads"
cmake --preset tsan -DTUNEDGEMM_TOOLS=OFF
cmake --build --preset tsan
runner=()
if (($(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28) > 28)); then
  # g++ 12's thread sanitizer fails with large random address offsets, so turn address
  # randomization off.
  runner=(setarch "$(uname -m)" -R)
fi
"${runner[@]}" ctest --preset tsan

say "Fuzzing, ten seconds per program (tools/fuzz.sh 3600 runs an hour)"
bash tools/fuzz.sh 10

say "All tests"
cmake --workflow --preset dev

say "Python package"
bash tools/test_python.sh
