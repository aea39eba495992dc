#pragma once

// Objects that threads share for as long as the process lives.

#include <pthread.h>

#include <atomic>

namespace tunedgemm::python {

/// The object of type T of this process, which outlives all threads. A forked child begins with a
/// new one: a thread that the child lacks may have held a lock of the parent's, and contexts of the
/// parent are of no use there.
template <class T>
class PerProcess {
 public:
  static T& get() {
    static_cast<void>(kRegistered);
    return *object_.load(std::memory_order_acquire);
  }

 private:
  static inline std::atomic<T*> object_{new T};
  static inline const int kRegistered =
      pthread_atfork(nullptr, nullptr, [] { object_.store(new T, std::memory_order_release); });
};

}  // namespace tunedgemm::python
