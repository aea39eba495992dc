#!/usr/bin/env bash
# Makes the documentation, OUTPUT/html/index.html; needs Doxygen and Python, warnings are errors:
#
#   bash tools/docs.sh [OUTPUT]
#
# OUTPUT is build/docs. It has the interfaces in C, C++ and Python, the guides, the layers' READMEs
# and, if the programs of build/ or $TUNEDGEMM were built, their manual pages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=$(realpath -m "${1:-build/docs}")
rm -rf "$output"
mkdir -p "$output"
python3 tools/ci/python_reference.py runtime/python >"$output/python_reference.md"

tunedgemm=${TUNEDGEMM:-$(find build -path '*/tools/tunedgemm' -type f -print -quit 2>/dev/null || true)}
PATH=$(realpath "$(dirname "$tunedgemm")"):$PATH
read -ra verbs <<<"$(sed -n 's/.*foreach(verb \(.*\))/\1/p' tools/documents.cmake)"
{
  printf '# Manual pages {#page_manual}\n\nThe help of the programs, if they were built before this page.\n'
  for page in tune-all tunedgemm "${verbs[@]/#/tunedgemm }"; do
    printf '\n## %s {#manual_%s}\n\n' "$page" "${page//[- ]/_}"
    [[ -z $tunedgemm ]] || eval "$page --help" | sed 's/^/    /'
  done
} >"$output/manual_pages.md"

REFERENCE_VERSION=$(sed -n 's/^project(.* VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
REFERENCE_HEADERS=${REFERENCE_HEADERS:-runtime/include} REFERENCE_OUTPUT=$output \
  REFERENCE_VERSION=$REFERENCE_VERSION doxygen tools/docs/Doxyfile
echo "$output/html/index.html"
