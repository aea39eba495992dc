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
  /// Returns a non-null object. Rejects the bytes as kLoadFailed if they are no complete ELF file
  /// for this machine, and as kUnavailable if loading fails (memory, descriptors). The bytes are
  /// loaded from a file in memory. If that fails, they are loaded from a file in a private folder,
  /// which is removed at once. The bytes are not kept.
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
