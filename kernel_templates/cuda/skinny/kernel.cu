// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        with up to 16 rows or 16 columns of D
//
// Read ../mma/kernel.cu first. New here: the wide operand, which has L rows, is read once and not
// shared by warps. So it goes from memory straight into the registers of the lanes that multiply
// it, in vectors of 16 bytes, and many vectors are in flight. Only the narrow operand, which has
// few rows, goes through shared memory. (A row is a row of A or a column of B.)
//
//        narrow operand                     wide operand, L rows
//
//           K                                  K
//        +------------------+               +------------------+
//        | chunk |          |  up to    row | warp   warp      |
//        +------------------+  16           | 0      1     ... |   a CTA: warps_l warps along L,
//            |                              | ...              |          warps_k warps along K
//            +-> shared memory              +------------------+
//
//   for each step along K:  if a chunk begins:  copy that of the narrow operand; barrier
//                           accumulators += wide unit * narrow unit
//                           start to load the wide unit that is `unroll` steps ahead
//   add the accumulators of the warps along K, in shared memory; store D
//
// The wide operand may have any alignment. A vector begins at a multiple of 16 bytes, wherever that
// is in a row. Rows are divided into classes: every kClasses-th row begins at the same byte of its
// vector. A warp computes rows of one class, so that all its vectors are shifted equally. If the
// operand is K-major, the narrow operand is read with that shift. Otherwise the warps along K have
// a class of k each, and their sums are shifted against each other when they are added.
//
// The code is small, since many launches are so short that fetching it takes a part of their time.
//
// f32 with IEEE products uses fused multiply-adds, all other types the tensor cores.
//
// Cost: each element of the wide operand is read once; columns * chunk elements of shared memory;
// per thread, unroll * blocks * kUnitVectors vectors in registers, the accumulators and about 50
// other registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/skinny/kernel.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#ifndef TYPE_A
#define TYPE_A f16
#endif
#ifndef TYPE_B
#define TYPE_B f16
#endif
#ifndef TYPE_D
#define TYPE_D f16
#endif
#ifndef ORDER_B
#define ORDER_B 1
#endif
#include "../common/epilogue.cuh"
#include "../common/split_k.cuh"
#include "../mma/operands.cuh"
#include "shape.h"
#include "vector.cuh"

#ifndef WIDE_B
#define WIDE_B 1  // 1: B is the wide operand, and D has few rows; 0: A is, and D has few columns
#endif
#ifndef COLUMNS
#define COLUMNS 8  // the most rows of the narrow operand
#endif
#ifndef BLOCKS
#define BLOCKS 1  // units of a warp along L
#endif
#ifndef UNROLL
#define UNROLL 4  // steps that are in flight
#endif
#ifndef WARPS_L
#define WARPS_L 1  // warps of a CTA along L
#endif
#ifndef WARPS_K
#define WARPS_K 8  // warps of a CTA along K
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // slices of K
#endif

constexpr bool kWideIsB = WIDE_B != 0;
template <bool kIsB>
struct OperandOf {
  using Type = TypeA;
  static constexpr bool kIsKMajor = kOrderA == Order::kRowMajor;
  static constexpr int kAlignment = kAlignA;

  static __device__ __forceinline__ const Type* matrix(const Arguments& arguments,
                                                       long long batch_index) {
    return matrix_a(arguments, batch_index);
  }
  static __device__ __forceinline__ long long ld(const Arguments& arguments) {
    return arguments.lda;
  }
};
template <>
struct OperandOf<true> {
  using Type = TypeB;
  static constexpr bool kIsKMajor = kOrderB == Order::kColumnMajor;
  static constexpr int kAlignment = kAlignB;

  static __device__ __forceinline__ const Type* matrix(const Arguments& arguments,
                                                       long long batch_index) {
    return matrix_b(arguments, batch_index);
  }
  static __device__ __forceinline__ long long ld(const Arguments& arguments) {
    return arguments.ldb;
  }
};
using Wide = OperandOf<kWideIsB>;
using Narrow = OperandOf<!kWideIsB>;

