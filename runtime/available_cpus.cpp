#include "runtime/available_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace tunedgemm::internal {
namespace {

// The CPU quota of the control group, as a number of CPUs; 0: no limit.
int control_group_cpus() {
  std::int64_t quota = 0, period = 0;
  // Version 2 writes "max 100000" if there is no limit.
  if (!(std::ifstream("/sys/fs/cgroup/cpu.max") >> quota >> period)) {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? static_cast<int>((quota + period - 1) / period) : 0;
}

}  // namespace

int available_cpus(int processes) {
  const int online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const int granted = control_group_cpus();
  const int machine = granted > 0 ? std::min(online, granted) : online;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  const int bound = known ? CPU_COUNT(&allowed) : online;
  return std::max(1, std::min(bound, machine / processes));
}

}  // namespace tunedgemm::internal
