#include "tests/runtime/support/gemm_cases.h"

#include <algorithm>
#include <array>

#include "kernel_templates/base/division.h"

namespace tunedgemm::internal {
namespace {

template <std::size_t Count>
std::int64_t pick(const std::array<std::int64_t, Count>& values, Random& random) {
  return values[random() % Count];
}

std::int64_t below(std::int64_t end, Random& random) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
}

// At least half of all matrices have full alignment, so that fast and slow paths are tested.
std::int32_t random_alignment(DataType type, Random& random) {
  if (random() % 2 == 0) {
    return 16;
  }
  std::vector<std::int32_t> possible;
  for (const std::int32_t bytes : {1, 2, 4, 8, 16}) {
    if (bytes >= size_bytes(type)) {
      possible.push_back(bytes);
    }
  }
  return possible[random() % possible.size()];
}

constexpr std::array<std::int64_t, 26> kExtents{1,  2,  3,   5,   7,   8,   13,  15, 16,
                                                17, 31, 32,  33,  61,  63,  64,  65, 67,
                                                96, 97, 127, 128, 129, 191, 255, 257};
constexpr std::array<std::int64_t, 24> kDepths{
    0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 67, 96, 127, 128, 129, 191, 257, 509};

// Limits the CPU reference to a few milliseconds.
constexpr std::int64_t kMostMultiplyAdds = 4'000'000;
constexpr unsigned kFewRows = 16;

// A leading dimension of at least `length` elements that satisfies the alignment class.
std::int64_t padded(std::int64_t length, const Matrix& matrix, std::int64_t extra_steps) {
  const std::int64_t step =
      std::max<std::int64_t>(1, matrix.alignment_bytes / size_bytes(matrix.type));
  return round_up(std::max<std::int64_t>(length, 1), step) + extra_steps * step;
}

std::int64_t line_length(const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  return matrix.order == Order::kRowMajor ? columns : rows;
}

std::int64_t line_count(const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  return matrix.order == Order::kRowMajor ? rows : columns;
}

}  // namespace

std::vector<TypeCase> all_type_cases() {
  constexpr std::array kNumerics{Numerics::kIeee, Numerics::kTf32, Numerics::kEmulated,
                                 Numerics::kFast, Numerics::kPromoted};
  std::vector<TypeCase> cases;
  for (const auto& a_row : kDataTypes) {
    for (const auto& b_row : kDataTypes) {
      for (const auto& d_row : kDataTypes) {
        const auto [a, b, d] = std::array{a_row.type, b_row.type, d_row.type};
        if (!why_not_types(a, b, d).empty()) {
          continue;
        }
        Problem problem = make_problem(1, 1, 1, a, b, d);
        for (const Numerics numerics : kNumerics) {
          problem.numerics = numerics;
          if (why_not(problem).empty()) {
            cases.push_back({a, b, d, numerics});
          }
        }
      }
    }
  }
  return cases;
}

std::string to_text(const TypeCase& types) {
  Problem problem = make_problem(1, 1, 1, types.a, types.b, types.d);
  problem.numerics = types.numerics;
  return types_text(problem);
}

Problem random_class(const TypeCase& types, std::string_view layout, int variant, Random& random) {
  Problem problem = make_problem(1, 1, 1, types.a, types.b, types.d, layout);
  problem.numerics = types.numerics;
  problem.activation =
      kActivations.rows[static_cast<std::size_t>(variant) % std::size(kActivations.rows)]
          .activation;
  problem.bias = static_cast<Bias>(random() % 3);
  if (random() % 2 == 0) {
    problem.beta = ScalarClass::kOther;
    problem.c_is_d = random() % 3 == 0;
    problem.c.order = problem.c_is_d || random() % 2 == 0 ? Order::kRowMajor : Order::kColumnMajor;
  }
  for (Matrix* matrix : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    matrix->alignment_bytes = random_alignment(matrix->type, random);
  }
  if (problem.c_is_d) {
    problem.c = problem.d;
  }
  if (random() % 4 == 0) {
    problem.sm_limit = static_cast<std::int32_t>(1 + random() % 150);
  }
  if (is_fp8(problem.a.type)) {
    const unsigned scalings = problem.numerics == Numerics::kPromoted ? 4 : 2;  // else no blocks
    problem.scaling_a = static_cast<Scaling>(random() % scalings);
    problem.scaling_b = static_cast<Scaling>(random() % scalings);
  }
  return canonical(problem);
}

