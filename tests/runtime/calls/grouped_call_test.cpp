// Grouped products through the public interface, on the host with the linked-in kernel.

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/seed.h"
#include "tunedgemm/tunedgemm.hpp"

using Catch::Matchers::ContainsSubstring;
using tunedgemm::internal::test_seed;

namespace {

constexpr std::int64_t kM = 7, kN = 5, kK = 9, kGroups = 4;
constexpr float kUntouched = -77;

// Compiles nothing.
tunedgemm::Context linked_in_context() {
  return tunedgemm::Context({.backend = TUNEDGEMM_BACKEND_HOST,
                             .host_threads = 2,
                             .cache_path = "",
                             .policy = TUNEDGEMM_POLICY_STORED});
}

tunedgemm_problem grouped(tunedgemm_group_kind kind) {
  return {.m = kM, .n = kN, .k = kK, .batch = kGroups, .group_kind = kind};
}

std::vector<float> random_matrix(std::int64_t elements) {
  static std::mt19937_64 random(test_seed());
  std::vector<float> matrix(static_cast<std::size_t>(elements));
  for (float& element : matrix) {
    element = static_cast<float>(static_cast<int>(random() % 9) - 4);
  }
  return matrix;
}

struct Operands {
  std::vector<float> a = random_matrix(kGroups * kM * kK), b = random_matrix(kGroups * kK * kN);
  std::vector<float> d = std::vector<float>(kGroups * kM * kN, kUntouched);

  tunedgemm_buffers buffers(const std::vector<std::int32_t>& groups) {
    return {.a = a.data(), .b = b.data(), .d = d.data(), .groups = groups.data()};
  }
  // The sum of some products of a row of A and a column of a B.
  float sum(std::int64_t row_of_a, std::int64_t first_of_b, std::int64_t n, std::int64_t k_begin,
            std::int64_t k_end) const {
    float sum = 0;
    for (std::int64_t k = k_begin; k < k_end; ++k) {
      sum += a[static_cast<std::size_t>(row_of_a * kK + k)] *
             b[static_cast<std::size_t>(first_of_b + k * kN + n)];
    }
    return sum;
  }
  float at(std::int64_t row, std::int64_t n) const {
    return d[static_cast<std::size_t>(row * kN + n)];
  }
};

}  // namespace

TEST_CASE("Groups share rows, and the ends may change between launches of a plan") {
  const tunedgemm::Context context = linked_in_context();
  Operands operands;
  std::vector<std::int32_t> ends(kGroups);
  const tunedgemm_buffers buffers = operands.buffers(ends);
  const tunedgemm::Plan plan = context.plan(grouped(TUNEDGEMM_GROUP_KIND_ROWS), buffers);
  const std::vector<std::vector<std::int32_t>> routings{
      {2, 2, 5, 6}, {0, 0, 0, 0}, {7, 7, 7, 7}, {0, 0, 0, 7}, {1, 2, 3, 4}, {-3, 3, 3, 900}};
  for (const std::vector<std::int32_t>& routing : routings) {
    ends = routing;
    operands.d.assign(operands.d.size(), kUntouched);
    plan.run(buffers);
    for (std::int64_t row = 0; row < kGroups * kM; ++row) {
      std::int64_t group = 0;
      while (group < kGroups && row >= ends[static_cast<std::size_t>(group)]) {
        ++group;
      }
      for (std::int64_t n = 0; n < kN; ++n) {
        const bool is_computed = row < kM && group < kGroups;
        CAPTURE(row, group, n);
        CHECK(operands.at(row, n) ==
              (is_computed ? operands.sum(row, group * kK * kN, n, 0, kK) : kUntouched));
      }
    }
  }
}

TEST_CASE("Groups of ranges leave the rows between them untouched") {
  const tunedgemm::Context context = linked_in_context();
  Operands operands;
  const std::vector<std::int32_t> ranges{1, 2, 3, 3, 3, 5, 6, 7};
  const tunedgemm_problem problem = grouped(TUNEDGEMM_GROUP_KIND_RANGES);
  tunedgemm::tuned_matmul(context, problem, operands.buffers(ranges));
  const std::vector<std::int64_t> group_of_row{-1, 0, -1, 2, 2, -1, 3};
  for (std::int64_t row = 0; row < kGroups * kM; ++row) {
    const std::int64_t group = row < kM ? group_of_row[static_cast<std::size_t>(row)] : -1;
    for (std::int64_t n = 0; n < kN; ++n) {
      CHECK(operands.at(row, n) ==
            (group >= 0 ? operands.sum(row, group * kK * kN, n, 0, kK) : kUntouched));
    }
  }
}

