#!/usr/bin/env bash
# Formats every source file that git tracks; with --check only lists the unformatted ones. Python files
# need ruff, from the virtual environment of the tests or the path; without it they are left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/ci/packages.sh
source tools/ci/packages.sh

mode=(-i)
python_mode=()
if [[ "${1:-}" == "--check" ]]; then
  mode=(--dry-run --Werror)
  python_mode=(--check)
elif [[ $# -gt 0 ]]; then
  echo "usage: tools/format.sh [--check]" >&2
  exit 2
fi

# Version 14: other versions break lines differently.
formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z "$formatter" ]]; then
  echo "format.sh: clang-format is missing (Debian: apt-get install clang-format-14)" >&2
  exit 2
fi
sources=('*.h' '*.hpp' '*.c' '*.cpp' '*.cc' '*.cu' '*.cuh')
git ls-files -z "${sources[@]}" | xargs -0 -P "$(nproc)" -n 20 "$formatter" "${mode[@]}"
# The formatter does not break comments.
long=$(git ls-files -z "${sources[@]}" | LC_ALL=C.UTF-8 xargs -0 grep -nHE '^.{101,}$' || true)
if [[ -n "$long" ]]; then
  echo "$long"
  echo "format.sh: the lines above have more than 100 columns" >&2
  exit 1
fi

ruff=$(python_program ruff)
if [[ -z "$ruff" ]]; then
  echo "format.sh: Python files are SKIPPED, because ruff is missing (pip install ruff)" >&2
  exit
fi
git ls-files -z '*.py' '*.pyi' | xargs -0 "$ruff" format --quiet "${python_mode[@]}"
