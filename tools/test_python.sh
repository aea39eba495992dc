#!/usr/bin/env bash
# Installs the Python package in a virtual environment below build/, lints its extension module and
# runs its tests. Does nothing, and says so, where PyPI cannot be reached.
#
#   bash tools/test_python.sh [--torch]
#
# --torch, or TUNEDGEMM_TEST_TORCH=1, installs PyTorch too (3 GB to download) and runs its tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly venv=build/python-venv
python3 -m venv "$venv"
if ! "$venv/bin/pip" install --quiet --disable-pip-version-check 'scikit-build-core>=1.1' 'nanobind>=3.1' \
  "jaxlib>=0.10; python_version >= '3.11'"; then
  echo "test_python.sh: SKIPPED, because PyPI cannot be reached"
  exit 0
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation '.[test]'
if [[ "${1:-}" == --torch || "${TUNEDGEMM_TEST_TORCH:-0}" == 1 ]]; then
  timeout 900 "$venv/bin/pip" install --quiet --disable-pip-version-check 'torch>=2.10' ||
    echo "test_python.sh: PyTorch's tests are SKIPPED, because it cannot be installed"
fi
# shellcheck disable=SC2012 # folders have plain names
tools/lint.sh "$(ls -td build/python-cp* | head -n 1)" runtime/python/*.cpp
"$venv/bin/pytest" --quiet -p no:cacheprovider -n 2 --dist loadfile runtime/python/tests
