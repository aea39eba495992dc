#pragma once

// LoadedObject: a shared object that exists as bytes, loaded into this process.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <variant>

namespace tunedgemm::internal {

/// Unloads when destroyed; nothing of it may run then. Symbols may be looked up by any thread.
class LoadedObject {
 public:
  /// Null-free, or a sentence. The bytes are not kept: they go through a file that has no name, or
  /// where that does not work, one in a private folder that is removed at once.
  static std::variant<std::unique_ptr<LoadedObject>, std::string> load(
      std::span<const std::byte> bytes);

  /// Takes over what dlopen gave.
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
