#!/usr/bin/env bash
# Measures the published figures on this machine's GPU, draws the pictures, and updates the README
# and gallery/README.md.
#
#   bash tools/measure/gallery.sh            both steps
#   bash tools/measure/gallery.sh measure    writes tools/gallery/*.json, on a machine with a GPU
#   bash tools/measure/gallery.sh draw       draws the pictures and updates the texts, on any machine
#
# Uses the tunedgemm command of build/quickstart (tools/quickstart.sh), or $TUNEDGEMM.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tunedgemm=${TUNEDGEMM:-build/quickstart/tools/tunedgemm}
folder=tools/gallery
models=(gpt2 llama mixtral qwen3_moe)
mkdir -p "$folder"

measure() {
  "$tunedgemm" bench --sweep squares --back-to-back --json "$folder/squares.json"
  "$tunedgemm" bench --list tools/shapes/types.csv --back-to-back --json "$folder/types.json"
  "$tunedgemm" bench --list tools/shapes/layers_gpu.csv --json "$folder/layers.json"
  "$tunedgemm" ladder --json "$folder/ladder.json"
  if python3 -c 'import torch, triton' 2>/dev/null; then
    python3 tools/measure/bench_triton.py --json "$folder/triton.json"
  fi
  if python3 -c 'import transformers, tunedgemm.torch' 2>/dev/null; then
    python3 tools/measure/bench_grouped.py --types bf16 e4m3 e4m3-block --json "$folder/grouped.json"
    for model in "${models[@]}"; do
      python3 tools/examples/python/model_step.py "$model" --json "$folder/model_step_$model.json"
    done
  fi
}

draw() {
  local python=${PYTHON:-/usr/bin/python3}
  "$python" tools/plot/plot_bench.py "$folder/squares.json" -o "$folder/squares"
  if [[ -f $folder/triton.json ]]; then
    "$python" tools/plot/plot_bench.py "$folder/triton.json" -o "$folder/triton"
  fi
  "$python" tools/plot/plot_ladder.py "$folder/ladder.json" -o "$folder/ladder"
  for model in "${models[@]}"; do
    "$python" tools/plot/plot_model_step.py "$folder/model_step_$model.json" -o "$folder/model_step_$model"
  done
  "$tunedgemm" order 1152 1152 1152 --types f16 --compare --json "$folder/order.json" \
    --config "block_m=128 block_n=128 block_k=64 group_m=3" --at-a-time 9
  "$python" tools/plot/plot_order.py "$folder/order.json" -o "$folder/order"
  rm -f "$folder"/*.png "$folder/order.json"
  tools/ci/update_readme.py headline "$folder" README.md
  tools/ci/update_readme.py models "$folder" README.md
  tools/ci/update_readme.py gallery "$folder" "$folder/README.md"
}

case "${1:-both}" in
  measure) measure ;;
  draw) draw ;;
  both)
    measure
    draw
    ;;
  *) echo "gallery.sh: \"$1\" is neither measure nor draw" >&2 && exit 2 ;;
esac
