// Between shared memory and registers. One instruction a function; the names in quotes are sections
// of the PTX ISA manual.
#pragma once

#include "shared_address.cuh"

// "Warp Level Matrix Instructions: ldmatrix". Four matrices of 8 rows of 16 bytes: lane l gives
// the address of row l % 8 of matrix l / 8 and receives, of row l / 4 of every matrix, the 4 bytes
// from byte l % 4 * 4 on.
__device__ __forceinline__ void load_matrices(const void* from, unsigned (&registers)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(from))
               : "memory");
}
// The same with every matrix transposed as one of 8 x 8 pairs of bytes: lane l receives pair l / 4
// of row l % 4 * 2 (in the lower half of the register) and of row l % 4 * 2 + 1.
__device__ __forceinline__ void load_matrices_transposed(const void* from,
                                                         unsigned (&registers)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(from))
               : "memory");
}
