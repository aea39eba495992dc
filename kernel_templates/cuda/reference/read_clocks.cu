// Reads the device's time and the cycles of every SM that runs a CTA. Two readings give the average
// clock rate between them. Even a drop that lasts a millisecond is visible.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/read_clocks.cu

#include "../common/arguments.cuh"
#include "../ptx/special_registers.cuh"
#include "tasks.cuh"

extern "C" __global__ void tunedgemm_read_clocks(const __grid_constant__ Arguments arguments) {
  const reference::ClockTask task = *static_cast<const reference::ClockTask*>(arguments.workspace);
  const unsigned sm = sm_id();
  if (threadIdx.x == 0 && sm < task.sm_count) {
    task.readings[sm] = {global_nanoseconds(), sm_cycles()};
  }
}
