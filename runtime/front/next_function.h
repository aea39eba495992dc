#pragma once

// NextFunction: the function that a caller would have called if a preloaded library did not have
// one of the same name. It depends on the caller: a process may have loaded two versions of cuBLAS,
// and a library that was opened with RTLD_LOCAL is invisible to others.
//
// Thread-safe. Objects are static, so their destructors must do nothing.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tunedgemm::internal {

/// Searches the libraries that the caller's object depends on, then those behind this one in the
/// order of loading. `caller` is an address in the caller's code. Null if no other library has the
/// function. Takes microseconds.
void* find_next_function(const char* name, const void* caller);

template <class Function>
class NextFunction {
 public:
  explicit constexpr NextFunction(const char* name) : name_(name) {}

  /// Null if there is none. After the first call from a place in the code, takes nanoseconds.
  Function* of(const void* caller) {
    const auto hash = reinterpret_cast<std::uintptr_t>(caller) * 0x9e3779b97f4a7c15U >> 32;
    for (std::size_t probe = 0; probe < kCallers; ++probe) {
      Known& known = known_[(hash + probe) % kCallers];
      const void* found = known.caller.load(std::memory_order_relaxed);
      if (found == nullptr && !known.caller.compare_exchange_strong(found, caller)) {
        continue;
      }
      if (found == caller) {
        if (Function* const function = known.function.load(std::memory_order_acquire)) {
          return function;
        }
      } else if (found != nullptr) {
        continue;
      }
      auto* const function = reinterpret_cast<Function*>(find_next_function(name_, caller));
      known.function.store(function, std::memory_order_release);
      return function;
    }
    return reinterpret_cast<Function*>(find_next_function(name_, caller));
  }

 private:
  static constexpr std::size_t kCallers = 128;
  struct Known {
    std::atomic<const void*> caller;
    std::atomic<Function*> function;
  };
  const char* name_;
  std::array<Known, kCallers> known_{};
};

}  // namespace tunedgemm::internal