TEST_CASE("Groups of counts write the first rows of their own part alone") {
  const tunedgemm::Context context = linked_in_context();
  Operands operands;
  const std::vector<std::int32_t> counts{3, 0, 7, 1};
  const tunedgemm_problem problem = grouped(TUNEDGEMM_GROUP_KIND_COUNTS);
  tunedgemm::tuned_matmul(context, problem, operands.buffers(counts));
  for (std::int64_t row = 0; row < kGroups * kM; ++row) {
    const std::int64_t group = row / kM;
    for (std::int64_t n = 0; n < kN; ++n) {
      const bool is_computed = row % kM < counts[static_cast<std::size_t>(group)];
      CHECK(operands.at(row, n) ==
            (is_computed ? operands.sum(row, group * kK * kN, n, 0, kK) : kUntouched));
    }
  }
}

TEST_CASE("Groups along K have a D each; an empty one gives zero, or keeps C") {
  const tunedgemm::Context context = linked_in_context();
  Operands operands;
  const std::vector<std::int32_t> ends{4, 4, 5, 8};
  const tunedgemm_problem problem = grouped(TUNEDGEMM_GROUP_KIND_K);
  tunedgemm_buffers buffers = operands.buffers(ends);
  for (const bool keeps_c : {false, true}) {
    operands.d.assign(operands.d.size(), kUntouched);
    buffers.c = keeps_c ? buffers.d : nullptr;
    buffers.beta = keeps_c ? 1 : 0;
    tunedgemm::tuned_matmul(context, problem, buffers);
    for (std::int64_t row = 0; row < kGroups * kM; ++row) {
      const auto group = static_cast<std::size_t>(row / kM);
      const std::int64_t begin = group == 0 ? 0 : ends[group - 1];
      for (std::int64_t n = 0; n < kN; ++n) {
        CHECK(operands.at(row, n) ==
              operands.sum(row % kM, 0, n, begin, ends[group]) + (keeps_c ? kUntouched : 0));
      }
    }
  }
}

TEST_CASE("Groups that cannot be used are named") {
  const tunedgemm::Context context = linked_in_context();
  Operands operands;
  const std::vector<std::int32_t> ends{1, 2, 3, 4};
  const tunedgemm_problem problem = grouped(TUNEDGEMM_GROUP_KIND_ROWS);
  const auto check_refused = [&](tunedgemm_problem wrong, tunedgemm_buffers buffers,
                                 const char* message) {
    CHECK_THROWS_WITH(tunedgemm::tuned_matmul(context, wrong, buffers), ContainsSubstring(message));
    CHECK_THROWS_WITH(tunedgemm::tuned_matmul(context, wrong, buffers), ContainsSubstring(message));
  };
  tunedgemm_buffers buffers = operands.buffers(ends);
  buffers.groups = nullptr;
  check_refused(problem, buffers, "the pointer groups is null, but group_kind is rows");
  buffers.groups = reinterpret_cast<const std::int32_t*>(operands.d.data() + 3);
  check_refused(problem, buffers, "overlaps the groups");
  tunedgemm_problem wrong = problem;
  wrong.order_d = TUNEDGEMM_ORDER_COLUMN_MAJOR;
  check_refused(wrong, operands.buffers(ends), "groups of rows need a row-major D");
  wrong = problem;
  wrong.batch_stride_a = kM * kK;
  check_refused(wrong, operands.buffers(ends), "the batch stride of A is 63, but the groups share");
  wrong = problem;
  wrong.rows_per_group = -2;
  check_refused(wrong, operands.buffers(ends), "rows_per_group is -2");
}

TEST_CASE("Groups have biases of their own, and one for each of their rows") {
  const tunedgemm::Context context = linked_in_context();
  for (const auto bias : {TUNEDGEMM_BIAS_PER_ROW, TUNEDGEMM_BIAS_PER_COLUMN}) {
    Operands operands;
    const std::vector<std::int32_t> ends{2, 3, 3, 6};
    const std::vector<float> values = random_matrix(kGroups * kN + kM);
    tunedgemm_problem problem = grouped(TUNEDGEMM_GROUP_KIND_ROWS);
    problem.bias = bias;
    tunedgemm_buffers buffers = operands.buffers(ends);
    buffers.bias = values.data();
    tunedgemm::tuned_matmul(context, problem, buffers);
    for (std::int64_t row = 0; row < ends.back(); ++row) {
      const std::int64_t group = row < 2 ? 0 : row < 3 ? 1 : 3;
      for (std::int64_t n = 0; n < kN; ++n) {
        const std::int64_t at = bias == TUNEDGEMM_BIAS_PER_ROW ? row : group * kN + n;
        CHECK(operands.at(row, n) ==
              operands.sum(row, group * kK * kN, n, 0, kK) + values[static_cast<std::size_t>(at)]);
      }
    }
  }
}
