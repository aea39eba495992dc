// Overwrites every element of D with the poison, all bits one. After the kernel under test has been
// checked, D is poisoned again. Any memory around or between the rows that is then not poison was
// written out of bounds (find_out_of_bounds_writes.cu).
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/erase.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

__device__ __forceinline__ void poison(void* d, int element_bytes, long long offset) {
  switch (element_bytes) {
    case 8:
      static_cast<reference::u64*>(d)[offset] = ~reference::u64{0};
      break;
    case 4:
      static_cast<unsigned*>(d)[offset] = ~0U;
      break;
    case 2:
      static_cast<unsigned short*>(d)[offset] = 0xffff;
      break;
    default:
      static_cast<unsigned char*>(d)[offset] = 0xff;
      break;
  }
}

extern "C" __global__ void tunedgemm_erase(const __grid_constant__ Arguments arguments) {
  const reference::EraseTask task = *static_cast<const reference::EraseTask*>(arguments.workspace);
  for (long long row = blockIdx.x; row < task.rows; row += gridDim.x) {
    const long long start = reference::offset_of(task.strides, row / task.m, row % task.m, 0);
    for (long long n = threadIdx.x; n < task.n; n += blockDim.x) {
      poison(task.d, task.element_bytes, start + n * task.strides.column);
    }
  }
}
