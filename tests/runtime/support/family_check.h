#pragma once

// Checks a family against the double-precision reference on the CPU, over many problems, on any
// device.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "tests/runtime/support/gemm_cases.h"

namespace tunedgemm::internal {

/// A candidate and a problem to run.
struct FamilyCase {
  TypeCase types;
  Problem problem;
  Config config;
  std::vector<int> group_numbers{};  ///< empty: those of the verifier
};

struct FamilyReport {
  std::size_t binaries = 0, runs = 0;
  std::size_t failed = 0;
  std::vector<std::string> failures;    ///< the first few messages
  std::map<std::string, double> worst;  ///< by types: the largest error relative to its bound
};
std::string to_text(const FamilyReport& report);

/// Draws `classes` random classes of problems for each element type and layout. With as many
/// classes as activations, each activation occurs once. Each class gets a random legal config and
/// `shapes` random problems.
std::vector<FamilyCase> random_cases(const Family& family, const DeviceLimits& limits, int classes,
                                     int shapes, Random& random);

/// Compiles every source once, with as many threads as the device allows, then runs and verifies
/// each case in poisoned, guarded memory. Launches are planned for a device with these limits. If
/// they have few SMs, a persistent CTA computes several tiles even of a small problem. Throws
/// DeviceError if the device is lost.
FamilyReport check_family(const Family& family, const std::vector<FamilyCase>& cases,
                          Device& device, const DeviceLimits& limits, std::uint64_t seed);

}  // namespace tunedgemm::internal
