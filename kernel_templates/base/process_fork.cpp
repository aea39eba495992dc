#include "kernel_templates/base/process_fork.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace tunedgemm::internal {
namespace {

// Global, since pthread_atfork handlers have no argument.
pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
constinit std::atomic<pid_t> current_process{0};  // 0: not read yet

void before_fork() {
  pthread_rwlock_wrlock(&gate);
}

void after_fork_in_parent() {
  pthread_rwlock_unlock(&gate);
}

void after_fork_in_child() {
  pthread_rwlock_unlock(&gate);
  // Reinitialises the lock, which still counts threads that do not exist in the child.
  pthread_rwlock_init(&gate, nullptr);
  current_process.store(getpid(), std::memory_order_relaxed);
}

[[maybe_unused]] const int kRegistered =
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

}  // namespace

ForkGuard::ForkGuard() noexcept {
  pthread_rwlock_rdlock(&gate);
}

ForkGuard::~ForkGuard() {
  pthread_rwlock_unlock(&gate);
}

pid_t process_id() noexcept {
  const pid_t cached = current_process.load(std::memory_order_relaxed);
  if (cached != 0) [[likely]] {
    return cached;
  }
  current_process.store(getpid(), std::memory_order_relaxed);
  return getpid();
}

}  // namespace tunedgemm::internal
