#pragma once

// NextFunction: the function that a caller would have called if a preloaded library did not have
// one of the same name. It depends on the caller: a process may have loaded two versions of cuBLAS,
// and a library that was opened with RTLD_LOCAL is invisible to others.
//
// Thread-safe. What it finds is never freed.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tunedgemm::internal {

/// Searches the libraries that the caller's object depends on, then those behind this one in the
/// order of loading. `caller` is an address in the caller's code. Null if no other library has the
/// function. Takes microseconds.
void* find_next_function(const char* name, const void* caller);

/// A handle of the loaded library that has the function, for dlsym; null if there is none.
void* library_with(const void* function);

/// Constructs a Library from an address in it.
template <class Library, class Function>
class NextFunction {
 public:
  struct Found {
    Function* function;  ///< null if there is none
    Library library;
  };

  explicit constexpr NextFunction(const char* name) : name_(name) {}

  /// After the first call from a place in the code, takes nanoseconds.
  const Found& of(const void* caller) {
    const auto hash = reinterpret_cast<std::uintptr_t>(caller) * 0x9e3779b97f4a7c15U >> 32;
    for (std::size_t probe = 0; probe < kCallers; ++probe) {
      Known& known = known_[(hash + probe) % kCallers];
      const void* claimed = nullptr;
      if (known.caller.load(std::memory_order_relaxed) != caller &&
          !known.caller.compare_exchange_strong(claimed, caller) && claimed != caller) {
        continue;
      }
      const Found* found = known.found.load(std::memory_order_acquire);
      if (found == nullptr) {
        found = find(caller);
        known.found.store(found, std::memory_order_release);
      }
      return *found;
    }
    return *find(caller);
  }

 private:
  static constexpr std::size_t kCallers = 256;
  struct Known {
    std::atomic<const void*> caller;
    std::atomic<const Found*> found;
  };

  const Found* find(const void* caller) const {
    void* const function = find_next_function(name_, caller);
    return new Found{reinterpret_cast<Function*>(function), Library(function)};
  }

  const char* name_;
  std::array<Known, kCallers> known_{};
};

}  // namespace tunedgemm::internal

// NOLINTBEGIN(bugprone-macro-parentheses): declarations
/// Defines a function that a program calls instead of the next one of its name. The file has a
/// Library, for NextFunction, and answer(), which gets what NextFunction found, a Call of the last
/// arguments, and how to pass the call on.
#define TUNEDGEMM_ANSWER(Result, name, parameters, arguments, Call, ...)             \
  Result name parameters {                                                           \
    static NextFunction<Library, Result parameters> next(#name);                     \
    return answer(next.of(__builtin_return_address(0)), Call{__VA_ARGS__},           \
                  [&](Result(*function) parameters) { return function arguments; }); \
  }
// NOLINTEND(bugprone-macro-parentheses)
