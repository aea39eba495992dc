// What time it is, and how many cycles have gone by: each SM that runs a block notes both. The
// difference of two such notes is the clock rate meanwhile, also where a kernel drew so
// much power that it was lowered for a millisecond only.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/read_clocks.cu

#include "../common/arguments.cuh"
#include "../ptx/special_registers.cuh"
#include "tasks.cuh"

extern "C" __global__ void tunedgemm_read_clocks(const __grid_constant__ Arguments arguments) {
  const reference::ClockTask task = *static_cast<const reference::ClockTask*>(arguments.workspace);
  const unsigned number = sm_id();
  if (threadIdx.x == 0 && number < task.sm_count) {
    task.readings[number] = {global_nanoseconds(), sm_cycles()};
  }
}
