#!/usr/bin/env bash
# Builds the Python package's extension module with the library and the programs that tools/test.sh
# has built, in build/test, and runs the package's tests. Does nothing, and says so, where PyPI cannot
# be reached. tools/check.sh tests the package as pip builds it.
#
#   bash tools/ci/test_python.sh [--torch]
#
# --torch, or TUNEDGEMM_TEST_TORCH=1, installs PyTorch too (3 GB to download) and runs its tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/ci/packages.sh
source tools/ci/packages.sh

if ! install_from_pypi "${python_build_packages[@]}" "${python_test_packages[@]}"; then
  echo "test_python.sh: SKIPPED, because PyPI cannot be reached"
  exit 0
fi
if [[ "${1:-}" == --torch || "${TUNEDGEMM_TEST_TORCH:-0}" == 1 ]]; then
  timeout 900 "$python_venv/bin/pip" install --quiet --disable-pip-version-check 'torch>=2.10' ||
    echo "test_python.sh: PyTorch's tests are SKIPPED, because it cannot be installed"
fi
build_python_package
LD_LIBRARY_PATH=$PWD/build/test/runtime PYTHONPATH=$PWD/$python_package \
  "$python_venv/bin/pytest" --quiet -p no:cacheprovider -n 2 --dist loadfile runtime/python/tests
"$python_venv/bin/python" tests/tools/front_blas_test.py build/test/tools build/test/runtime