// A matrix with a number of rows of A (columns of B), from its first to its last element.
template <class Operand>
__device__ __forceinline__ Span<typename Operand::Type> span_of(const Arguments& arguments,
                                                                long long batch_index, int rows) {
  const auto* const matrix = Operand::matrix(arguments, batch_index);
  const long long lines = Operand::kIsKMajor ? rows : arguments.k;
  const long long line = Operand::kIsKMajor ? arguments.k : rows;
  return {matrix, matrix + (lines > 0 ? (lines - 1) * Operand::ld(arguments) + line : 0)};
}

constexpr bool kUsesTensorCores = kElementBytes != 4 || kNumerics != Numerics::kIeee;
constexpr skinny::Shape kShape{.columns = COLUMNS,
                               .blocks = BLOCKS,
                               .unroll = UNROLL,
                               .warps_l = WARPS_L,
                               .warps_k = WARPS_K,
                               .split_k = SPLIT_K,
                               .element_bytes = kElementBytes,
                               .accumulator_bytes = sizeof(Accumulator),
                               .is_k_major = Wide::kIsKMajor,
                               .alignment = Wide::kAlignment,
                               .uses_tensor_cores = kUsesTensorCores,
                               .takes_steps_of_16 = kEmulates};
#ifndef THREADS
#define THREADS kShape.threads()
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES kShape.shared_bytes()
#endif

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(sizeof(TypeA) == sizeof(TypeB), "A and B must have elements of one size");
static_assert(kGroupKind == GroupKind::kNone && !kHasBlockScales,
              "groups and scales of blocks need another family");
static_assert(kShape.columns_fit(),
              "columns must be 8 or 16 with tensor cores, and at most 16 without");
static_assert(
    kShape.classes_fit(),
    "the warps along L (K-major; else along K) must be a multiple of 16 bytes / alignment");
static_assert(kShape.threads() <= skinny::kMostThreads, "a CTA has at most 16 warps");
static_assert(kShape.registers() <= 255,
              "unroll * blocks units and the accumulators must fit in 255 registers");
static_assert(kShape.block_l() > 0 && kShape.split_k >= 1 && kShape.unroll >= 1,
              "a tile must have rows, and split_k and unroll must be 1 or more");
static_assert(THREADS == kShape.threads(), "THREADS must be 32 a warp");
static_assert(SHARED_BYTES == kShape.shared_bytes(),
              "SHARED_BYTES must be the larger of the narrow operand's chunk and the warps' sums");

// Short names for the knobs and the values that follow from them.
constexpr int kColumns = kShape.columns, kBlocks = kShape.blocks, kUnroll = kShape.unroll;
constexpr int kWarpsK = kShape.warps_k, kSplitK = kShape.split_k;
constexpr int kThreads = kShape.threads(), kClasses = kShape.classes();
constexpr int kVector = kShape.vector_elements(), kUnitVectors = kShape.unit_vectors();
constexpr int kUnitL = kShape.unit_l(), kUnitK = kShape.unit_k(), kStepK = kShape.step_k();
constexpr int kNextK = kShape.next_k();  // from a unit of a warp to its next one
constexpr int kLanesOfK = kShape.lanes_of_k();
constexpr int kNextRow =
    32 / kLanesOfK * kClasses;  // K-major: from a row of a lane to its next one
constexpr int kBlockL = kShape.block_l();
constexpr int kChunkSteps = kShape.chunk_steps(), kFront = kShape.front();
constexpr bool kShiftsK = kShape.shifts_k(), kShiftsL = kShape.shifts_l();

// ---- 4. Mainloop --------------------------------------------------------------------------------
// kBlockL rows of the wide operand, and this CTA's slice of K.
struct SkinnyWorkTile {
  long long batch_index;
  long long tile;  // its index in the whole batch
  int slice;       // of K
  int l0;
  int first_step, end_step;  // along K
};

// L and K are at most 2^30.
__device__ __forceinline__ int extent_l(const Arguments& arguments) {
  return static_cast<int>(kWideIsB ? arguments.n : arguments.m);
}
__device__ __forceinline__ int narrow_rows(const Arguments& arguments) {
  return static_cast<int>(kWideIsB ? arguments.m : arguments.n);
}

