#pragma once

// Front: answers the matrix products that a program asks another library for. The preloaded
// libraries (cublas.cpp, cblas.cpp) translate its calls; this file decides, counts and reports.
//
// A call is answered only if the cache has a winner for its product that `tune-all --against`
// measured to be faster than this version of the other library. Everything else is passed on.
// Nothing is tuned or compiled, and no plan is made while a stream is captured.
//
// libtunedgemm is opened for the first product, not when the program starts: a preloaded library is
// loaded into every process, and must bring no dependencies that a program has in other versions.
//
// Thread-safe, without a lock for known products. A process has one Front, which is never
// destroyed. A forked child begins with a new one.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/context/add_only_map.h"
#include "runtime/context/call_key.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

/// $TUNEDGEMM_FRONT: "off", "record" or "serve", which is the default. ",time" after it asks for
/// the time of the products on the device.
enum class FrontMode { kOff, kRecord, kServe };

/// The library for which the front answers.
struct FrontVendor {
  std::string version;  ///< as tune-all stores it: "cuBLASLt 13.1.0"
  std::string tuning;   ///< the command that tunes and compares what was recorded
};

/// The devices on which calls run: GPUs, or the CPU, which needs only the first two functions.
class FrontDevices {
 public:
  virtual ~FrontDevices() = default;
  /// Identifies the device of the calling thread. Part of the hot path.
  virtual const void* current() const noexcept = 0;
  /// Sets the device's options; false if the library cannot use the device.
  virtual bool describe_current(tunedgemm_context_options& options) const = 0;
  /// The time that a call may take longer than it was measured, because it comes after a pause.
  virtual double pause_us() const noexcept { return 0; }
  /// Whether the stream is captured, so that nothing may be allocated.
  virtual bool is_captured(void* /*stream*/) const noexcept { return false; }
  /// Completes the times of the products.
  virtual void finish() {}
};

/// During its lifetime the thread is in a function of the other library. The calls that this makes
/// through the dynamic linker belong to the call of the program.
class InsideVendor {
 public:
  [[nodiscard]] InsideVendor() { inside = true; }
  ~InsideVendor() { inside = was_inside_; }
  InsideVendor(const InsideVendor&) = delete;
  InsideVendor& operator=(const InsideVendor&) = delete;

  static bool is_inside() { return inside; }

 private:
  static inline thread_local bool inside = false;
  const bool was_inside_ = inside;
};

struct FrontCall {
  tunedgemm_problem problem;
  tunedgemm_buffers buffers;
};

/// Why a product is passed on. kServed: it is not.
enum class FrontOutcome {
  kUndecided,  ///< seen only in captures
  kServed,
  kRecorded,
  kNotTuned,
  kNotCompared,  ///< with this version of the other library
  kNotFaster,
  kUnsupported
};

/// A product as a program asks for it, on one device.
struct FrontProduct {
  struct Key {
    CallKey call;
    const void* device;

    friend bool operator==(const Key&, const Key&) = default;
    friend std::uint64_t hash(const Key& of) noexcept {
      return hash(of.call) + (reinterpret_cast<std::uintptr_t>(of.device) >> 4);
    }
  };
  std::atomic<FrontOutcome> outcome{FrontOutcome::kUndecided};
  std::atomic<const tunedgemm_plan*> plan{nullptr};                 ///< if it is served
  std::atomic<std::int64_t> passed{0}, served{0};                   ///< calls
  std::atomic<std::int64_t> nanoseconds{0}, served_nanoseconds{0};  ///< on the device
  Key key;
  tunedgemm_buffers buffers;   ///< of the first call; not to be read or written
  std::int64_t requested = 0;  ///< calls that the cache knows

  /// Whether all calls are passed on.
  bool is_passed_on() const noexcept {
    const FrontOutcome now = outcome.load(std::memory_order_acquire);
    return now != FrontOutcome::kUndecided && now != FrontOutcome::kServed;
  }
};

class Front {
 public:
  /// The front of this process, which the first call creates. `devices` must live as long.
  static Front& of_process(FrontDevices& devices);

  FrontMode mode() const noexcept { return mode_; }
  bool measures_times() const noexcept { return measures_times_; }
  /// Null if the process has too many.
  FrontProduct* product_of(const FrontCall& call) noexcept;
  /// Launches a call of the product, or returns false: then the caller passes it on.
  bool answer(FrontProduct& product, const tunedgemm_buffers& buffers, void* stream,
              const FrontVendor& vendor) noexcept;
  /// Counts a call of the product.
  void count(FrontProduct& product, bool is_served) noexcept;
  /// Counts a call that has no translation.
  void count_untranslated() noexcept { untranslated_.fetch_add(1, std::memory_order_relaxed); }
  std::int64_t served() const;

 private:
  struct Library;
  explicit Front(FrontDevices& devices);
  void decide(FrontProduct& product, const FrontVendor& vendor) noexcept;
  FrontOutcome outcome_of(FrontProduct& product, const FrontVendor& vendor);
  tunedgemm_context* context_of(const void* device);
  void write_requests();
  /// Writes the requests to the cache and one line to standard error.
  void finish();
  std::string summary() const;

  FrontDevices& devices_;
  FrontMode mode_ = FrontMode::kServe;
  bool measures_times_ = false;
  AddOnlyMap<FrontProduct, 1 << 12> products_;
  std::atomic<std::int64_t> untranslated_{0};

  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const Library> library_;
  std::string why_no_library_;
  FrontVendor vendor_;
  std::map<const void*, tunedgemm_context*> contexts_;
  std::chrono::steady_clock::time_point last_write_{};
  bool is_finished_ = false;
};

}  // namespace tunedgemm::internal
