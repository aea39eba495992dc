// The tensor maps that the driver is asked for. A fake records the request, and copies a box as the
// PTX manual says: element by element, unless a coordinate is outside the extents.

#include "runtime/cuda/tensor_map.h"

#include <array>
#include <cstdint>
#include <random>

#include "runtime/cuda/driver.h"
#include "tests/support/catch.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal::cuda {
namespace {

struct Request {
  unsigned rank = 0;
  std::array<std::uint64_t, 4> extents{};
  std::array<std::uint64_t, 3> strides{};
};
Request requested;

CUresult record(CUtensorMap*, CUtensorMapDataType, unsigned rank, void*,
                const unsigned long long* extents, const unsigned long long* strides,
                const unsigned*, const unsigned*, CUtensorMapInterleave, CUtensorMapSwizzle,
                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  requested.rank = rank;
  for (unsigned dimension = 0; dimension < rank; ++dimension) {
    requested.extents.at(dimension) = extents[dimension];
    if (dimension + 1 < rank) {
      requested.strides.at(dimension) = strides[dimension];
    }
  }
  return CUDA_SUCCESS;
}

void request(const TensorMap& map) {
  Driver driver;
  driver.cuTensorMapEncodeTiled = record;
  CUtensorMap encoded;
  REQUIRE(encode(driver, map, Arguments{}, encoded) == CUDA_SUCCESS);
}

}  // namespace

TEST_CASE("A tensor map has the extents and strides of a batch of matrices") {
  request({.operand = TensorMap::Operand::kA,
           .type = DataType::kBF16,
           .extent = {64, 100, 3},
           .stride_bytes = {256, 65536},
           .box = {64, 128},
           .span_bytes = 128});
  CHECK(requested.rank == 3);
  CHECK(requested.extents == std::array<std::uint64_t, 4>{64, 100, 3, 0});
  CHECK(requested.strides == std::array<std::uint64_t, 3>{256, 65536, 0});
}

// cuTensorMapEncodeTiled takes strides that are multiples of 16 below 2^40, and extents up to 2^32.
TEST_CASE("A ragged tensor map addresses every line, and ends before any of them") {
  constexpr std::uint64_t kExtent = std::uint64_t{1} << 30;  // of tensor_copy.cuh
  std::mt19937_64 random(test_seed());
  for (int repetition = 0; repetition < 1000; ++repetition) {
    const std::uint64_t lines = 1 + random() % kExtent, stride = 16 * (1 + random() % (1 << 20));
    request({.operand = TensorMap::Operand::kD,
             .type = DataType::kBF16,
             .extent = {64, static_cast<std::int64_t>(lines), 1},
             .stride_bytes = {static_cast<std::int64_t>(stride), 0},
             .box = {64, 16},
             .span_bytes = 128,
             .is_ragged = true});
    REQUIRE(requested.rank == 4);
    for (const std::uint64_t each : requested.strides) {
      CHECK((each % 16 == 0 && each > 0 && each < std::uint64_t{1} << 40));
    }
    const std::uint64_t end = 1 + random() % lines, line = random() % (end + 16);
    const std::array<std::uint64_t, 4> at{0, kExtent - end + line, kExtent, end};
    bool is_inside = true;
    std::uint64_t address = 0;  // modulo 2^64
    for (std::size_t dimension = 1; dimension < at.size(); ++dimension) {
      is_inside = is_inside && at.at(dimension) < requested.extents.at(dimension);
      address += at.at(dimension) * requested.strides.at(dimension - 1);
    }
    CAPTURE(lines, stride, end, line);
    CHECK(is_inside == (line < end));
    CHECK(address == line * stride);
  }
}

}  // namespace tunedgemm::internal::cuda