__device__ __forceinline__ SkinnyWorkTile work_tile_at(const Arguments& arguments, int work_index) {
  const int tiles = tiles_along(extent_l(arguments), kBlockL);
  const int slice_of_batch = work_index / tiles, tile = work_index % tiles;
  // Vectors of shifted rows reach further back, so the last ones begin later.
  const int depth = static_cast<int>(arguments.k) + (kShiftsK ? kVector - 1 : 0);
  const long long steps = (depth + kStepK - 1) / kStepK;
  SkinnyWorkTile work;
  work.batch_index = slice_of_batch / kSplitK;
  work.slice = slice_of_batch % kSplitK;
  work.tile = work.batch_index * tiles + tile;
  work.l0 = tile * kBlockL;
  work.first_step = static_cast<int>(steps * work.slice / kSplitK);
  work.end_step = static_cast<int>(steps * (work.slice + 1) / kSplitK);
  return work;
}

// The position of a warp in the CTA.
struct WarpPosition {
  int l, k;
};
__device__ __forceinline__ WarpPosition position_of_warp() {
  const int warp = threadIdx.x / 32;
  return {warp / kWarpsK, warp % kWarpsK};
}

// The rows of a K-major warp are every kClasses-th one from this row of the tile on. Without
// classes, they follow each other.
__device__ __forceinline__ int first_row_of_warp() {
  const int warp_l = position_of_warp().l;
  return warp_l / kClasses * (kBlocks * kUnitL * kClasses) + warp_l % kClasses;
}
// The same for k, if the wide operand is MN-major.
__device__ __forceinline__ int first_k_of_warp() {
  const int warp_k = position_of_warp().k;
  return warp_k / kClasses * (kUnroll * kUnitK * kClasses) + warp_k % kClasses;
}

// -- the wide operand: from memory to registers --

using WideVector = Vector<Wide::Type>;

// A lane's part of what a warp multiplies in a step.
struct WideUnit {
  WideVector vectors[kBlocks][kUnitVectors];
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
  static constexpr int kStreams = Wide::kIsKMajor ? kBlocks * kUnitVectors : kBlocks;
  // The lane's k in a unit, from the first to the last one, if the operand is MN-major.
  static constexpr int kUnitSpan = Wide::kIsKMajor ? 0 : (kUnitVectors - 1) * kClasses;

  Span<Wide::Type> span;
  const Wide::Type* from[kStreams];  // of each row (if MN-major: each block), at k
  int stride;                        // MN-major: elements from one k of the lane to the next
  int k, depth;                      // of the next step's first unit; K
  int begin_k, end_k;                // units between these are inside the span as a whole
  int shift;                         // elements by which the warp's vectors begin before the unit

