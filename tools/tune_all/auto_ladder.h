#pragma once

// AutoLadder: chooses the values of M to tune for one layer, so that a kernel that is tuned for one
// of them serves every other M with a small loss.

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "runtime/context/context.h"
#include "tools/tune_all/work_list.h"
#include "tuner/m_ladder.h"

namespace tunedgemm::internal {

/// A value of M to tune next.
struct Rung {
  NamedProblem shape;
  std::vector<Candidate> candidates;  ///< the only ones to try besides the default
  double expected_loss = 0;           ///< of the best stored kernel at this M
};

/// The cost model's favourites at some 200 values of M give the pool, which is compiled ahead. A
/// ladder begins with a few M that are tuned as usual, from which the model's errors are learnt.
/// Then it gets the powers of two, and then, one by one, the M at which the stored winners are
/// expected to lose most compared with the pool. At these M only the most promising kernels are
/// tried, so each takes a fraction of a second. Used by one thread at a time; the context must
/// outlive it.
class AutoLadder {
 public:
  /// Ranks the candidates at all M, which takes seconds. Compiles the pool into the store, unless
  /// compiling disturbs timing on this device.
  AutoLadder(Context& context, const Layer& layer);

  /// The M to tune next, by what the store has now; none is proposed twice. Empty if the stored
  /// winners are expected to lose at most `accepted_loss` at every other M.
  std::optional<Rung> next(double accepted_loss);

 private:
  struct Point {
    NamedProblem shape;
    CanonicalProblem problem;
    bool must_be_tuned = false;          ///< whatever is expected
    std::vector<Instance> kernels = {};  ///< those of the pool that are legal
  };

  void compile_pool() const;
  /// The candidates to try at a point: the best stored one, then the most promising ones.
  static std::vector<Candidate> candidates_at(const Point& point, const MLadder& ladder,
                                              const Candidate& stored);

  Context& context_;
  std::vector<Point> points_;  ///< sorted by M
  std::vector<Instance> pool_;
  std::set<std::int64_t> proposed_;
};

}  // namespace tunedgemm::internal
