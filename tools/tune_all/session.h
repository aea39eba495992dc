#pragma once

// A session tunes one shape after another until all are done, the time is over, or the user
// interrupts it. Then it prints the results.

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/context/context.h"
#include "tools/shared/named_problem.h"
#include "tools/tune_all/work_list.h"

namespace tunedgemm::internal {

struct SessionOptions {
  TuneOptions shape;          ///< rigor and budget of each shape
  double total_seconds = 0;   ///< limit for all shapes; 0: no limit
  double ladder_loss = 0.03;  ///< automatic ladders end when no more is expected to be lost
  /// Called after each shape, by the thread of its device.
  std::function<void()> on_shape_end = {};
};

/// The result of one shape, without its trials, which are in the cache.
struct Outcome {
  NamedProblem shape;
  TuneResult::Kind kind = TuneResult::Kind::kFailed;
  std::optional<Record> record;
  std::string failure;       ///< the reason, if there is no record
  bool is_unsaved = false;   ///< the record could not be stored
  bool was_tried = true;     ///< false: the session ended before
  std::string kept_default;  ///< why the default won though another was measured faster, or ""
  std::string not_compared;  ///< why the race with the vendor's library had no result, or ""
};

struct Session {
  std::vector<Outcome> outcomes;     ///< one per shape, in order, then those of the ladders' rungs
  std::vector<std::string> ladders;  ///< for each automatic ladder, what it was expected to achieve
  double seconds = 0;
  bool interrupted = false;
  std::string device_failure;  ///< the error of a device that failed, else empty
  std::string vendor = {};     ///< the library of --against and its version, or ""
};

/// Tunes the shapes, then adds rungs to the automatic ladders (auto_ladder.h). `is_tuned` says
/// for each shape whether the cache already has its winner; a missing element means no.
///
/// Each context has a device of its own, all of the same kind, and the same cache file. The devices
/// take shapes as they become free, in the order of tuning_order. If one fails, the others go on.
Session tune_shapes(std::span<Context* const> contexts, const WorkList& work,
                    const SessionOptions& options, const std::vector<bool>& is_tuned);

/// "NVIDIA H200", "2 NVIDIA H200".
std::string devices_text(std::span<Context* const> contexts);

/// One row per shape: the winner, its time and rate, and its speedups over the naive kernel, over
/// the default config, which runs without tuning, and over the vendor's library if compared.
void print_wide_table(std::ostream& out, const Session& session);
/// The columns that fit in `width`, the most important first, without remarks. No rows for shapes
/// that were not tried.
void print_table(std::ostream& out, const Session& session, std::size_t width);
/// The numbers of tuned, cached, failed and left shapes, of kept defaults and of comparisons.
void print_summary(std::ostream& out, const Session& session, std::span<Context* const> contexts);
/// The outcomes as a JSON array.
void print_json(std::ostream& out, const Session& session);

}  // namespace tunedgemm::internal
