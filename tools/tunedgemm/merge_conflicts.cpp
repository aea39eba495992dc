#include "tools/tunedgemm/merge_conflicts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/shared/text.h"
#include "tuner/decision.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kMostLines = 20;

bool has_tie(const MergeConflict::Tuned& tuned, const std::string& config) {
  return std::ranges::find(tuned.ties, config) != tuned.ties.end();
}

std::string line(const std::string& file, const MergeConflict& conflict, Agreement agreement) {
  const std::optional<Problem> problem = parse_problem(conflict.problem);
  const std::string shape =
      problem ? shape_text(*problem) + " " + types_text(*problem) : conflict.problem;
  const std::string ours = time_text(conflict.ours.median_us);
  const std::string theirs = time_text(conflict.theirs.median_us) + " of " + file;
  return shape + " on " + conflict.device + ": " +
         (conflict.is_taken ? theirs + " replaces " + ours : ours + " stays, not " + theirs) +
         (agreement == Agreement::kOtherKernel ? " by another kernel" : "");
}

}  // namespace

Agreement agreement(const MergeConflict& conflict) {
  const MergeConflict::Tuned& ours = conflict.ours;
  const MergeConflict::Tuned& theirs = conflict.theirs;
  if (ours.config != theirs.config && !has_tie(ours, theirs.config) &&
      !has_tie(theirs, ours.config)) {
    return Agreement::kOtherKernel;
  }
  const auto [shorter, longer] = std::minmax(ours.median_us, theirs.median_us);
  return longer <= (1 + kTieCeiling) * shorter ? Agreement::kAgree : Agreement::kOtherTime;
}

void MergeConflicts::add(const std::string& file, const MergeConflict& conflict) {
  const Agreement found = agreement(conflict);
  Agreement& least = of_problem_.try_emplace(conflict.key, found).first->second;
  least = std::max(least, found);
  if (found == Agreement::kAgree) {
    return;
  }
  if (lines_.size() < kMostLines) {
    lines_.push_back(line(file, conflict, found));
  } else {
    ++more_;
  }
}

void MergeConflicts::print(std::ostream& stream) const {
  if (of_problem_.empty()) {
    return;
  }
  for (const std::string& line : lines_) {
    stream << line << '\n';
  }
  if (more_ > 0) {
    stream << "and " << more_ << " more\n";
  }
  const auto count = [&](Agreement wanted) {
    return std::ranges::count(of_problem_, wanted,
                              [](const auto& problem) { return problem.second; });
  };
  const auto verb = [](std::ptrdiff_t number, const char* one, const char* many) {
    return std::to_string(number) + " " + (number == 1 ? one : many);
  };
  stream << counted(of_problem_.size(), "problem") << (of_problem_.size() == 1 ? " was" : " were")
         << " tuned more than once: " << verb(count(Agreement::kAgree), "agrees", "agree") << ", "
         << verb(count(Agreement::kOtherKernel), "differs", "differ") << " in the kernel, "
         << verb(count(Agreement::kOtherTime), "differs", "differ") << " in time by more than "
         << std::lround(100 * kTieCeiling) << " %\n";
}

}  // namespace tunedgemm::internal
