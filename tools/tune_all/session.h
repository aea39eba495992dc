#pragma once

// A session: one shape after the other is tuned, until all are done, the time is spent, or the user
// has had enough; and what is printed of it.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runtime/context/context.h"
#include "tools/shared/shape.h"

namespace tunedgemm::internal {

struct SessionOptions {
  TuneOptions shape;         ///< for each shape: its rigor and budget
  double total_seconds = 0;  ///< for all of them; 0: no limit
};

/// What came of one shape: all but the trials, which the cache has.
struct Outcome {
  Shape shape;
  TuneResult::Origin origin = TuneResult::Origin::kFailed;
  std::optional<Record> record;
  std::string failure;      ///< a sentence, where there is no record
  bool is_unsaved = false;  ///< there is one, which could not be stored
};

struct Session {
  std::vector<Outcome> outcomes;  ///< one a shape, in order
  double seconds = 0;
  bool interrupted = false;
  std::string device_failure;  ///< what ended the session early, if the device did
};

/// `to_tune` of the shapes are not yet in the cache: only these take time.
Session tune_shapes(Context& context, const std::vector<Shape>& shapes,
                    const SessionOptions& options, std::size_t to_tune);

/// A row a shape: the winner, its time and rate, and how it compares with the naive kernel and with
/// what would have run without tuning.
void print_table(std::ostream& out, const Session& session);
/// How many were tuned, were known and have no winner; where the cache is.
void print_summary(std::ostream& out, const Session& session, Context& context);
/// The outcomes as a JSON array.
void print_json(std::ostream& out, const Session& session);

}  // namespace tunedgemm::internal
