#include "tools/tunedgemm/nearest_winners.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "kernel_templates/problem/problem_fields.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::array<std::int64_t Problem::*, 4> kExtents{&Problem::m, &Problem::n, &Problem::k,
                                                          &Problem::batch};
constexpr std::array<std::string_view, 4> kExtentNames{"m", "n", "k", "batch"};

constexpr std::int64_t kPacked = -1;

// Marks strides that follow from the extents.
void mark_packed_strides(Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  const bool is_row_major = matrix.order == Order::kRowMajor;
  if (matrix.batch_stride == matrix.leading_dimension * (is_row_major ? rows : columns)) {
    matrix.batch_stride = kPacked;
  }
  if (matrix.leading_dimension == (is_row_major ? columns : rows)) {
    matrix.leading_dimension = kPacked;
  }
}

Problem with_packed_strides_marked(Problem problem) {
  mark_packed_strides(problem.a, problem.m, problem.k);
  mark_packed_strides(problem.b, problem.k, problem.n);
  mark_packed_strides(problem.c, problem.m, problem.n);
  mark_packed_strides(problem.d, problem.m, problem.n);
  return problem;
}

std::vector<DifferingField> differences_of(const Problem& tuned, const Problem& asked) {
  const Problem tuned_marked = with_packed_strides_marked(tuned);
  const Problem asked_marked = with_packed_strides_marked(asked);
  std::vector<DifferingField> differences;
  for (const ProblemField& field : problem_fields()) {
    const auto tuned_values = field.values(tuned), asked_values = field.values(asked);
    const auto left = field.values(tuned_marked), right = field.values(asked_marked);
    for (std::size_t index = 0; index < left.size(); ++index) {
      if (left[index] != right[index] && !field.columns[index].empty()) {
        differences.push_back({std::string(field.columns[index]), to_text(tuned_values[index]),
                               to_text(asked_values[index])});
      }
    }
  }
  return differences;
}

std::size_t other_fields_than_extents(const std::vector<DifferingField>& differences) {
  return static_cast<std::size_t>(
      std::ranges::count_if(differences, [](const DifferingField& each) {
        return std::ranges::find(kExtentNames, each.field) == kExtentNames.end();
      }));
}

// In powers of two.
double distance_of_extents(const Problem& left, const Problem& right) {
  double distance = 0;
  for (const auto extent : kExtents) {
    distance += std::abs(std::log2((1.0 + static_cast<double>(left.*extent)) /
                                   (1.0 + static_cast<double>(right.*extent))));
  }
  return distance;
}

}  // namespace

std::vector<MissedWinner> nearest_winners(const Problem& problem, const DeviceIdentity& device,
                                          std::span<const WinnerWithState> winners,
                                          std::size_t count) {
  struct Ranked {
    std::size_t others;
    double distance;
    MissedWinner winner;
  };
  std::vector<Ranked> ranked;
  for (const auto& [record, state, name] : winners) {
    MissedWinner winner{
        .record = record, .state = state, .differences = differences_of(record.problem, problem)};
    if (!(record.device == device)) {
      winner.differences.push_back({"device", device_text(record.device), device_text(device)});
    }
    ranked.push_back({other_fields_than_extents(winner.differences),
                      distance_of_extents(record.problem, problem), std::move(winner)});
  }
  count = std::min(count, ranked.size());
  std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(count),
                            [](const Ranked& left, const Ranked& right) {
                              return std::tie(left.others, left.distance) <
                                     std::tie(right.others, right.distance);
                            });
  std::vector<MissedWinner> nearest;
  for (std::size_t index = 0; index < count; ++index) {
    nearest.push_back(std::move(ranked[index].winner));
  }
  return nearest;
}

std::string differences_text(const MissedWinner& winner) {
  std::string text;
  for (const auto& [field, tuned, asked] : winner.differences) {
    text += text.empty() ? "" : "; ";
    text.append(field).append(" is ").append(tuned).append(", not ").append(asked);
  }
  if (winner.state == "void") {
    text += text.empty() ? "" : "; ";
    text += "its kernel's template has changed since";
  }
  return text;
}

}  // namespace tunedgemm::internal
