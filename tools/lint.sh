#!/usr/bin/env bash
# Runs clang-tidy: lint.sh BUILD_FOLDER [FILE...]. Without files it checks every .cpp of the layers
# and tools, except for runtime/python, which another folder builds (test_python.sh). BUILD_FOLDER
# is a CMake build folder with compile_commands.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ $# -lt 1 || ! -f "$1/compile_commands.json" ]]; then
  echo "usage: tools/lint.sh BUILD_FOLDER [FILE...]; the folder needs a compile_commands.json" >&2
  exit 2
fi
folder=$1
shift

tidy=$(command -v clang-tidy-14 || command -v clang-tidy || true)
if [[ -z "$tidy" ]]; then
  echo "lint.sh: clang-tidy is missing (Debian: apt-get install clang-tidy-14)" >&2
  exit 2
fi

# A typing error in .clang-tidy can silently turn checks off, so count the enabled checks.
readonly least=80
checks=$("$tidy" --list-checks | grep -c '^    ')
if ((checks < least)); then
  echo "lint.sh: only $checks checks are on; .clang-tidy should turn on at least $least" >&2
  exit 1
fi

if [[ $# -gt 0 ]]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files 'kernel_templates/*.cpp' 'cache/*.cpp' 'tuner/*.cpp' \
    'runtime/*.cpp' ':!runtime/python/*' 'tools/shared/*.cpp' 'tools/tune_all/*.cpp' \
    'tools/tunedgemm/*.cpp' 'tools/baselines/*.cpp')
fi
echo "clang-tidy: $checks checks over ${#files[@]} files"
printf '%s\0' "${files[@]}" |
  xargs -0 -P "$(nproc)" -n 1 "$tidy" -p "$folder" --quiet --warnings-as-errors='*' 2> >(
    grep -Ev 'warnings? (generated|treated)' >&2 || true
  )
echo "clang-tidy: clean"
