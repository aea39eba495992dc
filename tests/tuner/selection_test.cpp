#include "tuner/selection.h"

#include <algorithm>
#include <limits>

#include "kernel_templates/cuda/families.h"
#include "tests/support/catch.h"
#include "tests/tuner/support/fake_family.h"

namespace tunedgemm::internal {
namespace {

constexpr int kAll = std::numeric_limits<int>::max();

SearchLimits search_limits_of(int candidates, int variants_of_one_tile) {
  SearchLimits search_limits;
  search_limits.candidates = candidates;
  search_limits.variants_of_one_tile = variants_of_one_tile;
  search_limits.finalists = 4;
  return search_limits;
}

// Candidates with four tiles, sorted by tile. Without a limit per tile, a selection would take only
// candidates of the first tile.
std::vector<Instance> four_tiles() {
  std::vector<Instance> ranked;
  for (const int block_m : {32, 64, 128, 256}) {
    for (int variant = 0; variant < 4; ++variant) {
      const auto rank = static_cast<double>(ranked.size());
      ranked.push_back(
          fake_family().instance(fake_family().candidate(variant, block_m), 100 + rank));
    }
  }
  return ranked;
}

TrialRecord outcome(const Candidate& candidate) {
  TrialRecord trial;
  trial.family = candidate.family->name();
  trial.config = candidate.config;
  trial.family_fingerprint = candidate.family->fingerprint();
  return trial;
}

TrialRecord rejected(const Candidate& candidate, Reason reason) {
  TrialRecord trial = outcome(candidate);
  trial.rejection = Rejection{reason, ""};
  return trial;
}

TrialRecord timed(const Candidate& candidate, double us) {
  TrialRecord trial = outcome(candidate);
  trial.measurement = Measurement{us, us, us, {}};
  return trial;
}

std::vector<std::string> texts(const Selection& selection) {
  std::vector<std::string> all;
  for (const SelectedCandidate& selected : selection.candidates) {
    all.push_back(to_text(selected.ranked.candidate));
  }
  return all;
}

bool contains(const Selection& selection, const Candidate& candidate) {
  const auto all = texts(selection);
  return std::find(all.begin(), all.end(), to_text(candidate)) != all.end();
}

TEST_CASE("A selection is spread over tiles before a tile's further variants come") {
  const auto ranked = four_tiles();
  Knowledge knowledge;
  knowledge.ranked = ranked;
  const Selection spread = select(knowledge, search_limits_of(8, 2));
  for (const int block_m : {32, 64, 128, 256}) {
    CHECK(contains(spread, fake_family().candidate(0, block_m)));
    CHECK(contains(spread, fake_family().candidate(1, block_m)));
  }
  const Selection filled = select(knowledge, search_limits_of(10, 2));
  CHECK(filled.candidates.size() == 10);
  CHECK(contains(filled, fake_family().candidate(3, 32)));
}

TEST_CASE("A family that is predicted within twice the best time gets places") {
  std::vector<Instance> ranked;
  for (int variant = 0; variant < 40; ++variant) {
    ranked.push_back(
        fake_family().instance(fake_family().candidate(variant % 4, 32 << variant / 16), 100));
    ranked.back().candidate.config.set("number", variant);
  }
  const auto add_rival = [&](const Family& family, double predicted_us) {
    Instance rival = ranked.front();
    rival.candidate.family = &family;
    rival.predicted_us = predicted_us;
    for (int variant = 0; variant < 6; ++variant) {
      rival.candidate.config.set("number", variant);
      rival.tile_key = "tile " + std::to_string(variant);
      ranked.push_back(rival);
    }
  };
  add_rival(simt_family(), 190);
  add_rival(mma_family(), 210);
  Knowledge knowledge;
  knowledge.ranked = ranked;
  const auto places = [&](const Family& family, int candidates) {
    const Selection selection = select(knowledge, search_limits_of(candidates, kAll));
    CHECK(selection.candidates.size() == static_cast<std::size_t>(candidates));
    return std::count_if(selection.candidates.begin(), selection.candidates.end(),
                         [&](const SelectedCandidate& selected) {
                           return selected.ranked.candidate.family == &family;
                         });
  };
  CHECK(places(simt_family(), 20) == 4);
  CHECK(places(simt_family(), 8) == 2);
  CHECK(places(simt_family(), 3) == 1);
  CHECK(places(mma_family(), 20) == 0);
}

TEST_CASE("An exhaustive selection has every candidate once, except hopeless ones") {
  auto ranked = four_tiles();
  ranked.push_back(fake_family().instance(fake_family().candidate(0, 32, 2), 1990));
  ranked.push_back(fake_family().instance(fake_family().candidate(1, 32, 2), 2001));
  Knowledge knowledge;
  knowledge.ranked = ranked;
  knowledge.default_candidate = ranked[3];
  knowledge.seeds = std::span(ranked).subspan(4, 3);
  const Selection selection = select(knowledge, search_limits_of(kAll, kAll));
  CHECK(selection.candidates.size() == 17);
  auto all = texts(selection);
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("The default is tried again if it was only slow, and not if it crashed") {
  const auto ranked = four_tiles();
  Knowledge knowledge;
  knowledge.ranked = ranked;
  knowledge.default_candidate = ranked[0];
  const std::vector<TrialRecord> slow{rejected(ranked[0].candidate, Reason::kTooSlow)};
  knowledge.earlier = slow;
  CHECK(select(knowledge, search_limits_of(4, 2)).candidates[0].is_default);
  const std::vector<TrialRecord> crashed{rejected(ranked[0].candidate, Reason::kCrashed)};
  knowledge.earlier = crashed;
  CHECK_FALSE(contains(select(knowledge, search_limits_of(4, 2)), ranked[0].candidate));
}

TEST_CASE("What could not be built is tried again, and with force all but crashes") {
  const auto ranked = four_tiles();
  Knowledge knowledge;
  knowledge.ranked = ranked;
  const auto is_tried = [&](Reason reason, Retry retry) {
    const std::vector<TrialRecord> earlier{rejected(ranked[1].candidate, reason)};
    knowledge.earlier = earlier;
    knowledge.retry = retry;
    const bool given = contains(select_given(knowledge), ranked[1].candidate);
    CHECK(contains(select(knowledge, search_limits_of(kAll, kAll)), ranked[1].candidate) == given);
    CHECK(still_holds(reason, retry) == !given);
    return given;
  };
  for (const Reason reason : {Reason::kCompileFailed, Reason::kLoadFailed, Reason::kUnavailable}) {
    CHECK(is_tried(reason, Retry::kUnbuilt));
    CHECK(is_tried(reason, Retry::kAllButCrashes));
  }
  for (const Reason reason :
       {Reason::kSpills, Reason::kLaunchFailed, Reason::kWrongResult, Reason::kOutOfBounds,
        Reason::kTooSlow, Reason::kTimedOut, Reason::kImplausible}) {
    CHECK_FALSE(is_tried(reason, Retry::kUnbuilt));
    CHECK(is_tried(reason, Retry::kAllButCrashes));
  }
  CHECK_FALSE(is_tried(Reason::kCrashed, Retry::kUnbuilt));
  CHECK_FALSE(is_tried(Reason::kCrashed, Retry::kAllButCrashes));
}

TEST_CASE("Earlier times decide the order: the best first, then the untried, the slow last") {
  const auto ranked = four_tiles();
  const std::vector<TrialRecord> earlier{timed(ranked[0].candidate, 300),
                                         timed(ranked[4].candidate, 110),
                                         timed(ranked[8].candidate, 100)};
  Knowledge knowledge;
  knowledge.ranked = ranked;
  knowledge.earlier = earlier;
  const Selection selection = select(knowledge, search_limits_of(kAll, kAll));
  REQUIRE(selection.candidates.size() == 16);
  CHECK(selection.candidates[0].ranked.candidate == ranked[8].candidate);
  CHECK(selection.candidates[1].ranked.candidate == ranked[4].candidate);
  CHECK(selection.candidates.back().ranked.candidate == ranked[0].candidate);
}

TEST_CASE("Refinement takes variants of the best tiles, at most half of them of one tile") {
  const auto ranked = four_tiles();
  SearchLimits some = search_limits_of(kAll, 2);
  some.refinements = 5;
  // One candidate of tile 64 and one of tile 128 are selected already. One was rejected earlier.
  const std::vector<Instance> best{ranked[4], ranked[9]};
  const std::vector<TrialRecord> earlier{rejected(ranked[10].candidate, Reason::kCrashed)};
  std::vector<SelectedCandidate> selected{{.ranked = ranked[4]}, {.ranked = ranked[9]}};
  Knowledge knowledge;
  knowledge.ranked = ranked;
  knowledge.earlier = earlier;
  const auto refined = [&] { return texts(refine(knowledge, best, selected, some)); };
  const auto text = [&](std::size_t place) { return to_text(ranked[place].candidate); };
  CHECK(refined() == std::vector{text(5), text(6), text(7), text(8), text(11)});
  selected.push_back({.ranked = ranked[8]});
  CHECK(refined() == std::vector{text(5), text(6), text(7), text(11), text(0)});
  some.refinements = 2;
  CHECK(refined() == std::vector{text(5), text(11)});
  some.refinements = 0;
  CHECK(refined().empty());
}

}  // namespace
}  // namespace tunedgemm::internal
