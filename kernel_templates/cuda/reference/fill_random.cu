// Fills a matrix with random values, or several copies of it with the same ones: the inputs of
// checks and of timings. See element.cuh for the values.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/fill_random.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

extern "C" __global__ void tunedgemm_fill_random(const __grid_constant__ Arguments arguments) {
  const reference::FillTask task = *static_cast<const reference::FillTask*>(arguments.workspace);
  // Neighbours in memory are filled by neighbouring threads; a block takes a line at a time.
  const bool along_rows = task.strides.column <= task.strides.row;
  const long long length = along_rows ? task.columns : task.rows;
  const long long lines = along_rows ? task.rows : task.columns;
  const long long step = along_rows ? task.strides.column : task.strides.row;
  for (long long line = blockIdx.x; line < lines * task.batch; line += gridDim.x) {
    const long long across = line % lines;
    const long long start = reference::offset_of(task.strides, line / lines,
                                                 along_rows ? across : 0, along_rows ? 0 : across);
    for (long long along = threadIdx.x; along < length; along += blockDim.x) {
      const long long offset = start + along * step;
      const double value =
          reference::random_value(task.format, task.distribution, task.seed, offset);
      for (long long copy = 0; copy < task.copies; ++copy) {
        reference::store(task.format, static_cast<char*>(task.matrix) + copy * task.copy_bytes,
                         offset, value);
      }
    }
  }
}
