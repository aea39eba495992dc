// The tensor memory accelerator (TMA, sm_90 and later) copies boxes of a matrix between global and
// shared memory. A single thread starts the copy of a whole box, and no thread computes addresses.
//
// A tensor map, which the host makes for every launch, holds the extents and strides of the matrix,
// the box, and the swizzle mode. In shared memory a row of the box has `span` bytes (128, 64 or
// 32), and its 16-byte chunks are permuted so that neither rows nor columns have bank conflicts
// (swizzled() below). Elements outside the matrix are read as zeros and never written.
//
// PTX ISA, "Data Movement and Conversion Instructions: Bulk copy, Tensor copy, createpolicy".
#pragma once

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};
// A box of a matrix. x is the contiguous dimension.
struct TensorBox {
  const TensorMap& map;
  int x, y, z;
};
// A box of a ragged matrix, which ends before line `end`. Its map has the lines as dimension y, of
// kRaggedExtent elements, and two more dimensions whose strides cancel that of y: the address of
//
//     (x, kRaggedExtent - (end - line), kRaggedExtent, end)   is that of   (x, line)
//
// modulo 2^64, and y is outside the matrix from line `end` on.
constexpr int kRaggedExtent = 1 << 30;
struct RaggedBox {
  const TensorMap& map;
  int x, line, end;

  __device__ __forceinline__ int y() const { return kRaggedExtent - (end - line); }
};

// The swizzled offset of the byte at `offset` in a box whose rows have `span` bytes. The box must
// begin at a multiple of 1024 bytes.
__device__ __forceinline__ constexpr int swizzled(int offset, int span) {
  return offset ^ (offset >> 3 & (span - 16));
}

// The eviction priority, in the L2 cache, of the lines that a copy touches. kFirst leaves room for
// lines that are read again. kNormal uses no policy, because an explicit evict_normal is slower.
enum class EvictionPriority { kNormal, kFirst };
struct CacheHint {
  EvictionPriority priority;
  unsigned long long policy = 0;  // of kFirst
};
// createpolicy. The producer calls this once. Stores call it before every copy: keeping the policy
// during the mainloop would take registers from the accumulators.
__device__ __forceinline__ CacheHint make_cache_hint(EvictionPriority priority) {
  CacheHint hint{priority};
  if (priority == EvictionPriority::kFirst) {
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(hint.policy));
  }
  return hint;
}

// cp.async.bulk.tensor: copies a box to shared memory. The copy completes on `barrier`.
__device__ __forceinline__ void tma_load(unsigned to, const TensorBox& from, unsigned barrier,
                                         const CacheHint& hint) {
  if (hint.priority == EvictionPriority::kFirst) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
        "l"(&from.map), "r"(barrier), "r"(from.x), "r"(from.y), "r"(from.z), "l"(hint.policy)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
        "l"(&from.map), "r"(barrier), "r"(from.x), "r"(from.y), "r"(from.z)
        : "memory");
  }
}
// Copies a box to the same address in every CTA of the cluster whose bit in `multicast_mask` is
// set. In each of these CTAs, the copy completes on the barrier at the same address.
__device__ __forceinline__ void tma_load_multicast(unsigned to, const TensorBox& from,
                                                   unsigned barrier, unsigned short multicast_mask,
                                                   const CacheHint& hint) {
  if (hint.priority == EvictionPriority::kFirst) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%4, %5, %6}], [%2], %3, %7;" ::"r"(to),
        "l"(&from.map), "r"(barrier), "h"(multicast_mask), "r"(from.x), "r"(from.y), "r"(from.z),
        "l"(hint.policy)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(to),
        "l"(&from.map), "r"(barrier), "h"(multicast_mask), "r"(from.x), "r"(from.y), "r"(from.z)
        : "memory");
  }
}
// The same for a box of a ragged matrix, without a priority.
__device__ __forceinline__ void tma_load(unsigned to, const RaggedBox& from, unsigned barrier,
                                         const CacheHint&) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(&from.map), "r"(barrier), "r"(from.x), "r"(from.y()), "r"(kRaggedExtent), "r"(from.end)
      : "memory");
}
__device__ __forceinline__ void tma_load_multicast(unsigned to, const RaggedBox& from,
                                                   unsigned barrier, unsigned short multicast_mask,
                                                   const CacheHint&) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%4, %5, %6, %7}], [%2], %3;" ::"r"(to),
      "l"(&from.map), "r"(barrier), "h"(multicast_mask), "r"(from.x), "r"(from.y()),
      "r"(kRaggedExtent), "r"(from.end)
      : "memory");
}
// cp.async.bulk.prefetch.tensor: brings a box to the L2 cache.
__device__ __forceinline__ void tma_prefetch(const TensorBox& from) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %2, %3}];" ::"l"(&from.map),
               "r"(from.x), "r"(from.y), "r"(from.z)
               : "memory");
}
// cp.async.bulk.tensor: copies a box from shared memory.
__device__ __forceinline__ void tma_store(const TensorBox& to, unsigned from,
                                          const CacheHint& hint) {
  if (hint.priority == EvictionPriority::kFirst) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group.L2::cache_hint "
        "[%0, {%2, %3, %4}], [%1], %5;" ::"l"(&to.map),
        "r"(from), "r"(to.x), "r"(to.y), "r"(to.z), "l"(hint.policy)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
            &to.map),
        "r"(from), "r"(to.x), "r"(to.y), "r"(to.z)
        : "memory");
  }
}

// The same for a box of a ragged matrix, without a priority.
__device__ __forceinline__ void tma_store(const RaggedBox& to, unsigned from, const CacheHint&) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group "
      "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(&to.map),
      "r"(from), "r"(to.x), "r"(to.y()), "r"(kRaggedExtent), "r"(to.end)
      : "memory");
}

// fence.proxy.async: makes this thread's earlier writes to shared memory visible to TMA copies and
// wgmma that start later.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// cp.async.bulk.commit_group: makes a group of the stores that this thread has started since its
// last group. wait_group.read: waits until all but the latest `pending` (0 or 1) groups have been
// read from shared memory.
__device__ __forceinline__ void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void tma_store_wait_read(int pending) {
  if (pending == 0) {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  } else {
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
  }
}

// prefetch.tensormap
__device__ __forceinline__ void prefetch_tensor_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
