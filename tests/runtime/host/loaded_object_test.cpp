// Shared objects that exist as bytes: what is cut off or no shared object is a sentence.

#include "runtime/host/loaded_object.h"

#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/seed.h"
#include "tests/support/skip.h"

using namespace tunedgemm::internal;

namespace {

// A small shared object that every program of ours has loaded.
std::vector<std::byte> some_shared_object() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&std::memcpy), &found) == 0) {
    return {};
  }
  const std::string libc = found.dli_fname;
  std::ifstream file(libc.substr(0, libc.rfind('/')) + "/libdl.so.2", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

bool loads(const std::vector<std::byte>& bytes) {
  return std::holds_alternative<std::unique_ptr<LoadedObject>>(LoadedObject::load(bytes));
}

}  // namespace

TEST_CASE("A shared object that was cut off anywhere is a sentence and no signal") {
  const std::vector<std::byte> whole = some_shared_object();
  if (whole.empty()) {
    TUNEDGEMM_SKIP("no shared object to load was found");
  }
  REQUIRE(loads(whole));
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 200; ++round) {
    const std::size_t length =
        round < 70 ? static_cast<std::size_t>(round) : random() % whole.size();
    INFO("seed " << test_seed() << ", " << length << " of " << whole.size() << " bytes");
    const auto loaded = LoadedObject::load(std::span(whole).first(length));
    // Behind the last part that is mapped stand sections that the loader does not read.
    if (const auto* sentence = std::get_if<std::string>(&loaded)) {
      CHECK_FALSE(sentence->empty());
    } else {
      CHECK(length > whole.size() / 2);
    }
  }
  CHECK_FALSE(loads(std::vector<std::byte>(5000, std::byte{0x5a})));
}
