#pragma once

// Problems, devices, records and a family to test the store with.

#include <cstddef>
#include <string>
#include <string_view>

#include "cache/store.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal::sample {

/// A family that allows block_m = 64, 128 and, if `age` is 1, 256. It refuses 128 on a device whose
/// blocks have fewer than 256 threads. The fingerprint depends on `age`, which is 0 or 1.
const Family& family(int age = 0);
/// For StoreOptions::find_family: returns `sample::family` of one age and nothing else.
const Family* find_young(std::string_view name);
const Family* find_old(std::string_view name);

StoreOptions options(const std::filesystem::path& path);

CanonicalProblem problem(std::int64_t m);
/// The problem after a change.
template <class Change>
CanonicalProblem changed(Problem problem, Change change) {
  change(problem);
  return canonical(problem);
}
DeviceIdentity device();
Toolchain toolchain(const std::string& driver = "580.65");
TuningKey key(std::int64_t m);
DeviceLimits limits();

Record record(std::int64_t m, double median_us = 12.5, Rigor rigor = Rigor::kNormal);
TrialRecord trial(int block_m, double median_us);
TrialRecord rejected(int block_m, Reason reason);
Source source(std::int64_t m = 1);
Binary binary(std::size_t bytes = 1000, int seed = 1);

}  // namespace tunedgemm::internal::sample
