#!/usr/bin/env bash
# Builds the reference of the public headers with Doxygen; warnings are errors:
#
#   reference_test.sh HEADERS PAGES OUTPUT
#
# HEADERS is runtime/include, PAGES is tools/docs. The reference is OUTPUT/html/index.html. Exits
# with 77 without doxygen.
set -euo pipefail

if ! command -v doxygen >/dev/null; then
  echo "skipped: doxygen is missing (Debian: apt-get install doxygen)"
  exit 77
fi
REFERENCE_HEADERS=$(realpath "$1")
REFERENCE_PAGES=$(realpath "$2")
export REFERENCE_HEADERS REFERENCE_PAGES

# make_reference OUTPUT
make_reference() {
  rm -rf "$1"
  mkdir -p "$1"
  REFERENCE_OUTPUT=$1 doxygen "$REFERENCE_PAGES/Doxyfile"
}

output=$3
make_reference "$output"
for name in tunedgemm_matmul tunedgemm_run TUNEDGEMM_NUMERICS_EMULATED; do
  grep -q "$name" "$output/html/tunedgemm_8h.html" || {
    echo "the reference does not have $name"
    exit 1
  }
done

# Check that a function without a comment is an error.
broken=$output/broken_headers
cp -r "$REFERENCE_HEADERS" "$broken"
sed -i 's|^#define TUNEDGEMM_VERSION_MAJOR|int tunedgemm_undocumented(void);\n&|' "$broken/tunedgemm/tunedgemm.h"
if REFERENCE_HEADERS=$broken make_reference "$output/broken" 2>"$output/warnings.txt"; then
  echo "doxygen accepts a function without a comment"
  exit 1
fi
grep -q tunedgemm_undocumented "$output/warnings.txt" || {
  echo "doxygen refuses the function without a comment for another reason:"
  cat "$output/warnings.txt"
  exit 1
}
rm -r "$broken" "$output/broken"
echo "the reference: $output/html/index.html"