Problem random_class_of(const Family& family, const TypeCase& types, std::string_view layout,
                        int variant, Random& random) {
  Problem problem = random_class(types, layout, variant, random);
  if (family.computes_groups() && random() % 2 == 0) {
    problem.group_kind = static_cast<GroupKind>(1 + random() % 4);
  }
  return problem;
}

Problem random_sizes(const Problem& problem_class, Random& random) {
  Problem problem = problem_class;
  do {
    problem.m = random() % 4 == 0 ? 1 + below(300, random) : pick(kExtents, random);
    problem.n = random() % 4 == 0 ? 1 + below(300, random) : pick(kExtents, random);
    problem.k = random() % 4 == 0 ? below(600, random) : pick(kDepths, random);
    const bool is_grouped = problem.group_kind != GroupKind::kNone;
    problem.batch = is_grouped          ? 1 + below(12, random)
                    : random() % 3 == 0 ? 1 + below(4, random)
                                        : 1;
  } while (problem.m * problem.n * problem.k * problem.batch > kMostMultiplyAdds);
  const auto place = [&](Matrix& matrix, std::int64_t rows, std::int64_t columns, bool shareable) {
    const std::int64_t extra = random() % 2 == 0 ? 0 : below(5, random);
    matrix.leading_dimension = padded(line_length(matrix, rows, columns), matrix, extra);
    const bool is_shared = shareable && random() % 4 == 0;
    const std::int64_t entry = matrix.leading_dimension * line_count(matrix, rows, columns);
    matrix.batch_stride = is_shared ? 0 : padded(entry, matrix, below(3, random));
  };
  place(problem.a, problem.m, problem.k, true);
  place(problem.b, problem.k, problem.n, true);
  place(problem.c, problem.m, problem.n, true);
  place(problem.d, problem.m, problem.n, false);
  if (shares_rows(problem) || shares_depth(problem)) {
    problem.a.batch_stride = 0;
    (shares_depth(problem) ? problem.b : problem.c).batch_stride = 0;
    problem.d.batch_stride = shares_rows(problem) ? 0 : problem.d.batch_stride;
  }
  if (problem.c_is_d) {
    problem.c = problem.d;
  }
  return canonical(problem);
}

Problem narrowed(Problem problem, bool few_rows, Random& random) {
  std::int64_t& extent = few_rows ? problem.m : problem.n;
  extent = std::min<std::int64_t>(extent, 1 + random() % kFewRows);
  return canonical(problem);
}

Problem narrow(const Problem& problem_class, Random& random) {
  const std::int64_t few = 1 + random() % kFewRows;
  return random() % 2 == 0 ? with_sizes(problem_class, few, 1000, 1000)
                           : with_sizes(problem_class, 1000, few, 1000);
}

Problem with_sizes(const Problem& problem_class, std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem = problem_class;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.batch = 1;
  problem.a.leading_dimension = padded(line_length(problem.a, m, k), problem.a, 0);
  problem.b.leading_dimension = padded(line_length(problem.b, k, n), problem.b, 0);
  problem.c.leading_dimension = padded(line_length(problem.c, m, n), problem.c, 0);
  problem.d.leading_dimension = padded(line_length(problem.d, m, n), problem.d, 0);
  return canonical(problem);
}

}  // namespace tunedgemm::internal
