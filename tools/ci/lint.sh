#!/usr/bin/env bash
# Runs clang-tidy: lint.sh BUILD_FOLDER [FILE...]. Without files it checks every source of the layers and tools that
# BUILD_FOLDER builds, except for runtime/python, which needs nanobind (check.sh). A folder with TUNEDGEMM_UNITY, such as
# build/test, takes a third of the time, because most of it goes into the headers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ $# -lt 1 || ! -f "$1/compile_commands.json" ]]; then
  echo "usage: tools/ci/lint.sh BUILD_FOLDER [FILE...]; the folder needs a compile_commands.json" >&2
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
  mapfile -t files < <(python3 - "$PWD" "$folder/compile_commands.json" <<'PYTHON'
import json, re, sys
root, commands = sys.argv[1:]
for command in json.load(open(commands)):
    path = command["file"].removeprefix(root + "/")
    source = re.sub(r"^build/\w+/", "", path) if "/Unity/" in path else path
    if re.match(r"(cache|kernel_templates|runtime|tools|tuner)/(?!examples/|python/)", source):
        print(path)
PYTHON
  )
fi
if ((${#files[@]} == 0)); then
  echo "lint.sh: $folder builds no source of the layers" >&2
  exit 1
fi
echo "clang-tidy: $checks checks over ${#files[@]} files"
# A unity build includes sources.
printf '%s\0' "${files[@]}" |
  xargs -0 -P "$(nproc)" -n 1 "$tidy" -p "$folder" --quiet --warnings-as-errors='*' \
    --checks=-bugprone-suspicious-include 2> >(
    grep -Ev 'warnings? (generated|treated)' >&2 || true
  )
echo "clang-tidy: clean"
