// Fills a matrix, or several equal copies of it, with random values (element.cuh): the inputs of
// checks and timings.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/fill_random.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

extern "C" __global__ void tunedgemm_fill_random(const __grid_constant__ Arguments arguments) {
  const reference::FillTask task = *static_cast<const reference::FillTask*>(arguments.workspace);
  // Neighbouring threads fill neighbouring elements. A CTA fills one line after another.
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
