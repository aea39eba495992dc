#!/usr/bin/env bash
# An activation that is added to the kernels changes no machine code, and costs no winner.
#
#   grown_kernels_test.sh BUILD_FOLDER
set -euo pipefail
tests=$1/tests
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$tests/tunedgemm_machine_code" 1 3 >"$folder/now"
"$tests/tunedgemm_grown_machine_code" 1 3 >"$folder/grown"
diff "$folder/now" "$folder/grown"
echo "$(wc -l <"$folder/now") kernels are the same"
for shape in "96 64 80 f32" "33 1 65 f64" "128 72 64 bf16"; do
  read -r m n k types <<<"$shape"
  "$1/tools/tune-all" --device host --rigor quick --candidates 4 --budget-seconds 100 --cache "$folder/cache.db" \
    --m "$m" --n "$n" --k "$k" --types "$types" >/dev/null
done
"$tests/tunedgemm_grown_calls" "$folder/cache.db" host
