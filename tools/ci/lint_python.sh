#!/usr/bin/env bash
# Runs ruff over every Python file, and mypy over the package and the tools: lint_python.sh FOLDER.
# FOLDER holds the package with the stub of its extension module: build/test/python, made by test_python.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/ci/packages.sh
source tools/ci/packages.sh

if [[ $# -ne 1 || ! -f "$1/tunedgemm/_core.pyi" ]]; then
  echo "usage: tools/ci/lint_python.sh FOLDER; the folder needs tunedgemm/_core.pyi" >&2
  exit 2
fi
ruff=$(python_program ruff)
mypy=$(python_program mypy)
if [[ -z "$ruff" || -z "$mypy" ]]; then
  echo "lint_python.sh: ruff or mypy is missing (pip install ruff mypy)" >&2
  exit 2
fi
git ls-files -z '*.py' '*.pyi' | xargs -0 "$ruff" check --quiet
MYPYPATH=$1 "$mypy" "$1/tunedgemm" tools/{ci,measure,plot}/*.py tools/examples/python/*.py
