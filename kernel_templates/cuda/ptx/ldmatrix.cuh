// Between shared memory and registers. One instruction a function; the names in quotes are sections
// of the PTX ISA manual.
#pragma once

#include "cp_async.cuh"

// "Warp Level Matrix Load Instruction: ldmatrix". Four matrices of 8 rows of 16 bytes: lane l gives
// the address of row l % 8 of matrix l / 8 and receives, of row l / 4 of every matrix, the 4 bytes
// from byte l % 4 * 4 on.
__device__ __forceinline__ void load_matrices(const void* from, unsigned (&words)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_address(from))
               : "memory");
}
// The same with every matrix transposed as one of 8 x 8 pairs of bytes: lane l receives pair l / 4
// of row l % 4 * 2 (in the lower half of the word) and of row l % 4 * 2 + 1.
__device__ __forceinline__ void load_matrices_transposed(const void* from, unsigned (&words)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_address(from))
               : "memory");
}

// "Data Movement and Conversion Instructions: prmt". The four bytes that the digits of `choice`
// name, the lowest first: 0 to 3 are those of `first`, 4 to 7 those of `second`.
__device__ __forceinline__ unsigned choose_bytes(unsigned first, unsigned second, unsigned choice) {
  unsigned result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(first), "r"(second), "r"(choice));
  return result;
}
