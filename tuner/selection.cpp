#include "tuner/selection.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tuner/crashes.h"
#include "tuner/neighbours.h"

namespace tunedgemm::internal {
namespace {

// Even an exhaustive search skips candidates predicted to take more than this many times as long as
// the best, because the model errs by less.
constexpr double kHopelessPrediction = 20;
// Candidates of an earlier session come early if they were within this factor of its best time.
constexpr double kPromising = 1.5;

// The models of different families err independently. So each family whose best candidate is
// predicted within this factor of the best of all is a rival, and the best candidates of all rivals
// get half of the places.
constexpr double kRivalPrediction = 2;
constexpr int kMostPlacesOfRival = 4;

std::string key_of(const Candidate& candidate) {
  return to_text(candidate) + " " + candidate.family->fingerprint();
}

std::string key_of(const TrialRecord& trial) {
  const std::string knobs = to_text(trial.config);
  return trial.family + (knobs.empty() ? "" : " ") + knobs + " " + trial.family_fingerprint;
}

double hopeless_from(const Knowledge& knowledge) {
  return knowledge.ranked.empty() ? 0 : kHopelessPrediction * knowledge.ranked.front().predicted_us;
}

// Builds a selection, one candidate at a time.
class SelectionBuilder {
 public:
  explicit SelectionBuilder(const Knowledge& knowledge) {
    for (const TrialRecord& trial : knowledge.earlier) {
      if (!trial.rejection || still_holds(trial.rejection->reason, knowledge.retry)) {
        earlier_.emplace(key_of(trial), &trial);
      }
    }
  }

  const TrialRecord* earlier(const Candidate& candidate) const {
    const auto trial = earlier_.find(key_of(candidate));
    return trial == earlier_.end() ? nullptr : trial->second;
  }

  // Returns the selected candidate, or null if it was rejected earlier.
  SelectedCandidate* add(const SelectedCandidate& selected) {
    const Instance& ranked = selected.ranked;
    const std::string key = key_of(ranked.candidate);
    const auto [position, is_new] = positions_.try_emplace(key, selection_.candidates.size());
    if (is_new) {
      const TrialRecord* before = earlier(ranked.candidate);
      if (before != nullptr && before->rejection) {
        position->second = std::nullopt;
        selection_.rejected.push_back(*before);
        if (before->rejection->reason == Reason::kSpills) {
          selection_.spilling.push_back(selected);
        }
      } else {
        ++tiles_[ranked.tile_key];
        selection_.candidates.push_back(selected);
      }
    }
    return position->second ? &selection_.candidates[*position->second] : nullptr;
  }

  // Adds the `wanted` candidates of `some`, in order, until the selection has `most`.
  template <class Wanted>
  void add_all(std::span<const Instance> some, int most, const Wanted& wanted) {
    for (const Instance& ranked : some) {
      if (size() < most && wanted(ranked)) {
        add({.ranked = ranked, .is_default = false, .is_baseline = false});
      }
    }
  }

  void add_default(const std::optional<Instance>& default_candidate) {
    if (!default_candidate) {
      return;
    }
    const TrialRecord* before = earlier(default_candidate->candidate);
    if (before != nullptr && before->rejection && before->rejection->reason == Reason::kTooSlow) {
      earlier_.erase(key_of(default_candidate->candidate));
    }
    add({.ranked = *default_candidate, .is_default = true, .is_baseline = false});
  }

  void add_baseline(const std::optional<Instance>& baseline) {
    SelectedCandidate* selected =
        baseline ? add({.ranked = *baseline, .is_default = false, .is_baseline = false}) : nullptr;
    if (selected != nullptr) {
      selected->is_baseline = true;
    }
  }

  int size() const { return static_cast<int>(selection_.candidates.size()); }
  int variants(const Instance& instance) { return tiles_[instance.tile_key]; }
  Selection take() { return std::move(selection_); }

