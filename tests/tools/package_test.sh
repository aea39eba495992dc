#!/usr/bin/env bash
# Installs the library, builds a program against it with CMake and with pkg-config, makes the Debian
# packages, checks the exported symbols, and includes the sources in another project.
# package_test.sh BUILD_FOLDER EXAMPLE.c SOURCE_FOLDER
set -euo pipefail
build=$1
example=$2
sources=$3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TUNEDGEMM_CACHE=$folder/cache.db TUNEDGEMM_POLICY=compile

export CMAKE_GENERATOR=Ninja  # make may be missing
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

# The Debian packages have what was installed, and one package needs another one of its own version.
if command -v dpkg-deb >/dev/null; then
  cpack --config "$build/CPackConfig.cmake" -B "$folder/deb" >/dev/null
  packages=("$folder"/deb/libtunedgemm-dev_*.deb "$folder"/deb/libtunedgemm0_*.deb "$folder"/deb/tunedgemm-tools_*.deb)
  for package in "${packages[@]}"; do
    dpkg-deb -x "$package" "$folder/root"
  done
  version=$(dpkg-deb -f "${packages[1]}" Version)
  test "$(dpkg-deb -f "${packages[0]}" Depends)" = "libtunedgemm0 (= $version)"
  dpkg-deb -f "${packages[2]}" Depends | grep -q libsqlite3-0
  test "$("$folder/root/usr/bin/tune-all" --version)" = "tune-all $version"
  for installed in $(cd "$folder/usr" && find . -not -type d); do
    test -e "$folder/root/usr/$installed"
  done
  for name in libtunedgemm0 libtunedgemm-dev tunedgemm-tools; do
    cmp "$folder/root/usr/share/doc/$name/copyright" "$sources/LICENSE"
  done
fi

# The library exports neither C++ symbols nor symbols of its dependencies.
foreign=$(nm -D --defined-only "$libraries/libtunedgemm.so" | awk '{print $3}' | grep -v '^tunedgemm_' || true)
if [[ -n "$foreign" ]]; then
  echo "libtunedgemm.so exports more than its C interface: $foreign" >&2
  exit 1
fi

# A project that includes the sources has the library as a target, and needs none of the packages of
# tools and tests. It is not compiled here, since that would take minutes.
mkdir "$folder/whole"
cat >"$folder/whole/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
add_subdirectory($sources tunedgemm)
add_executable(user $example)
target_link_libraries(user PRIVATE tunedgemm::tunedgemm)
END
cmake --no-warn-unused-cli -S "$folder/whole" -B "$folder/whole/build" -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON >/dev/null
targets=$(cmake --build "$folder/whole/build" --target help)
grep -qw tunedgemm <<<"$targets"
if grep -wE 'tune-all|tools_tests|cache_tests' <<<"$targets"; then
  echo "a project that takes the sources in also builds the tools or the tests" >&2
  exit 1
fi