  // Loads a unit of the next step. Vectors at the ends of rows may have elements
  // of other rows. Rows outside L have any elements, k outside K (MN-major) zeros.
  __device__ __forceinline__ void load_unit(WideUnit& unit, int ahead) const {
    const int unit_k = k + ahead * kNextK;
    if (unit_k >= begin_k && unit_k + kUnitSpan < end_k) {
#pragma unroll
      for (int index = 0; index < kBlocks * kUnitVectors; ++index) {
        unit.vectors[index / kUnitVectors][index % kUnitVectors].bytes =
            load_global_once(vector_at(index, ahead));
      }
      return;
    }
#pragma unroll
    for (int index = 0; index < kBlocks * kUnitVectors; ++index) {
      const int vector_k = unit_k + (Wide::kIsKMajor ? 0 : index % kUnitVectors * kClasses);
      uint4& bytes = unit.vectors[index / kUnitVectors][index % kUnitVectors].bytes;
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
    return Wide::kIsKMajor
               ? from[index] + ahead * kNextK
               : from[index / kUnitVectors] + static_cast<long long>(index % kUnitVectors) * stride;
  }
  // Moves by one unit if the operand is MN-major, whose next unit is no constant further.
  __device__ __forceinline__ void advance_unit(int ahead) {
    if constexpr (!Wide::kIsKMajor) {
      const int to_next = ahead + 1 < kUnroll ? kNextK : kStepK - (kUnroll - 1) * kNextK;
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        from[block] += static_cast<long long>(stride) * (to_next / kClasses);
      }
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
      const ByteMask mask(-unit_k * kElementBytes, (depth - unit_k) * kElementBytes);
#pragma unroll
      for (int index = 0; index < kBlocks * kUnitVectors; ++index) {
        mask.apply(unit.vectors[index / kUnitVectors][index % kUnitVectors].bytes);
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
    const int first = work.l0 + first_row_of_warp() + kClasses * (lane / kLanesOfK);
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
    loads.begin_k = 0;
    loads.end_k = loads.depth;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      int l =
          work.l0 + (warp.l * kBlocks + block) * kUnitL + lane / kLanesOfK * kVector - loads.shift;
      l -= max(l - rows + kVector, 0) / kVector * kVector;  // to the last vector of the row
      loads.from[block] = row + l;
      loads.begin_k = l < 0 ? kVector : loads.begin_k;
      loads.end_k = l + kVector > rows ? loads.depth - kVector : loads.end_k;
    }
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

// -- the narrow operand: a chunk of K in shared memory --

constexpr int kNarrowPitch = kShape.narrow_pitch();
constexpr bool kNarrowIsAligned = Narrow::kAlignment >= skinny::kVectorBytes;
// Vectors of the narrow operand are copied. Rows of small elements that are not aligned then lie in
// shared memory as they do in their vectors.
constexpr bool kCopiesVectors = Narrow::kIsKMajor && (kNarrowIsAligned || kElementBytes < 4);
constexpr bool kNarrowShifts = kCopiesVectors && !kNarrowIsAligned;

struct NarrowChunk {
  const Arguments& arguments;
  Span<Narrow::Type> span;
  char* shared;

  // The position of element first_k of a row, which is the same for the first one of each chunk.
  __device__ __forceinline__ int shift_of(int row, int first_k) const {
    return kNarrowShifts ? elements_into_vector(span.begin + row * Narrow::ld(arguments) + first_k)
                         : 0;
  }

  struct ChunkVector {
    int k;
    const Narrow::Type* from;
    uint4* to;
  };
  // A vector of the chunk, of which each row has `vectors`.
  __device__ __forceinline__ ChunkVector vector_at(int index, int vectors, float rows_of_vector,
                                                   int first_k) const {
    // Exact, since there are less than 2^16 vectors.
    const auto row = static_cast<int>((static_cast<float>(index) + 0.5f) * rows_of_vector);
    const int position = (index - row * vectors) * kVector;
    const int k = first_k + position - shift_of(row, first_k);
    return {k, span.begin + row * Narrow::ld(arguments) + k,
            reinterpret_cast<uint4*>(shared + row * kNarrowPitch + position * kElementBytes)};
  }

  // Copies `depth` elements of each row. Elements outside K become zero.
  __device__ __forceinline__ void copy(int first_k, int depth) const {
    const int rows = narrow_rows(arguments), end_k = static_cast<int>(arguments.k);
    const long long ld = Narrow::ld(arguments);
    if constexpr (kCopiesVectors) {
      const int vectors = (depth + (kNarrowShifts ? kVector - 1 : 0) + kVector - 1) / kVector;
      const float rows_of_vector = 1.0f / static_cast<float>(vectors);
#pragma unroll 4
      for (int index = threadIdx.x; index < rows * vectors; index += kThreads) {
        const ChunkVector vector = vector_at(index, vectors, rows_of_vector, first_k);
        if (vector.k >= 0 && vector.k + kVector <= end_k) {
          *vector.to = load_global_once(vector.from);
        }
      }
      if (first_k - kVector < 0 || first_k + depth + kVector > end_k) {
#pragma unroll 1
        for (int index = threadIdx.x; index < rows * vectors; index += kThreads) {
          const ChunkVector vector = vector_at(index, vectors, rows_of_vector, first_k);
          if (vector.k < 0 || vector.k + kVector > end_k) {
            uint4 bytes = load_elements(vector.from, span.begin, span.end);
            ByteMask(-vector.k * kElementBytes, (end_k - vector.k) * kElementBytes).apply(bytes);
            *vector.to = bytes;
          }
        }
      }
    } else {
#pragma unroll 2
      for (int position = threadIdx.x; position < depth; position += kThreads) {
        const int k = first_k + position;
        const bool is_inside = k >= 0 && k < end_k;
#pragma unroll 4
        for (int row = 0; row < rows; ++row) {
          reinterpret_cast<Narrow::Type*>(shared + row * kNarrowPitch)[position] =
              !is_inside ? Narrow::Type{}
                         : span.begin[Narrow::kIsKMajor ? row * ld + k : k * ld + row];
        }
      }
    }
  }
};

// What a lane reads of a row of the chunk: kRegisters registers of neighbouring elements along k,
// or of every kClasses-th element if the warps along K have classes.
template <int kRegisters>
struct NarrowRow {
  int from;  // an address in shared memory
  int bits;  // by which small elements are shifted against their words

  // `position` is that of the lane's first element in the chunk.
  __device__ __forceinline__ NarrowRow(const NarrowChunk& chunk, int row, int position) {
    from = static_cast<int>(shared_address(chunk.shared)) + row * kNarrowPitch +
           (position + chunk.shift_of(row, -kFront)) * kElementBytes;
    if constexpr (kFunnels) {
      bits = from % 4 * 8;
      from &= ~3;
      keep_in_register(bits);
    }
    keep_in_register(from);
  }

  __device__ __forceinline__ void load(int offset, Register (&registers)[kRegisters]) const {
    constexpr int kBytes = kRegisters * sizeof(Register), kElements = kBytes / kElementBytes;
    const void* const at = __cvta_shared_to_generic(from + offset);
    if constexpr (kShiftsL) {
      Narrow::Type elements[kElements];
#pragma unroll
      for (int i = 0; i < kElements; ++i) {
        elements[i] = static_cast<const Narrow::Type*>(at)[kClasses * i];
      }
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) {
        registers[i] = reinterpret_cast<const Register*>(elements)[i];
      }
    } else if constexpr (kFunnels) {
      const auto* const words = static_cast<const unsigned*>(at);
      unsigned word = words[0];
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) {
        const unsigned next = words[i + 1];
        registers[i] = __funnelshift_r(word, next, bits);
        word = next;
      }
    } else {
      struct alignas(kShiftsK ? sizeof(Register) : kBytes) Row {
        Register registers[kRegisters];
      };
      const Row row = *static_cast<const Row*>(at);
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) {
        registers[i] = row.registers[i];
      }
    }
  }

