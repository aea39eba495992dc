// Vectors of 16 bytes, at addresses that are multiples of 16.
#pragma once

#include "../common/unaligned_vectors.cuh"
#include "../mma/operands.cuh"
#include "../ptx/data_movement.cuh"
#include "../ptx/global_memory.cuh"

// 16 bytes as elements or registers.
template <class Type>
union Vector {
  static constexpr int kElements = 16 / sizeof(Type);

  uint4 bytes;
  Type element[kElements];
  Register registers[16 / sizeof(Register)];
};
