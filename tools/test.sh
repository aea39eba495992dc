#!/usr/bin/env bash
# Builds and runs the tests: the library's, the tools' and the Python package's. tools/check.sh has the other checks.
#
#   bash tools/test.sh [--yes]
#
# On a terminal it asks before it installs packages; with --yes it does not ask. Without a GPU or a CUDA compiler, the tests that
# need one report that they skip.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/ci/packages.sh
source tools/ci/packages.sh

parse_yes "$@"
install_missing "${build_packages[@]}" "${test_packages[@]}"

say "Building; warnings are errors"
cmake --preset test >/dev/null
build_quietly --preset test

say "Tests of the library and the tools"
ctest --preset test

say "Tests of the Python package"
bash tools/ci/test_python.sh
