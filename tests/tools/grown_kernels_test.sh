#!/usr/bin/env bash
# Tests that an additional activation changes no machine code and invalidates no winner.
#
#   grown_kernels_test.sh BUILD_FOLDER
set -euo pipefail
tests=$1/tests
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$tests/tunedgemm_machine_code" 1 3 >"$folder/original"
"$tests/tunedgemm_grown_machine_code" 1 3 >"$folder/grown"
diff "$folder/original" "$folder/grown"
echo "$(wc -l <"$folder/original") kernels are identical"
for shape in "96 64 80 f32" "33 1 65 f64" "128 72 64 bf16"; do
  read -r m n k types <<<"$shape"
  "$1/tools/tune-all" --device host --rigor quick --candidates 4 --budget-seconds 100 --cache "$folder/cache.db" \
    --m "$m" --n "$n" --k "$k" --types "$types" >/dev/null
done
"$tests/tunedgemm_grown_calls" "$folder/cache.db" host
