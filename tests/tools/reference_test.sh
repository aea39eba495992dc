#!/usr/bin/env bash
# Builds the site of the documentation by tools/docs.sh; warnings are errors:
#
#   reference_test.sh OUTPUT TUNEDGEMM
#
# TUNEDGEMM is the program, whose manual pages the site has. Exits with 77 without doxygen.
set -euo pipefail

if ! command -v doxygen >/dev/null; then
  echo "skipped: doxygen is missing (Debian: apt-get install doxygen)"
  exit 77
fi
output=$1
export TUNEDGEMM=$2
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")

# expect PAGE TEXT...
expect() {
  local page=$1 text
  shift
  for text in "$@"; do
    grep -qF -- "$text" "$output/html/$page" || {
      echo "$page does not have: $text"
      exit 1
    }
  done
}

bash "$root/tools/docs.sh" "$output"
expect tunedgemm_8h.html tunedgemm_matmul tunedgemm_run TUNEDGEMM_NUMERICS_EMULATED
version=$(sed -n 's/^project(.* VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
expect index.html ">libtunedgemm<" ">&#160;$version<"
expect page_python_reference.html "matmul(a: Any, b: Any, *," "at most 1024" "tunedgemm.cache.best" \
  "tunedgemm.torch.Shapes.tune"
expect page_manual.html "tunedgemm explain" "--m-ladder" "--back-to-back"
expect pages.html page_tunable_op page_glossary md_cache_README md_runtime_python_README

# Every page leads from the first one, and every local link has a target.
cd "$output/html"
for page in page_*.html md_*.html; do
  [[ $page == page_contracts.html ]] || expect index.html "\"$page"
done
# shellcheck disable=SC2013  # a link has no spaces
for link in $(grep -oh 'href="[^"#]*' page_*.html md_*.html index.html | sed 's/href="//' | sort -u); do
  [[ $link == http* || -e $link ]] || {
    echo "a link without a target: $link"
    exit 1
  }
done

# Check that a function without a comment is an error.
broken=$output.broken
rm -rf "$broken"
mkdir -p "$broken"
cp -r "$root/runtime/include" "$broken/headers"
sed -i 's|^#define TUNEDGEMM_VERSION_MAJOR|int tunedgemm_undocumented(void);\n&|' \
  "$broken/headers/tunedgemm/tunedgemm.h"
if REFERENCE_HEADERS=$broken/headers bash "$root/tools/docs.sh" "$broken/site" 2>"$broken/warnings.txt"; then
  echo "doxygen accepts a function without a comment"
  exit 1
fi
grep -q tunedgemm_undocumented "$broken/warnings.txt" || {
  echo "doxygen refuses the function without a comment for another reason:"
  cat "$broken/warnings.txt"
  exit 1
}
rm -r "$broken"