 private:
  static constexpr bool kFunnels = !kShiftsL && (kShiftsK || kNarrowShifts) && kElementBytes < 4;
};

// A lane's position in a row, for the first unit of its warp. `lane_k` is the lane's number along
// K.
__device__ __forceinline__ int first_position_of_lane(int lane_k, int shift) {
  return Wide::kIsKMajor
             ? kFront + position_of_warp().k * (kUnroll * kUnitK) + lane_k * kVector - shift
             : first_k_of_warp() + kClasses * lane_k * kUnitVectors;
}

// -- multiply --

// The rows of the wide operand that a lane has in a block.
constexpr int kLaneRows = kUnitL / (32 / kLanesOfK);

// On tensor cores: 16 rows of the wide operand, a pair for each lane, by 8 columns at a time.
//
// In the instruction, 4 lanes share a row. But 8 lanes share a K-major row, so that they read a
// whole cache line: to the instruction they are two rows, with the two halves of the line. It needs
// other columns for the other half. So it is issued for either half, and each time only the sums of
// these lanes are right.
struct TensorCoreSums {
  static constexpr int kLineHalves = kLanesOfK / 4;
  static constexpr int kPairs = kLaneRows / 2, kHalves = (kColumns + 7) / 8;
  static constexpr int kLaneRegisters = kUnitVectors * 16 / static_cast<int>(sizeof(Register));
  // The blocks along k that each lane's registers make.
  static constexpr int kGroups = kLaneRegisters / (4 * kBlocksOfStep * kPairs);

  Accumulator sums[kLineHalves][kBlocks][kPairs][kHalves][4];

