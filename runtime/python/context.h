#pragma once

// Contexts of the C interface for Python, and the exceptions of failed calls.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/python/view.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

/// Throws the package's exception for a failed call, with the library's sentence. Needs the GIL.
void check(tunedgemm_status status);

/// "tune", "compile" ... Throws ValueError for other names.
tunedgemm_policy policy_of(std::string_view name);

struct NamedDevice {
  tunedgemm_backend backend;
  int ordinal;
};
/// "auto", "host", "cuda" or "cuda:1". Throws std::invalid_argument for other names.
NamedDevice device_of(std::string_view device);

struct ContextOptions {
  std::string device = "auto";  ///< for device_of()
  std::optional<std::string> cache;
  std::string policy = "default", rigor = "default";
  int threads = 0, candidates = 0;
  double seconds = 0;
  int sm_limit = 0;
};

/// tunedgemm.Context. Its functions need the GIL.
class Context {
 public:
  explicit Context(const ContextOptions& wanted);

  /// The caller's copy keeps the context while it is used, should another thread close it. Throws
  /// ValueError if it is closed.
  std::shared_ptr<tunedgemm_context> get() const;
  void close();
  std::string report() const;

 private:
  std::shared_ptr<tunedgemm_context> context_;
};

/// The context with default options of all calls on a device (or kHost) that name none: opened by
/// the first of them, which takes the GIL for it, closed when the interpreter ends. A forked child,
/// which cannot use those of its parent, has its own.
std::shared_ptr<tunedgemm_context> default_context(int device);

/// Writes what waits for the next write to the caches, such as names and requests. Needs the GIL.
void write_pending();

/// `for_good` refuses further calls of default_context(); else they open new ones.
void close_default_contexts(bool for_good);

}  // namespace tunedgemm::python
