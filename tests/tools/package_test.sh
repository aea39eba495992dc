#!/usr/bin/env bash
# Installs the library, builds programs in C and C++ against it with CMake and with pkg-config, makes the
# Debian packages, checks the exported symbols, and includes the sources in another project. No project
# sets a standard of its language.
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

# The C++ program of the README.
program=$folder/user.cpp
awk '/^```/ && inside { exit } inside; /^```cpp/ { inside = 1 }' "$sources/README.md" >"$program"
grep -q tuned_matmul "$program"

# project LANGUAGE SOURCE COMMAND writes and configures a project of five lines; COMMAND provides the target.
project() {
  mkdir "$folder/$1"
  cp "$2" "$folder/$1"
  cat >"$folder/$1/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES ${1%_*})
$3
add_executable(user ${2##*/})
target_link_libraries(user PRIVATE tunedgemm::tunedgemm)
END
  cmake --no-warn-unused-cli -S "$folder/$1" -B "$folder/$1/build" -DCMAKE_PREFIX_PATH="$folder/usr" "${@:4}" >/dev/null
}
for language in C CXX; do
  source=$example
  if [[ $language == CXX ]]; then
    source=$program
  fi
  project $language "$source" "find_package(tunedgemm REQUIRED)"
  cmake --build "$folder/$language/build" >/dev/null
  "$folder/$language/build/user"
done

libraries=$(dirname "$(find "$folder/usr" -name libtunedgemm.so)")
PKG_CONFIG_PATH=$libraries/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # the flags are several words
cc "$example" -o "$folder/user" $(pkg-config --cflags --libs tunedgemm)
LD_LIBRARY_PATH=$libraries "$folder/user"
# shellcheck disable=SC2046
c++ -std=c++20 "$program" -o "$folder/user" $(pkg-config --cflags --libs tunedgemm)
LD_LIBRARY_PATH=$libraries "$folder/user"
# A program of an earlier version, whose structs are shorter: the library completes them.
cp -r "$folder/usr/include" "$folder/earlier"
sed -i -e '/ workspace_bytes TUNEDGEMM_ZERO; .*too small/d' -e '/ tune_candidates TUNEDGEMM_ZERO;/d' \
  -e '/ numerics TUNEDGEMM_DEFAULT/d' -e 's/, .numerics = TUNEDGEMM_NUMERICS_DEFAULT//' "$folder/earlier/tunedgemm/tunedgemm.h"
test "$(diff "$folder/usr/include/tunedgemm/tunedgemm.h" "$folder/earlier/tunedgemm/tunedgemm.h" | grep -c '^<')" = 4
# shellcheck disable=SC2046
cc -fstack-protector-all -I"$folder/earlier" "$example" -o "$folder/user" $(pkg-config --libs tunedgemm)
LD_LIBRARY_PATH=$libraries "$folder/user"
# An older standard is one sentence, not the errors of a header that it cannot read.
# shellcheck disable=SC2046
if c++ -std=c++17 "$program" -o "$folder/user" $(pkg-config --cflags --libs tunedgemm) 2>"$folder/errors"; then
  echo "tunedgemm.hpp was compiled as C++17" >&2
  exit 1
fi
grep -q '#error "tunedgemm.hpp needs C++20' "$folder/errors"
if grep 'tunedgemm.hpp' "$folder/errors" | grep -v -e '#error' -e 'from ' -e 'needs C++20'; then
  echo "tunedgemm.hpp has more errors as C++17 than one" >&2
  exit 1
fi

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
# tools and tests. The library is not compiled here, since that would take minutes; the program is.
without_packages=(-DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON
  -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
project C_whole "$example" "enable_language(CXX)
add_subdirectory($sources tunedgemm)" "${without_packages[@]}"
project CXX_whole "$program" "include(FetchContent)
FetchContent_Declare(tunedgemm SOURCE_DIR $sources)
FetchContent_MakeAvailable(tunedgemm)" "${without_packages[@]}"
cmake --build "$folder/CXX_whole/build" --target CMakeFiles/user.dir/user.cpp.o >/dev/null
for whole in C_whole CXX_whole; do
  targets=$(cmake --build "$folder/$whole/build" --target help)
  grep -qw tunedgemm <<<"$targets"
  if grep -wE 'tune-all|tools_tests|cache_tests' <<<"$targets"; then
    echo "a project that takes the sources in also builds the tools or the tests" >&2
    exit 1
  fi
done