  // A register of the wide operand: row 2 pair + `row` of the lane, the `index`-th along k.
  static __device__ __forceinline__ Register
  wide_register(const WideVector (&vectors)[kUnitVectors], int pair, int row, int index) {
    const int element = 2 * pair + row;
    if constexpr (Wide::kIsKMajor) {
      return vectors[row].registers[index];
    } else if constexpr (kElementBytes >= 4) {
      return vectors[index].registers[element];
    } else if constexpr (kElementBytes == 2) {
      return permute_bytes(vectors[2 * index].registers[element / 2],
                           vectors[2 * index + 1].registers[element / 2],
                           row == 0 ? 0x5410 : 0x7632);
    } else {
      const int byte = element % 4, first = 4 * index;
      const unsigned bytes = byte + ((4 + byte) << 4);
      const unsigned low = permute_bytes(vectors[first].registers[element / 4],
                                         vectors[first + 1].registers[element / 4], bytes);
      const unsigned high = permute_bytes(vectors[first + 2].registers[element / 4],
                                          vectors[first + 3].registers[element / 4], bytes);
      return permute_bytes(low, high, 0x5410);
    }
  }

  static constexpr int kRegisters = 2 * kBlocksOfStep * kGroups;  // of a row along k
  struct NarrowRows {
    NarrowRow<kRegisters> rows[kHalves];
  };
  static __device__ __forceinline__ NarrowRows narrow_rows_at(const NarrowChunk& chunk, int shift) {
    const int g = threadIdx.x % 32 / 4, position = first_position_of_lane(threadIdx.x % 4, shift);
    if constexpr (kHalves == 1) {
      return {{NarrowRow<kRegisters>(chunk, g, position)}};
    } else {
      return {{NarrowRow<kRegisters>(chunk, g, position),
               NarrowRow<kRegisters>(chunk, g + 8, position)}};
    }
  }

  // `offset` is that of the unit in the chunk, in bytes.
  __device__ __forceinline__ void multiply(const WideUnit& unit, const NarrowRows& rows,
                                           int offset) {
#pragma unroll
    for (int half = 0; half < kLineHalves; ++half) {
      multiply_half(unit, rows, offset + half * 4 * skinny::kVectorBytes, sums[half]);
    }
  }
  static __device__ __forceinline__ void multiply_half(
      const WideUnit& unit, const NarrowRows& rows, int offset,
      Accumulator (&sums)[kBlocks][kPairs][kHalves][4]) {
    Register narrow[kHalves][kRegisters];
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      rows.rows[half].load(offset, narrow[half]);
    }
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      Register blocks[kBlocksOfStep][4];
      Operands a, b;
#pragma unroll
      for (int block = 0; block < kBlocksOfStep; ++block) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const int index = (group * kBlocksOfStep + block) * 2 + k;
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            blocks[block][register_index(RegisterOrder::kKFirst, half, k)] =
                narrow[half < kHalves ? half : 0][index];
          }
        }
      }
      convert(Narrow::Type(), RegisterOrder::kKFirst, blocks, b);
#pragma unroll
      for (int l = 0; l < kBlocks * kPairs; ++l) {
        const int pair = l % kPairs;
#pragma unroll
        for (int i = 0; i < 4 * kBlocksOfStep; ++i) {
          const int block = i / 4, row = i % 2, k = i / 2 % 2;
          blocks[block][register_index(RegisterOrder::kRowsFirst, row, k)] = wide_register(
              unit.vectors[l / kPairs], pair, row, (group * kBlocksOfStep + block) * 2 + k);
        }
        convert(Wide::Type(), RegisterOrder::kRowsFirst, blocks, a);
#pragma unroll
        for (int half = 0; half < kHalves; ++half) {
          Accumulator(&sum)[4] = sums[l / kPairs][pair][half];
          if constexpr (!kEmulates) {
            multiply_operands<Wide::Type, Narrow::Type>(a, b, half, sum);
          } else {
            Accumulator of_step[4] = {};
            multiply_operands<Wide::Type, Narrow::Type>(a, b, half, of_step);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              add(of_step[i], sum[i]);
            }
          }
        }
      }
    }
  }

  // Calls store(block, row of the lane, column, sum) for each sum.
  template <class Store>
  __device__ __forceinline__ void for_each(const Store& store) const {
    const int t = threadIdx.x % 4;
    const bool is_second_half = kLineHalves == 2 && threadIdx.x / 4 % 2 == 1;
#pragma unroll
    for (int index = 0; index < kBlocks * kPairs * kHalves * 4; ++index) {
      const int i = index % 4, half = index / 4 % kHalves, l = index / (4 * kHalves);
      Accumulator sum = sums[0][l / kPairs][l % kPairs][half][i];
      if constexpr (kLineHalves == 2) {
        sum = is_second_half ? sums[1][l / kPairs][l % kPairs][half][i] : sum;
        add(__shfl_xor_sync(~0u, sum, 4), sum);
      }
      if (!is_second_half) {
        store(l / kPairs, l % kPairs * 2 + i / 2, half * 8 + 2 * t + i % 2, sum);
      }
    }
  }
};

