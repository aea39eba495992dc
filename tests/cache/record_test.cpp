#include "cache/record.h"

#include <set>
#include <string>

#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"

using namespace tunedgemm::internal;

TEST_CASE("A device's fingerprint changes with each of its fields") {
  std::set<std::string> fingerprints{fingerprint(sample::device())};
  const auto add = [&](auto change) {
    DeviceIdentity device = sample::device();
    change(device);
    return fingerprints.insert(fingerprint(device)).second;
  };
  CHECK(add([](DeviceIdentity& device) { device.backend = "host"; }));
  CHECK(add([](DeviceIdentity& device) { device.name += "e"; }));
  CHECK(add([](DeviceIdentity& device) { ++device.compute_capability; }));
  CHECK(add([](DeviceIdentity& device) { ++device.units; }));
  CHECK(add([](DeviceIdentity& device) { ++device.memory_bytes; }));
  CHECK(add([](DeviceIdentity& device) { ++device.l2_bytes; }));
  CHECK(add([](DeviceIdentity& device) { ++device.clock_mhz; }));
  CHECK(add([](DeviceIdentity& device) { ++device.power_limit_watts; }));
  CHECK_FALSE(add([](DeviceIdentity&) {}));
  CHECK(fingerprint(sample::device()).size() == 32);
}

TEST_CASE("A device's memory is in whole GiB, whatever its driver reserves") {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  CHECK(in_whole_gib(0) == 0);
  CHECK(in_whole_gib(1) == kGiB);
  CHECK(in_whole_gib(kGiB) == kGiB);
  CHECK(in_whole_gib(kGiB + 1) == 2 * kGiB);
  CHECK(in_whole_gib(150109880320) == 140 * kGiB);  // an H200
}

TEST_CASE("A toolchain's fingerprint changes with compiler and driver") {
  CHECK(fingerprint(Toolchain{"a", "b"}) == fingerprint(Toolchain{"a", "b"}));
  CHECK(fingerprint(Toolchain{"a", "b"}) != fingerprint(Toolchain{"a", "c"}));
  CHECK(fingerprint(Toolchain{"a", "b"}) != fingerprint(Toolchain{"b", "a"}));
}

TEST_CASE("A rigor's name can be parsed, and other names cannot") {
  for (const Rigor rigor : {Rigor::kModel, Rigor::kQuick, Rigor::kNormal, Rigor::kExhaustive}) {
    CHECK(parse_rigor(name(rigor)) == rigor);
  }
  CHECK_FALSE(parse_rigor("thorough"));
  CHECK_FALSE(parse_rigor(""));
  CHECK(parse_rigor_of_user("quick") == Rigor::kQuick);
  CHECK_FALSE(parse_rigor_of_user("model"));
}

TEST_CASE("Each reason has its own name") {
  std::set<std::string_view> names;
  for (int reason = 1; reason <= 10; ++reason) {
    CHECK(names.insert(name(static_cast<Reason>(reason))).second);
  }
  CHECK(names.count("unknown") == 0);
  CHECK(to_text(Rejection{Reason::kWrongResult, "D[0, 0] is 1"}) == "wrong result: D[0, 0] is 1");
}
