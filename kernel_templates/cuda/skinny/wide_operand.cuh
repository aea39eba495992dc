// The wide operand, from memory to registers.
//
//   WideLoads loads = make_wide_loads(arguments, work);
//   loads.load_unit(unit, ahead);           // for each unit of a step
//   loads.advance_unit(ahead);
//   loads.advance_step();                   // after the step
//   loads.clear_outside_k(unit, ahead);     // before a unit of the step before is multiplied
#pragma once

#include "work_tile.cuh"

using WideVector = Vector<Wide::Type>;

// A lane's part of what a warp multiplies in a step.
struct WideUnit {
  WideVector vectors[kUnitVectors];
};

// Prevents the compiler from computing a value again in each step, rather than keep it.
__device__ __forceinline__ void keep_in_register(int& value) {
  asm volatile("" : "+r"(value));
}
template <class Type>
__device__ __forceinline__ void keep_in_register(const Type*& value) {
  asm volatile("" : "+l"(value));
}

// A lane's loads, a step of kUnroll units after another.
struct WideLoads {
  static constexpr int kStreams = Wide::kIsKMajor ? kUnitVectors : 1;
  // The lane's k in a unit, from the first to the last one, if the operand is MN-major.
  static constexpr int kUnitSpan = Wide::kIsKMajor ? 0 : (kUnitVectors - 1) * kClasses;

  Span<Wide::Type> span;
  const Wide::Type* from[kStreams];  // of each row (if MN-major: the first k), at k
  int stride;                        // MN-major: elements from one k of the lane to the next
  int k, depth;                      // of the next step's first unit; K
  int begin_k, end_k;                // units between these are inside the span as a whole
  int shift;                         // elements by which the warp's vectors begin before the unit

  // Loads a unit of the next step. Vectors at the ends of rows may have elements of other rows.
  // Rows outside L have any elements, k outside K (MN-major) zeros.
  __device__ __forceinline__ void load_unit(WideUnit& unit, int ahead) const {
    const int unit_k = k + ahead * kNextK;
    if (unit_k >= begin_k && unit_k + kUnitSpan < end_k) {
#pragma unroll
      for (int index = 0; index < kUnitVectors; ++index) {
        unit.vectors[index].bytes = load_global_once(vector_at(index, ahead));
      }
      return;
    }
#pragma unroll
    for (int index = 0; index < kUnitVectors; ++index) {
      const int vector_k = unit_k + (Wide::kIsKMajor ? 0 : index * kClasses);
      uint4& bytes = unit.vectors[index].bytes;
      if (vector_k >= begin_k && vector_k < end_k) {
        bytes = load_global_once(vector_at(index, ahead));
      } else if (vector_k < depth) {
        bytes = load_elements(vector_at(index, ahead), span.begin, span.end);
      } else if (!Wide::kIsKMajor) {
        bytes = make_uint4(0, 0, 0, 0);
      }
    }
  }
  __device__ __forceinline__ const Wide::Type* vector_at(int index, int ahead) const {
    return Wide::kIsKMajor ? from[index] + ahead * kNextK
                           : from[0] + static_cast<long long>(index) * stride;
  }
  // Moves by one unit if the operand is MN-major, whose next unit is no constant further.
  __device__ __forceinline__ void advance_unit(int ahead) {
    if constexpr (!Wide::kIsKMajor) {
      const int to_next = ahead + 1 < kUnroll ? kNextK : kStepK - (kUnroll - 1) * kNextK;
      from[0] += static_cast<long long>(stride) * (to_next / kClasses);
    }
  }
  // Moves by a step.
  __device__ __forceinline__ void advance_step() {
    k += kStepK;
    if constexpr (Wide::kIsKMajor) {
#pragma unroll
      for (int stream = 0; stream < kStreams; ++stream) {
        from[stream] += kStepK;
      }
    }
  }
  // Clears what K-major vectors have outside K, in the unit that was loaded a step ago.
  __device__ __forceinline__ void clear_outside_k(WideUnit& unit, int ahead) const {
    const int unit_k = k - kStepK + ahead * kNextK;
    if (Wide::kIsKMajor && (unit_k < 0 || unit_k + kVector > depth)) {
      const RowMask<Wide::Type> mask(unit_k, depth);
#pragma unroll
      for (WideVector& vector : unit.vectors) {
        mask.apply(vector.bytes);
      }
    }
  }
};

__device__ __forceinline__ WideLoads make_wide_loads(const Arguments& arguments,
                                                     const SkinnyWorkTile& work) {
  const WarpPosition warp = position_of_warp();
  const int lane = threadIdx.x % 32, lane_k = lane % kLanesOfK;
  const int rows = extent_l(arguments), ld = static_cast<int>(Wide::ld(arguments));
  const Wide::Type* const matrix = Wide::matrix(arguments, work.batch_index);
  WideLoads loads;
  loads.span = span_of<Wide>(arguments, work.batch_index, rows);
  loads.depth = static_cast<int>(arguments.k);
  loads.k = work.first_step * kStepK;
  loads.stride = kClasses * ld;
  if constexpr (Wide::kIsKMajor) {
    const int first = work.l0 + first_row_of_warp(work) + kClasses * (lane / kLanesOfK);
    loads.shift = kShiftsK ? elements_into_vector(matrix + static_cast<long long>(first) * ld) : 0;
    loads.k += warp.k * (kUnroll * kUnitK) + lane_k * kVector - loads.shift;
    // Rows outside L are replaced by others of the class.
    const int excess = max(first + (WideLoads::kStreams - 1) * kNextRow - rows, -1);
    const int last_inside =
        first + (WideLoads::kStreams - 1) * kNextRow - (excess + kClasses) / kClasses * kClasses;
#pragma unroll
    for (int stream = 0; stream < WideLoads::kStreams; ++stream) {
      const int l = min(first + stream * kNextRow, last_inside);
      loads.from[stream] = matrix + static_cast<long long>(l) * ld + loads.k;
    }
    const long long before = static_cast<long long>(min(first, last_inside)) * ld;
    const long long behind = static_cast<long long>(rows - 1 - last_inside) * ld;
    loads.begin_k = -static_cast<int>(min(before, kVector - 1LL));
    loads.end_k = loads.depth - kVector + 1 + static_cast<int>(min(behind, kVector - 1LL));
    if (last_inside < 0) {
      loads.begin_k = loads.end_k;  // the class has no rows
    }
  } else {
    loads.k += first_k_of_warp() + kClasses * lane_k * kUnitVectors;
    const Wide::Type* const row = matrix + static_cast<long long>(loads.k) * ld;
    loads.shift = kShiftsL ? elements_into_vector(row + work.l0) : 0;
    int l = work.l0 + warp.l * kUnitL + lane / kLanesOfK * kVector - loads.shift;
    l -= max(l - rows + kVector, 0) / kVector * kVector;  // to the last vector of the row
    loads.from[0] = row + l;
    loads.begin_k = l < 0 ? kVector : 0;
    loads.end_k = l + kVector > rows ? loads.depth - kVector : loads.depth;
  }
#pragma unroll
  for (int stream = 0; stream < WideLoads::kStreams; ++stream) {
    keep_in_register(loads.from[stream]);
  }
  keep_in_register(loads.begin_k);
  keep_in_register(loads.end_k);
  keep_in_register(loads.stride);
  return loads;
}