// On CUDA cores, f32: a lane multiplies its part of each row by every column.
struct FusedMultiplyAddSums {
  static constexpr int kDepth = kUnitK / kLanesOfK;  // of a lane
  f32 sums[kBlocks][kLaneRows][kColumns];

  struct NarrowRows {
    NarrowRow<kDepth> first;
  };
  static __device__ __forceinline__ NarrowRows narrow_rows_at(const NarrowChunk& chunk, int shift) {
    return {NarrowRow<kDepth>(chunk, 0, first_position_of_lane(threadIdx.x % kLanesOfK, shift))};
  }

  __device__ __forceinline__ void multiply(const WideUnit& unit, const NarrowRows& rows,
                                           int offset) {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      Register narrow[kDepth];
      rows.first.load(offset + column * kNarrowPitch, narrow);
#pragma unroll
      for (int index = 0; index < kBlocks * kLaneRows; ++index) {
        const int block = index / kLaneRows, row = index % kLaneRows;
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
          const f32 wide = __uint_as_float(Wide::kIsKMajor ? unit.vectors[block][row].registers[k]
                                                           : unit.vectors[block][k].registers[row]);
          multiply_add(wide, __uint_as_float(narrow[k]), sums[block][row][column]);
        }
      }
    }
  }

  template <class Store>
  __device__ __forceinline__ void for_each(const Store& store) const {
#pragma unroll
    for (int index = 0; index < kBlocks * kLaneRows * kColumns; ++index) {
      const int column = index % kColumns, l = index / kColumns;
      f32 sum = sums[l / kLaneRows][l % kLaneRows][column];
#pragma unroll
      for (int distance = 1; distance < kLanesOfK; distance *= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
      }
      if (threadIdx.x % kLanesOfK == column % kLanesOfK) {
        store(l / kLaneRows, l % kLaneRows, column, sum);
      }
    }
  }
};

template <bool kOnTensorCores>
struct SumsOf {
  using Type = TensorCoreSums;
};
template <>
struct SumsOf<false> {
  using Type = FusedMultiplyAddSums;
};
using Sums = SumsOf<kUsesTensorCores>::Type;

// ---- 5. Epilogue --------------------------------------------------------------------------------
constexpr int kSumsPitch = kShape.sums_pitch();

// Stores a warp's sums to shared memory: for each warp along K, kColumns rows of kSumsPitch
// elements along L. `shift` is that of the warp's vectors.
__device__ __forceinline__ void share_sums(const Sums& sums, int shift, Accumulator* shared) {
  const WarpPosition warp = position_of_warp();
  const int lane_l = threadIdx.x % 32 / kLanesOfK;
  Accumulator* const own = shared + warp.k * (kColumns * kSumsPitch);
  sums.for_each([&](int block, int row, int column, Accumulator sum) {
    int l;
    if constexpr (Wide::kIsKMajor) {
      l = first_row_of_warp() + kClasses * (block * kUnitL) + row * kNextRow + kClasses * lane_l;
    } else {
      l = (warp.l * kBlocks + block) * kUnitL + lane_l * kVector + row +
          (kShiftsL ? kVector - shift : 0);
    }
    own[column * kSumsPitch + l] = sum;
  });
}

struct CollectiveEpilogue {
  const Arguments& arguments;
  const SkinnyWorkTile& work;
  char* shared;

  // Calls function(index, l, column) for each element of the tile. Neighbouring threads get
  // neighbouring elements of D.
  template <class Function>
  __device__ __forceinline__ void for_each_element(const Function& function) const {
    const int rows = min(extent_l(arguments) - work.l0, kBlockL);
    const int columns = narrow_rows(arguments);
    const int elements = (kWideIsB ? columns : kColumns) * kBlockL;
    for (int index = threadIdx.x; index < elements; index += kThreads) {
      const int l = kWideIsB ? index % kBlockL : index / kColumns;
      const int column = kWideIsB ? index / kBlockL : index % kColumns;
      if (l < rows && column < columns) {
        function(index, l, column);
      }
    }
  }

