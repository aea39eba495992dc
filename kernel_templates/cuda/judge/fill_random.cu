// Fills a matrix with random values, or several copies of it with the same ones: the inputs of
// checks and of timings. See element.cuh for the values.
//
//   nvcc -std=c++20 -arch=sm_90 -I kernel_templates/cuda/words -cubin kernel_templates/cuda/judge/fill_random.cu

#include "arguments.cuh"
#include "tasks.cuh"

extern "C" __global__ void tunedgemm_fill_random(const __grid_constant__ Arguments arguments) {
  const judge::FillTask task = *static_cast<const judge::FillTask*>(arguments.workspace);
  const long long elements = task.batch * task.rows * task.columns;
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       index < elements; index += threads) {
    // Neighbours in memory are filled by neighbouring threads.
    const bool along_rows = task.strides.column <= task.strides.row;
    const long long line = along_rows ? task.columns : task.rows;
    const long long lines = along_rows ? task.rows : task.columns;
    const long long batch = index / (line * lines);
    const long long across = index / line % lines;
    const long long along = index % line;
    const long long offset = judge::offset_of(task.strides, batch, along_rows ? across : along,
                                              along_rows ? along : across);
    const double value = judge::random_value(task.type, task.distribution, task.seed, offset);
    for (long long copy = 0; copy < task.copies; ++copy) {
      judge::store(task.type, static_cast<char*>(task.matrix) + copy * task.copy_bytes, offset,
                   value);
    }
  }
}
