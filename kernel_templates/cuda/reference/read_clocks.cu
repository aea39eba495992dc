// What time it is, and how many cycles have gone by: each SM that runs a block notes both. Of two such notes the difference is the clock's rate meanwhile, also where a kernel drew so
// much power that it was lowered for a millisecond only.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/read_clocks.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

// PTX ISA, "Special Registers: %smid, %globaltimer, %clock64".
__device__ __forceinline__ unsigned sm_number() {
  unsigned number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}
__device__ __forceinline__ reference::ClockReading read_clock() {
  reference::ClockReading reading;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(reading.nanoseconds));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(reading.cycles));
  return reading;
}

extern "C" __global__ void tunedgemm_read_clocks(const __grid_constant__ Arguments arguments) {
  const reference::ClockTask task = *static_cast<const reference::ClockTask*>(arguments.workspace);
  const unsigned number = sm_number();
  if (threadIdx.x == 0 && number < task.sm_count) {
    task.readings[number] = read_clock();
  }
}
