#!/usr/bin/env bash
# Formats every source file that git tracks; with --check only lists the unformatted ones.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=(-i)
if [[ "${1:-}" == "--check" ]]; then
  mode=(--dry-run --Werror)
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
git ls-files -z '*.h' '*.hpp' '*.c' '*.cpp' '*.cc' '*.cu' '*.cuh' |
  xargs -0 -P "$(nproc)" -n 20 "$formatter" "${mode[@]}"
