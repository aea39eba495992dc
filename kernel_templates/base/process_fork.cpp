#include "kernel_templates/base/process_fork.h"

#include <pthread.h>

#include <atomic>

namespace tunedgemm::internal {
namespace {

// The handlers of pthread_atfork get no argument.
pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
std::atomic<std::uint32_t> fork_count{0};

void before_fork() {
  pthread_rwlock_wrlock(&gate);
}

void after_fork_in_parent() {
  pthread_rwlock_unlock(&gate);
}

void after_fork_in_child() {
  // Threads of the parent that wait at the gate are counted in it, and are not here. What is locked
  // must not be made anew.
  pthread_rwlock_unlock(&gate);
  pthread_rwlock_init(&gate, nullptr);
  fork_count.fetch_add(1, std::memory_order_relaxed);
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

std::uint32_t forks() noexcept {
  return fork_count.load(std::memory_order_relaxed);
}

}  // namespace tunedgemm::internal
