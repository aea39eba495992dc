#pragma once

// Evaluator: the only interface between decisions (this folder) and a device (runtime/). The tuner
// decides what to try and interprets the samples; an evaluator compiles, checks and times.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// One compiled and loaded candidate. Used by one thread. Destroying it unloads the kernel.
class Trial {
 public:
  virtual ~Trial() = default;

  virtual const Binary& binary() const = 0;

  /// Runs the kernel once on fresh random inputs with a poisoned, guarded output, and compares the
  /// output with the reference. The value is the largest error relative to the error bound, always
  /// <= 1.
  virtual std::variant<double, Rejection> check() = 0;

  /// The mean time of one launch, in microseconds, over `launches` launches after one uncounted
  /// launch, in the problem's launch regime.
  virtual std::variant<double, Rejection> sample(int launches) = 0;
};

using Prepared = std::variant<std::unique_ptr<Trial>, Rejection>;

/// Bound to one problem on one device. Used by one thread.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// When now_seconds() reaches `seconds`, running compilations are abandoned if the compiler can
  /// be stopped. Their candidates are rejected as unavailable.
  virtual void set_compile_deadline(double /*seconds*/) {}

  /// A hint that these candidates will be prepared, in this order. A device may compile them in the
  /// background; if that would disturb timing, the call returns only when all are compiled.
  virtual void compile_ahead(std::span<const Instance> candidates) = 0;

  /// A hint that the next evaluator will prepare these candidates, of another problem. A device may
  /// compile them when no candidate of this problem waits for a compilation.
  virtual void compile_next(std::span<const Instance> /*candidates*/) {}

  /// Whether prepare() of an announced candidate would return without waiting for a compilation.
  virtual bool is_compiled(const Instance& /*candidate*/) { return true; }
  /// The announced candidate will not be prepared, so its compilation need not start. If it failed
  /// as unavailable, a later prepare() compiles again.
  virtual void forget(const Instance& /*candidate*/) {}

  /// The number of candidates to pass to compile_ahead in one call; 0: all at once. If
  /// compile_ahead blocks, this is about a second of work, so that cancellation and the end of the
  /// budget are noticed in time.
  virtual int compile_batch() const { return 0; }

  /// Compiles the candidate, or takes its binary from compile_ahead or the store, and loads it.
  /// Does not reject a candidate that spills: see Binary::spill_bytes.
  virtual Prepared prepare(const Instance& instance) = 0;

  /// Brings the device to its working clock. Called before the first sample and before the finals.
  virtual void warm_up() = 0;

  /// Leaves the device idle for this long before a sample. A device under long load lowers its
  /// clock, and one candidate's power must not slow the next.
  virtual void cool_down(double seconds) = 0;
  /// The cool-down to use in the finals; may be 0.
  virtual double cool_down_seconds() const { return 0; }

  /// The current clock in MHz, 0 if unknown, and whether the device reports throttling.
  struct Clock {
    int mhz = 0;
    bool throttled = false;
  };
  virtual Clock clock() = 0;
  /// Another process that has used the device during this tuning: "process 1650 (python3)"; "" if
  /// none has, or nothing is known.
  virtual std::string neighbour() = 0;

  /// Seconds since some fixed moment. All time comes from the evaluator, so that a simulated device
  /// has simulated time.
  virtual double now_seconds() = 0;

  /// The roofline: the least possible time on this device in microseconds, the longer of bytes over
  /// bandwidth and operations over peak. A sample below it is implausible.
  virtual double roofline_us() const = 0;
};

/// The number of launches in a sample of about `sample_us`: at least 1, and capped, so that a tiny
/// kernel's sample does not take long to set up.
int launches_for(double sample_us, double launch_us);

/// A kImplausible rejection if the device cannot reach the time or it is not a number; else empty.
std::optional<Rejection> why_implausible(double us, double roofline_us);
/// A sample of the trial in microseconds per launch, rejected if it is implausible.
std::variant<double, Rejection> plausible_sample(Trial& trial, int launches, double roofline_us);

}  // namespace tunedgemm::internal
