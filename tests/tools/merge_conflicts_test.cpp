// The report on problems that were tuned more than once in the files of a merge.

#include "tools/tunedgemm/merge_conflicts.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

#include "tests/support/catch.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;

namespace {

MergeConflict conflict(const std::string& key, const MergeConflict::Tuned& ours,
                       const MergeConflict::Tuned& theirs) {
  return {.key = key,
          .problem = "m=" + key,
          .device = "Sample GPU",
          .ours = ours,
          .theirs = theirs,
          .is_taken = false};
}

std::string text_of(const MergeConflicts& conflicts) {
  std::ostringstream stream;
  conflicts.print(stream);
  return stream.str();
}

}  // namespace

TEST_CASE("Two tunings agree on one kernel, or on two in a tie, within two percent") {
  const auto between = [](const MergeConflict::Tuned& ours, const MergeConflict::Tuned& theirs) {
    const Agreement found = agreement(conflict("1", ours, theirs));
    CHECK(agreement(conflict("1", theirs, ours)) == found);
    return found;
  };
  CHECK(between({"a", 100, {}}, {"a", 101.9, {}}) == Agreement::kAgree);
  CHECK(between({"a", 100, {}}, {"a", 102.1, {}}) == Agreement::kOtherTime);
  CHECK(between({"a", 100, {"c", "b"}}, {"b", 101, {}}) == Agreement::kAgree);
  CHECK(between({"a", 100, {"b"}}, {"b", 110, {}}) == Agreement::kOtherTime);
  CHECK(between({"a", 100, {"c"}}, {"b", 100, {"c"}}) == Agreement::kOtherKernel);
  CHECK(between({"a", 100, {}}, {"a", std::numeric_limits<double>::quiet_NaN(), {}}) ==
        Agreement::kOtherTime);
}

TEST_CASE("Conflicts without agreement have a line each, and every problem counts once") {
  MergeConflicts conflicts;
  CHECK(text_of(conflicts).empty());
  conflicts.add("two.db", conflict("1", {"a", 100, {}}, {"a", 101, {}}));
  CHECK(text_of(conflicts) ==
        "1 problem was tuned more than once: 1 agrees, 0 differ in the kernel, 0 differ in time by "
        "more than 2 %\n");
  conflicts.add("two.db", conflict("2", {"a", 100, {}}, {"a", 200, {}}));
  MergeConflict taken = conflict("2", {"a", 100, {}}, {"b", 90, {}});
  taken.is_taken = true;
  conflicts.add("three.db", taken);
  conflicts.add("three.db", conflict("3", {"a", 100, {}}, {"a", 100, {}}));
  CHECK(text_of(conflicts) ==
        "m=2 on Sample GPU: 100 us stays, not 200 us of two.db\n"
        "m=2 on Sample GPU: 90.0 us of three.db replaces 100 us by another kernel\n"
        "3 problems were tuned more than once: 2 agree, 1 differs in the kernel, 0 differ in time "
        "by more than 2 %\n");
}

TEST_CASE("Twenty conflicts are listed, and the others are counted") {
  MergeConflicts conflicts;
  for (int m = 1; m <= 1000; ++m) {
    conflicts.add("two.db", conflict(std::to_string(m), {"a", 100, {}}, {"b", 100, {}}));
  }
  const std::string text = text_of(conflicts);
  CHECK(std::ranges::count(text, '\n') == 22);
  CHECK_THAT(text, ContainsSubstring("\nand 980 more\n1000 problems were tuned more than once: 0 "
                                     "agree, 1000 differ in the kernel, "));
}
