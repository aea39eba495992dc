#!/usr/bin/env bash
# Checks what tests don't see: formatting, shell scripts, that every header compiles alone, clang-tidy, the
# tests under the address, undefined behaviour and thread sanitizers, the tests that compare speeds, tune-all
# under mpirun and Slurm, a report in a browser, ruff and mypy, the Python package's wheel, and ten seconds of
# fuzzing per program.
#
#   bash tools/check.sh [--yes]
#
# On a terminal it asks before it installs packages; with --yes it does not ask.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/ci/packages.sh
source tools/ci/packages.sh

parse_yes "$@"
install_missing "${build_packages[@]}" "${test_packages[@]}" "${fuzz_packages[@]}" "${cluster_packages[@]}" \
  "${browser_packages[@]}"

say "Formatting and shell scripts"
install_from_pypi "${python_check_packages[@]}" || true # format.sh says if it has no ruff
tools/format.sh --check
shellcheck -x tools/*.sh tools/{ci,measure}/*.sh tools/examples/slurm/* tests/tools/cluster/*.sh .ci/run

say "Headers, each alone"
cmake --preset test >/dev/null
build_quietly --preset test
build_quietly --preset test --target tunedgemm_headers_alone

say "clang-tidy"
tools/ci/lint.sh build/test

# Of the layers that have memory and threads, without the cases that mostly run kernels, since those
# are compiled without a sanitizer.
say "Address and undefined behaviour sanitizers"
cmake --preset asan >/dev/null
build_quietly --preset asan
ctest --preset asan

say "Thread sanitizer"
cmake --preset tsan >/dev/null
build_quietly --preset tsan
runner=()
if (($(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28) > 28)); then
  # g++ 12's thread sanitizer fails with large random address offsets, so turn address
  # randomization off.
  runner=(setarch "$(uname -m)" -R)
fi
"${runner[@]}" ctest --preset tsan

say "Speed of the kernels that serve an M that was not tuned"
ctest --test-dir build/test -L speed --output-on-failure

say "tune-all under mpirun, and in a Slurm cluster of three nodes that the test starts"
ctest --test-dir build/test -R '^cluster_' --output-on-failure

say "The page of tunedgemm report in a browser"
ctest --test-dir build/test -R '^report$' --output-on-failure

say "Python: ruff and mypy"
if install_from_pypi "${python_build_packages[@]}" "${python_check_packages[@]}"; then
  build_python_package
  tools/ci/lint_python.sh "$python_package"
else
  echo "check.sh: SKIPPED, because PyPI cannot be reached"
fi

say "The Python package, as pip builds it"
if install_from_pypi "${python_build_packages[@]}"; then
  configure_python
  tools/ci/lint.sh build/test runtime/python/*.cpp
  bash tools/ci/build_wheel.sh
else
  echo "check.sh: SKIPPED, because PyPI cannot be reached"
fi

say "Fuzzing, ten seconds per program (tools/ci/fuzz.sh 3600 runs an hour)"
bash tools/ci/fuzz.sh 10
