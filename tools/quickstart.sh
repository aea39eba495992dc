#!/usr/bin/env bash
# From a fresh clone to a table of results: installs what is missing, builds, tunes a few real layer
# shapes on the device that is here, and shows that a second run is answered from the cache.
#
#   bash tools/quickstart.sh
#
# $TUNEDGEMM_CACHE says where the winners are kept; default ~/.cache/tunedgemm/tunedgemm.db.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/packages.sh
source tools/packages.sh

say() { printf '\n== %s\n' "$*"; }

install_missing "${build_packages[@]}"

build=build/quickstart
say "Building into $build"
cmake --preset release -B "$build" -DTUNEDGEMM_TESTS=OFF
cmake --build "$build" --target tune-all tunedgemm-command
PATH=$PWD/$build/tools:$PATH

say "What is here"
tunedgemm doctor || echo "(tuning goes on with what works)"

shapes=tools/shapes/layers.csv
if tunedgemm doctor --json | grep -q '"what": "cuda:0"'; then
  shapes=tools/shapes/layers_gpu.csv
fi

say "Tuning $shapes (Ctrl-C keeps what is done; the same command goes on)"
tune-all --rigor quick --budget-seconds 12 "$shapes"

say "The same again"
begin=$(date +%s%N)
tune-all --rigor quick --budget-seconds 12 "$shapes" 2>/dev/null | tail -n 3
echo "It took $((($(date +%s%N) - begin) / 1000000)) ms."

say "Next"
cat <<END
  $build/tools/tunedgemm best                  what is in the cache
  $build/tools/tunedgemm explain 128 768 768   what a call would run, and why
  tools/examples/01_first_matmul.cpp                 a program that uses it
END