 private:
  Selection selection_;
  std::unordered_map<std::string, const TrialRecord*> earlier_;
  std::unordered_map<std::string, std::optional<std::size_t>> positions_;
  std::unordered_map<std::string, int> tiles_;
};

double earlier_us(const TrialRecord* trial) {
  return trial != nullptr && trial->measurement && !trial->rejection
             ? trial->measurement->median_us
             : std::numeric_limits<double>::infinity();
}

// The fastest candidates of an earlier, perhaps interrupted session, the fastest first.
std::vector<Instance> promising(const Knowledge& knowledge, const SelectionBuilder& builder,
                                int count) {
  std::vector<std::pair<double, const Instance*>> timed;
  for (const Instance& ranked : knowledge.ranked) {
    const double us = earlier_us(builder.earlier(ranked.candidate));
    if (us < std::numeric_limits<double>::infinity()) {
      timed.emplace_back(us, &ranked);
    }
  }
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::vector<Instance> best;
  for (const auto& [us, ranked] : timed) {
    if (static_cast<int>(best.size()) < count && us <= kPromising * timed.front().first) {
      best.push_back(*ranked);
    }
  }
  return best;
}

// The places of each rival among `most`.
std::unordered_map<const Family*, int> places_of_rivals(std::span<const Instance> ranked,
                                                        int most) {
  std::unordered_map<const Family*, int> places;
  for (const Instance& instance : ranked) {
    if (instance.predicted_us <= kRivalPrediction * ranked.front().predicted_us) {
      places[instance.candidate.family] = 0;
    }
  }
  for (auto& [family, number] : places) {
    number = std::clamp(most / (2 * static_cast<int>(places.size())), 1, kMostPlacesOfRival);
  }
  return places;
}

}  // namespace

bool still_holds(Reason earlier, Retry retry) {
  switch (earlier) {
    case Reason::kCompileFailed:
    case Reason::kLoadFailed:
    case Reason::kUnavailable:
      return false;
    case Reason::kCrashed:
      return true;
    case Reason::kSpills:
    case Reason::kLaunchFailed:
    case Reason::kWrongResult:
    case Reason::kOutOfBounds:
    case Reason::kTooSlow:
    case Reason::kTimedOut:
    case Reason::kImplausible:
      break;
  }
  return retry != Retry::kAllButCrashes;
}

Selection select(const Knowledge& knowledge, const SearchLimits& search_limits) {
  SelectionBuilder builder(knowledge);
  const int most = search_limits.candidates - search_limits.refinements;
  const auto any = [](const Instance&) { return true; };
  const double hopeless_us = hopeless_from(knowledge);
  const auto hopeful = [&](const Instance& ranked) { return ranked.predicted_us <= hopeless_us; };
  const auto untried = [&](const Instance& ranked) {
    return hopeful(ranked) && builder.earlier(ranked.candidate) == nullptr;
  };
  const auto different = [&](const Instance& ranked) {
    return untried(ranked) && builder.variants(ranked) < search_limits.variants_of_one_tile;
  };

  auto places = places_of_rivals(knowledge.ranked, most);
  builder.add_default(knowledge.default_candidate);
  builder.add_all(promising(knowledge, builder, search_limits.finalists), most, any);
  builder.add_all(knowledge.seeds, most, any);
  builder.add_all(knowledge.ranked, most, [&](const Instance& ranked) {
    int& left = places[ranked.candidate.family];
    return left > 0 && different(ranked) && left-- > 0;
  });
  builder.add_all(knowledge.ranked, most, different);
  builder.add_all(knowledge.ranked, most, untried);
  builder.add_all(knowledge.ranked, most, hopeful);
  builder.add_baseline(knowledge.baseline);
  return builder.take();
}

Selection refine(const Knowledge& knowledge, std::span<const Instance> best,
                 std::span<const SelectedCandidate> selected, const SearchLimits& search_limits) {
  std::unordered_set<std::string> selected_keys;
  for (const SelectedCandidate& one : selected) {
    selected_keys.insert(key_of(one.ranked.candidate));
  }
  SelectionBuilder builder(knowledge);
  const auto untried = [&](const Instance& ranked) {
    return builder.earlier(ranked.candidate) == nullptr &&
           !selected_keys.contains(key_of(ranked.candidate));
  };
  const int most_of_one_tile = (search_limits.refinements + 1) / 2;
  for (const Instance& leader : best) {
    builder.add_all(knowledge.ranked, search_limits.refinements, [&](const Instance& ranked) {
      return ranked.tile_key == leader.tile_key && builder.variants(ranked) < most_of_one_tile &&
             untried(ranked);
    });
  }
  const double hopeless_us = hopeless_from(knowledge);
  builder.add_all(knowledge.ranked, search_limits.refinements, [&](const Instance& ranked) {
    return ranked.predicted_us <= hopeless_us && untried(ranked);
  });
  return builder.take();
}

Selection select_given(const Knowledge& knowledge) {
  SelectionBuilder builder(knowledge);
  builder.add_default(knowledge.default_candidate);
  for (const Instance& ranked : knowledge.ranked) {
    builder.add({.ranked = ranked, .is_default = false, .is_baseline = false});
  }
  return builder.take();
}

namespace {

// The naive kernel is timed only if it is predicted to take less than this, because the comparison
// must not cost more than the tuning.
constexpr double kAffordableUs = 0.25e6;
// The store knows only the distance in size. So 4x as many neighbours as needed are fetched, and
// the nearest by distance() are kept.
constexpr int kNearBySize = 4;

std::vector<Instance> instances_of(std::span<const Candidate> candidates, const Task& task) {
  std::vector<Instance> all;
  for (const Candidate& candidate : candidates) {
    if (Instantiation instance = instantiate(task.key.problem, candidate, task.limits)) {
      all.push_back(std::move(instance).value());
    }
  }
  return all;
}

std::optional<Instance> baseline_of(std::span<const Instance> ranked, const Family& baseline) {
  const auto instance = std::find_if(ranked.begin(), ranked.end(), [&](const Instance& each) {
    return each.candidate.family == &baseline && each.predicted_us < kAffordableUs;
  });
  return instance == ranked.end() ? std::nullopt : std::optional(*instance);
}

// Whether the candidate was timed in an earlier tuning.
bool has_run(const Candidate& candidate, std::span<const TrialRecord> earlier) {
  return std::ranges::any_of(earlier, [&](const TrialRecord& trial) {
    return trial.measurement && !trial.rejection && key_of(trial) == key_of(candidate);
  });
}

Selection selection_of(const Ranking& ranking, const Task& task,
                       const SearchLimits& search_limits) {
  const auto& [key, limits, evaluator, store, options] = task;
  const auto& [problem, device, toolchain] = key;
  const bool all = options.candidates.empty();
  Knowledge knowledge = knowledge_of(ranking);
  knowledge.default_candidate =
      options.default_candidate ? instantiate(problem, *options.default_candidate, limits).value()
      : all                     ? ranking.ranked.front()
                                : default_candidate(problem, limits);
  if (!all) {
    return select_given(knowledge);
  }
  const std::vector<Record> near =
      store.neighbours(problem, device, kNearBySize * search_limits.neighbours);
  std::vector<Instance> seeds =
      neighbour_seeds(problem, device, limits, near, search_limits.neighbours);
  const bool has_winner_here = std::ranges::any_of(
      near, [&](const Record& winner) { return winner.problem == task.key.problem; });
  if (!has_winner_here) {
    const std::vector<Instance> better = seeds_from_elsewhere(
        problem, limits, tuned_elsewhere(store, problem, device), search_limits.finalists);
    seeds.insert(seeds.begin(), better.begin(), better.end());
  }
  knowledge.seeds = seeds;
  knowledge.baseline = baseline_of(ranking.ranked, baseline_family(limits.backend));
  return select(knowledge, search_limits);
}

}  // namespace

Knowledge knowledge_of(const Ranking& ranking) {
  Knowledge knowledge;
  knowledge.ranked = ranking.ranked;
  knowledge.earlier = ranking.earlier;
  knowledge.retry = ranking.retry;
  return knowledge;
}

Ranking rank(const Task& task, const SearchLimits& search_limits) {
  const TuneOptions& options = task.options;
  Ranking ranking;
  ranking.earlier = task.store.trials(task.key);
  ranking.crashes = crashes_among(ranking.earlier);
  ranking.only_those_that_ran =
      options.in_worker() && ranking.crashes.size() >= kMostCrashesOfWorkers;
  ranking.retry = options.force ? Retry::kAllButCrashes : Retry::kUnbuilt;
  ranking.ranked = options.candidates.empty() ? ranked_candidates(task.key.problem, task.limits)
                                              : instances_of(options.candidates, task);
  ranking.selection = selection_of(ranking, task, search_limits);
  if (ranking.only_those_that_ran) {
    std::erase_if(ranking.selection.candidates, [&](const SelectedCandidate& selected) {
      return !has_run(selected.ranked.candidate, ranking.earlier);
    });
    ranking.selection.spilling.clear();
  }
  return ranking;
}

}  // namespace tunedgemm::internal
