#pragma once

// KernelCache: the kernels that are loaded on one device, by the fingerprint of their source and the
// compiler whose machine code was asked for.
//
// Any number of threads may use it; all but find() may compile, which takes seconds, and holds no
// lock meanwhile, so that two threads may make the same kernel, of which one is kept. Device and
// store must outlive it. A kernel belongs to all who hold it, and is never unloaded while the cache
// lives.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "cache/store.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

class KernelCache {
 public:
  using Kernel = std::shared_ptr<const CompiledKernel>;

  /// `compile_seconds` is how long one compilation may take where the compiler can be stopped.
  KernelCache(Device& device, Store& store, double compile_seconds)
      : device_(device), store_(store), compile_seconds_(compile_seconds) {}
  ~KernelCache() = default;
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  /// Null unless the kernel is loaded, whoever compiled it.
  Kernel find(const std::string& source_fingerprint) const;

  /// The kernel: loaded already, from the store, compiled now, or, where it cannot be compiled or
  /// loaded, the one that is linked in, which is not remembered. A stored one of `compiler`, with
  /// which it was tuned, comes before those of others. Throws DeviceError.
  std::variant<Kernel, Rejection> get(const Instance& instance, const std::string& compiler);

  /// The same kernel if it is loaded already or stored; null if it would have to be compiled.
  /// Throws DeviceError.
  Kernel find_stored(const Instance& instance, const std::string& compiler);

  struct Counters {
    std::atomic<std::int64_t> loaded{0}, compiled{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  using Made = std::variant<std::unique_ptr<CompiledKernel>, Rejection>;

  using Key = std::pair<std::string, std::string>;  ///< the source's fingerprint, the compiler

  Kernel find(const Key& key) const;
  Kernel keep(const Key& key, Kernel kernel);
  Made make(const Source& source, const Launch& launch);
  /// Null if no stored binary loads.
  Kernel load_stored(const Source& source, const Launch& launch, const std::string& compiler);
  Made load(const Binary& binary, const Launch& launch);

  Device& device_;
  Store& store_;
  double compile_seconds_;
  Counters counters_;
  mutable std::mutex mutex_;
  std::map<Key, Kernel> kernels_;
};

}  // namespace tunedgemm::internal
