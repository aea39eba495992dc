#!/usr/bin/env bash
# From a fresh clone to a table of results: installs missing packages, builds, tunes a few real layer
# shapes on this machine's device, and shows that a second run uses the cache.
#
#   bash tools/quickstart.sh [--yes]
#
# On a terminal it asks before it installs packages; with --yes it does not ask.
# $TUNEDGEMM_CACHE is the cache file; default ~/.cache/tunedgemm/tunedgemm.db.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/ci/packages.sh
source tools/ci/packages.sh

parse_yes "$@"
install_missing "${build_packages[@]}"

build=build/quickstart
say "Building into $build"
cmake --preset release -B "$build" -DTUNEDGEMM_TESTS=OFF >/dev/null
build_quietly "$build" --target tune-all tunedgemm-command
PATH=$PWD/$build/tools:$PATH

say "This machine"
tunedgemm doctor || echo "(tuning continues without it)"

shapes=tools/shapes/layers.csv
if tunedgemm doctor --json | grep -q '"what": "cuda:0"'; then
  shapes=tools/shapes/layers_gpu.csv
fi

say "Tuning $shapes (Ctrl-C keeps finished shapes; the same command continues)"
tune-all --rigor quick --budget-seconds 12 "$shapes"

say "The same command again"
begin=$(date +%s%N)
tune-all --rigor quick --budget-seconds 12 "$shapes" 2>/dev/null | tail -n 3
echo "It took $((($(date +%s%N) - begin) / 1000000)) ms."

say "Next"
cat <<END
  $build/tools/tunedgemm best                  the winners in the cache
  $build/tools/tunedgemm explain 128 768 768   the kernel that a call would run, and why
  tools/examples/01_first_matmul.cpp                 a program that uses the library
END
