#!/usr/bin/env bash
# Installs the library, builds a program against it with CMake and with pkg-config, and checks the
# exported symbols. package_test.sh BUILD_FOLDER EXAMPLE.c
set -euo pipefail
build=$1
example=$2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TUNEDGEMM_CACHE=$folder/cache.db TUNEDGEMM_POLICY=compile

cmake --install "$build" --prefix "$folder/usr" >/dev/null
test -x "$folder/usr/bin/tune-all"
test -x "$folder/usr/bin/tunedgemm"

mkdir "$folder/project"
cat >"$folder/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(tunedgemm REQUIRED)
add_executable(user $example)
target_link_libraries(user PRIVATE tunedgemm::tunedgemm)
END
cmake -S "$folder/project" -B "$folder/project/build" -DCMAKE_PREFIX_PATH="$folder/usr" >/dev/null
cmake --build "$folder/project/build" >/dev/null
"$folder/project/build/user"

libraries=$(dirname "$(find "$folder/usr" -name libtunedgemm.so)")
PKG_CONFIG_PATH=$libraries/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # the flags are several words
cc "$example" -o "$folder/user" $(pkg-config --cflags --libs tunedgemm)
LD_LIBRARY_PATH=$libraries "$folder/user"

# The library exports no C++ symbols and none of its dependencies.
foreign=$(nm -D --defined-only "$libraries/libtunedgemm.so" | awk '{print $3}' | grep -v '^tunedgemm_' || true)
if [[ -n "$foreign" ]]; then
  echo "libtunedgemm.so exports more than its C interface: $foreign" >&2
  exit 1
fi
