#!/usr/bin/env bash
# Measures the published figures on this machine's GPU, draws the pictures, and updates the README
# and gallery/README.md.
#
#   bash tools/measure/gallery.sh            all parts, then draw
#   bash tools/measure/gallery.sh PART...    these parts of tools/gallery/commands.txt
#   bash tools/measure/gallery.sh draw       draws the pictures and updates the texts, on any machine
#
# The figures should come from one card and one day. A part takes nine minutes at most. If "tune" ends
# with a status that is not 0, shapes are left, and it goes on when it is run again. Uses the
# tunedgemm and tune-all of build/quickstart (tools/quickstart.sh), or of the folder of $TUNEDGEMM.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH=$(realpath "$(dirname "${TUNEDGEMM:-build/quickstart/tools/tunedgemm}")"):$PATH
folder=tools/gallery

# draw_with SCRIPT PICTURE
draw_with() {
  if [[ -f $folder/$2.json ]]; then
    "${PYTHON:-/usr/bin/python3}" "tools/plot/$1.py" "$folder/$2.json" -o "$folder/$2"
  fi
}

draw() {
  draw_with plot_bench squares
  draw_with plot_ladder ladder
  for models in models model_step_{mixtral,qwen3_moe}; do
    draw_with plot_model_step "$models"
  done
  tunedgemm order 1152 1152 1152 --types f16 --compare --json "$folder/order.json" \
    --config "block_m=128 block_n=128 block_k=64 group_m=3" --at-a-time 9
  draw_with plot_order order
  rm -f "$folder"/*.png "$folder/order.json"
  tools/ci/update_readme.py headline "$folder" README.md
  tools/ci/update_readme.py output "$folder" README.md
  tools/ci/update_readme.py models "$folder" README.md
  tools/ci/update_readme.py gallery "$folder" "$folder/README.md"
}

if [[ $# -eq 0 ]]; then
  mapfile -t parts < <(sed 's/:.*//' "$folder/commands.txt")
  set -- "${parts[@]}" draw
fi
for part in "$@"; do
  command=draw
  if [[ $part != draw ]] && ! command=$(grep "^$part: " "$folder/commands.txt"); then
    echo "gallery.sh: \"$part\" is neither draw nor a part of $folder/commands.txt" >&2
    exit 2
  fi
  # PyTorch's cuBLASLt is raced by all parts.
  if [[ $part != draw && -z ${TUNEDGEMM_CUBLASLT:-} ]]; then
    maps=$(python3 -c 'import torch; print(open("/proc/self/maps").read())' || true)
    TUNEDGEMM_CUBLASLT=$(grep -o -m1 '/.*libcublasLt.*' <<<"$maps" || true)
    export TUNEDGEMM_CUBLASLT
  fi
  echo "${command#*: }" >&2
  eval "${command#*: }"
done
