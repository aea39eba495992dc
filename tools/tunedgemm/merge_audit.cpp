#include "tools/tunedgemm/merge_audit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr double kSlowRatio = 1.03;
constexpr std::size_t kLeastProblems = 3;

struct Sum {
  double logarithms = 0;  // of the ratios
  std::size_t problems = 0;
};

void add_ratios(std::span<const AuditedTime> of_problem, std::map<std::uint32_t, Sum>& sums) {
  double all_us = 0;
  for (const AuditedTime& time : of_problem) {
    all_us += time.median_us;
  }
  for (const AuditedTime& time : of_problem) {
    const double others_us = (all_us - time.median_us) / static_cast<double>(of_problem.size() - 1);
    Sum& sum = sums[time.file];
    sum.logarithms += std::log(time.median_us / others_us);
    ++sum.problems;
  }
}

}  // namespace

std::vector<SlowFile> slow_files(std::vector<AuditedTime> times) {
  std::erase_if(times, [](const AuditedTime& time) { return !(time.median_us > 0); });
  std::ranges::sort(times, {}, &AuditedTime::problem);
  std::map<std::uint32_t, Sum> sums;
  for (auto begin = times.begin(); begin != times.end();) {
    const auto end = std::find_if(begin, times.end(), [&](const AuditedTime& time) {
      return time.problem != begin->problem;
    });
    if (end - begin > 1) {
      add_ratios({begin, end}, sums);
    }
    begin = end;
  }
  std::vector<SlowFile> slow;
  for (const auto& [file, sum] : sums) {
    const double ratio = std::exp(sum.logarithms / static_cast<double>(sum.problems));
    if (sum.problems >= kLeastProblems && ratio > kSlowRatio) {
      slow.push_back({file, sum.problems, ratio});
    }
  }
  std::ranges::stable_sort(slow, std::ranges::greater(), &SlowFile::ratio);
  return slow;
}

std::string to_text(const SlowFile& slow, const std::string& file_name) {
  return file_name + ": its " + counted(slow.problems, "problem") +
         " that other files have too took " + rounded_text(slow.ratio) +
         " times as long: its device may be slow; verify its winners (tunedgemm verify) or tune "
         "its problems again elsewhere";
}

}  // namespace tunedgemm::internal
