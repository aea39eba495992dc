#!/usr/bin/env bash
# Sourced by the other scripts: lists the required Debian packages and installs the missing ones.

# shellcheck disable=SC2034  # used by the scripts that source this
build_packages=(cmake ninja-build g++ libspdlog-dev libfmt-dev libsqlite3-dev libcli11-dev
  nlohmann-json3-dev)
# shellcheck disable=SC2034
test_packages=(catch2 python3 python3-dev python3-venv python3-matplotlib sqlite3 pkg-config doxygen
  shellcheck clang-format-14 clang-tidy-14 help2man zsh fish)
# shellcheck disable=SC2034
fuzz_packages=(clang-14 libclang-rt-14-dev)

# install_missing PACKAGE... installs the packages that are missing and prints their names.
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
  echo "Installing with apt-get: ${missing[*]}"
  local as_root=()
  if ((EUID != 0)); then
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
