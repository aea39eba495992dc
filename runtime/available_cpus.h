#pragma once

namespace tunedgemm::internal {

/// The number of CPUs for this process if it is one of `processes` on its machine: those on which
/// it may run, but at most its share of all, because a launcher may bind several processes to the
/// same CPUs. A CPU quota of the control group counts as a limit of the machine. At least 1.
int available_cpus(int processes = 1);

}  // namespace tunedgemm::internal
