// Puts the poison, all bits one, over every element of D. What is left around and between the rows
// must then be poison as well, else the kernel under test wrote where it must not (find_stains.cu).
//
//   nvcc -std=c++20 -arch=sm_90 -I kernel_templates/cuda/words -cubin kernel_templates/cuda/judge/erase.cu

#include "arguments.cuh"
#include "tasks.cuh"

extern "C" __global__ void tunedgemm_erase(const __grid_constant__ Arguments arguments) {
  const judge::EraseTask task = *static_cast<const judge::EraseTask*>(arguments.workspace);
  const long long bytes_of_row = task.n * task.element_bytes;
  const long long bytes = task.batch * task.m * bytes_of_row;
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  unsigned char* d = static_cast<unsigned char*>(task.d);
  for (long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       index < bytes; index += threads) {
    const long long row = index / bytes_of_row;
    const long long start =
        judge::offset_of(task.strides, row / task.m, row % task.m, 0) * task.element_bytes;
    d[start + index % bytes_of_row] = 0xff;
  }
}
