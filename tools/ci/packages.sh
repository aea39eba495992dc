#!/usr/bin/env bash
# Sourced by the other scripts: lists the required Debian packages, installs the missing ones, and has what the scripts share.

# shellcheck disable=SC2034  # used by the scripts that source this
build_packages=(cmake ninja-build g++ libspdlog-dev libfmt-dev libsqlite3-dev libcli11-dev
  nlohmann-json3-dev)
# shellcheck disable=SC2034
test_packages=(catch2 python3 python3-dev python3-venv python3-matplotlib sqlite3 pkg-config file dpkg-dev
  doxygen shellcheck clang-format-14 clang-tidy-14 help2man zsh fish)
# shellcheck disable=SC2034
fuzz_packages=(clang-14 libclang-rt-14-dev)
# For the tests under the launchers of a cluster, which start their own daemons.
# shellcheck disable=SC2034
cluster_packages=(openmpi-bin slurm-wlm munge)
# For the page that tunedgemm report writes.
# shellcheck disable=SC2034
browser_packages=(chromium)

# The Python package is built and tested in this virtual environment, with these packages of PyPI.
readonly python_venv=build/test/python-venv
# shellcheck disable=SC2034
python_build_packages=('nanobind>=3.1' "jaxlib>=0.10; python_version >= '3.11'")
# shellcheck disable=SC2034
python_test_packages=("jax>=0.10; python_version >= '3.11'" ml_dtypes numpy pandas pytest pytest-xdist
  tqdm)
# shellcheck disable=SC2034
python_check_packages=('mypy>=2.4' 'ruff>=0.17')
# The package as an installation has it, but with the shared library of build/test.
readonly python_package=build/test/python

# install_missing PACKAGE... installs the packages that are missing and prints their names. On a terminal it asks first, unless
# $assume_yes is 1; if the answer is no, the script ends.
install_missing() {
  local missing=() package
  if ! command -v dpkg-query >/dev/null; then
    echo "This is not Debian or Ubuntu: install the contents of these packages yourself: $*"
    return
  fi
  for package in "$@"; do
    if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]} == 0)); then
    return
  fi
  if [[ -t 0 && "${assume_yes:-0}" != 1 ]]; then
    local answer
    read -r -p "Missing packages: ${missing[*]}. Install them with apt-get? [Y/n] " answer
    if [[ ! "$answer" =~ ^([Yy]|[Yy]es)?$ ]]; then
      echo "Nothing was installed. The packages are needed to continue." >&2
      exit 1
    fi
  fi
  echo "Installing with apt-get: ${missing[*]}"
  local as_root=()
  if ((EUID != 0)); then
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# install_from_pypi PACKAGE... installs Python packages in $python_venv. Fails where PyPI cannot be reached.
install_from_pypi() {
  python3 -m venv "$python_venv" || exit
  # Few of their files are imported, so none is compiled in advance.
  "$python_venv/bin/pip" install --quiet --disable-pip-version-check --no-compile "$@"
}

# configure_python configures build/test with the Python package's extension module, for the Python of $python_venv.
configure_python() {
  cmake --preset test -DTUNEDGEMM_PYTHON=ON -DPython_EXECUTABLE="$PWD/$python_venv/bin/python" \
    -Dnanobind_DIR="$("$python_venv/bin/python" -m nanobind --cmake_dir)" >/dev/null
}

# build_python_package builds the Python package in build/test and puts it together in $python_package.
build_python_package() {
  configure_python
  build_quietly --preset test --target _core _core_stub tune-all tunedgemm-command
  rm -rf "$python_package"
  cmake --install build/test --component python --prefix "$python_package" >/dev/null
  cp -r runtime/python/tunedgemm "$python_package"
}

# python_program NAME prints the path of a program of $python_venv, else of the path; "" if it is missing.
python_program() {
  command -v "$python_venv/bin/$1" || command -v "$1" || true
}

# say TEXT... prints a heading with the seconds since the script began.
say() { printf '\n== [%d s] %s\n' "$SECONDS" "$*"; }

# parse_yes "$@" accepts --yes, which sets $assume_yes, and no other argument.
parse_yes() {
  if [[ $# -gt 1 || "${1:---yes}" != --yes ]]; then
    echo "usage: ${0##*/} [--yes]" >&2
    exit 2
  fi
  assume_yes=$#
}

# build_quietly ARGUMENT... runs cmake --build, with at most one line of progress.
build_quietly() {
  if [[ -t 1 ]]; then
    cmake --build "$@"
  else
    cmake --build "$@" -- --quiet # else Ninja prints a line for each file
  fi
}
