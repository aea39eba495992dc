#pragma once

// LoadedObject: a shared object loaded into this process from memory.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "cache/record.h"

namespace tunedgemm::internal {

/// The destructor unloads the object; none of its code may be running then. Any thread may look up
/// symbols.
class LoadedObject {
 public:
  /// A non-null object. Rejected as kLoadFailed if the bytes are no shared object for this machine,
  /// and as kUnavailable if the system fails (memory, descriptors). The bytes are not kept: they go
  /// through a file in memory, or, if that fails, a file in a private folder that is removed
  /// immediately.
  static std::variant<std::unique_ptr<LoadedObject>, Rejection> load(
      std::span<const std::byte> bytes);

  /// Takes ownership of a handle of dlopen.
  explicit LoadedObject(void* handle) : handle_(handle) {}
  ~LoadedObject();
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  /// Null if there is no such symbol.
  void* symbol(const std::string& name) const;

 private:
  void* handle_;
};

}  // namespace tunedgemm::internal