  // The sum of the warps along K.
  __device__ __forceinline__ Accumulator sum_of_warps(int l, int column) const {
    const auto* const sums = reinterpret_cast<const Accumulator*>(shared);
    Accumulator sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarpsK; ++warp) {
      add(sums[(warp * kColumns + column) * kSumsPitch + l + (kShiftsL ? kVector : 0)], sum);
    }
    return sum;
  }

  template <class SumOf>
  __device__ __forceinline__ void store(const SumOf& sum_of) const {
    const Epilogue epilogue = begin_epilogue(arguments, work.batch_index);
    TypeD* const d = matrix_d(arguments, work.batch_index);
    for_each_element([&](int index, int l, int column) {
      const int m = kWideIsB ? column : work.l0 + l, n = kWideIsB ? work.l0 + l : column;
      d[offset_d(arguments, m, n)] = apply_epilogue(epilogue, sum_of(index, l, column), m, n);
    });
  }

  __device__ __forceinline__ void store_sums() const {
    if constexpr (kSplitK == 1) {
      store([&](int, int l, int column) { return sum_of_warps(l, column); });
      return;
    }
    constexpr int kElements = kShape.partial_elements();
    Accumulator* const partial = partial_tile(arguments, work.tile, work.slice, kSplitK, kElements);
    for_each_element(
        [&](int index, int l, int column) { partial[index] = sum_of_warps(l, column); });
    const ThreadGroup group{static_cast<int>(threadIdx.x), kThreads, 0};
    if (!arrives_last(arguments, work.tile, kSplitK, group, reinterpret_cast<int*>(shared))) {
      return;
    }
    const Accumulator* const partials = partial_tile(arguments, work.tile, 0, kSplitK, kElements);
    store([&](int index, int, int) {
      Accumulator sum = 0;
#pragma unroll 8
      for (int slice = 0; slice < kSplitK; ++slice) {
        add(partials[slice * kElements + index], sum);
      }
      return sum;
    });
  }
};

// ---- 6. Entry -----------------------------------------------------------------------------------
__device__ __forceinline__ void compute(const Arguments& arguments, const SkinnyWorkTile& work,
                                        char* shared) {
  WideLoads loads = make_wide_loads(arguments, work);
  const NarrowChunk chunk{
      arguments, span_of<Narrow>(arguments, work.batch_index, narrow_rows(arguments)), shared};
  const auto rows = Sums::narrow_rows_at(chunk, loads.shift);
  const int steps = work.end_step - work.first_step;
  int offset = 0;
  WideUnit units[kUnroll];
  Sums sums = {};
#pragma unroll 1
  for (int step = -1; step < steps; ++step) {
    if (step >= 0 && step % kChunkSteps == 0) {
      __syncthreads();  // before the last chunk is overwritten
      chunk.copy((work.first_step + step) * kStepK - kFront,
                 min(steps - step, kChunkSteps) * kStepK + kFront);
      __syncthreads();
      offset = 0;
    }
#pragma unroll
    for (int ahead = 0; ahead < kUnroll; ++ahead) {
      if (step >= 0) {
        loads.clear_outside_k(units[ahead], ahead);
        sums.multiply(units[ahead], rows, offset + ahead * kNextK * kElementBytes);
      }
      if (step + 1 < steps) {
        loads.load_unit(units[ahead], ahead);
      }
      loads.advance_unit(ahead);
    }
    loads.advance_step();
    offset += step >= 0 ? kStepK * kElementBytes : 0;
  }
  __syncthreads();  // before the sums overwrite the narrow operand
  share_sums(sums, loads.shift, reinterpret_cast<Accumulator*>(shared));
  __syncthreads();
  CollectiveEpilogue{arguments, work, shared}.store_sums();
}

extern "C" __global__ void __launch_bounds__(kThreads, kShape.ctas_per_sm())
    tunedgemm_skinny(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(128) char shared[];
  for_each_work_tile<kWideIsB ? kColumns : kBlockL, kWideIsB ? kBlockL : kColumns, kSplitK>(
      arguments, [&](int index) { compute(arguments, work_tile_at(arguments, index), shared); });
}
