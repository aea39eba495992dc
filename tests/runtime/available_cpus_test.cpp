// How many CPUs a process may use.

#include "runtime/available_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

// The first of the CPUs on which this thread may run.
cpu_set_t first_allowed_cpu() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) {
    ++cpu;
  }
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(cpu, &first);
  return first;
}

TEST_CASE("Each process of a machine gets its share of the CPUs") {
  const int online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const int all = available_cpus();
  CHECK(all >= 1);
  CHECK(all <= online);
  for (const int processes : {1, 2, 3, online}) {
    CAPTURE(processes);
    CHECK(available_cpus(processes) >= 1);
    CHECK(processes * available_cpus(processes) <= std::max(online, processes));
  }
  CHECK(available_cpus(2 * online) == 1);
}

TEST_CASE("A process uses only the CPUs to which it is bound") {
  int bound = 0, one_of_two = 0;
  std::thread([&] {
    const cpu_set_t first = first_allowed_cpu();
    if (sched_setaffinity(0, sizeof(first), &first) == 0) {
      bound = available_cpus();
      one_of_two = available_cpus(2);
    }
  }).join();
  CHECK(bound == 1);
  CHECK(one_of_two == 1);
}

}  // namespace
}  // namespace tunedgemm::internal
