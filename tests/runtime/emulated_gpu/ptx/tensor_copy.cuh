// A copy reads and writes at a random later time; a store, at the latest when its thread waits for
// it.
#pragma once

#include "mbarrier.cuh"

struct alignas(64) TensorMap {
  emulation::EncodedTensorMap encoded;
};
static_assert(sizeof(TensorMap) == 128);
struct TensorBox {
  const TensorMap& map;
  int x, y, z;
};
constexpr int kRaggedExtent = 1 << 30;
struct RaggedBox {
  const TensorMap& map;
  int x, line, end;
};
constexpr int swizzled(int offset, int span) {
  return offset ^ (offset >> 3 & (span - 16));
}
enum class EvictionPriority { kNormal, kFirst };
struct CacheHint {
  EvictionPriority priority;
  unsigned long long policy = 0;
};
inline CacheHint make_cache_hint(EvictionPriority priority) {
  return {priority};
}

/// The lines of a box. Those of a ragged matrix end before `end`.
struct BoxCopy {
  emulation::EncodedTensorMap map;
  int x, line, z, end;

  explicit BoxCopy(const TensorBox& box)
      : map(box.map.encoded), x(box.x), line(box.y), z(box.z), end(0x7fffffff) {}
  explicit BoxCopy(const RaggedBox& box)
      : map(box.map.encoded), x(box.x), line(box.line), z(0), end(box.end) {}

  int bytes() const { return map.span * map.box[1]; }

  template <class Function>
  void for_each_element(unsigned shared, const Function& function) const {
    for (int y = 0; y < map.box[1]; ++y) {
      for (int i = 0; i < map.box[0]; ++i) {
        const long long at_x = x + i, at_y = line + y;
        const bool is_inside = at_x >= 0 && at_x < map.extent[0] && at_y >= 0 &&
                               at_y < map.extent[1] && at_y < end && z < map.extent[2];
        char* const from = map.base + at_x * map.element_bytes + at_y * map.stride_bytes[0] +
                           z * map.stride_bytes[1];
        const unsigned to = shared + static_cast<unsigned>(y * map.span + i * map.element_bytes);
        function(static_cast<unsigned>(swizzled(static_cast<int>(to), map.span)),
                 is_inside ? from : nullptr);
      }
    }
  }
  void load(unsigned to) const {
    for_each_element(to, [this](unsigned address, const char* from) {
      char* const element = emulation::pointer_to(address, map.element_bytes);
      if (from == nullptr) {
        std::memset(element, 0, static_cast<std::size_t>(map.element_bytes));
      } else {
        std::memcpy(element, from, static_cast<std::size_t>(map.element_bytes));
      }
    });
  }
  void store(unsigned from) const {
    for_each_element(from, [this](unsigned address, char* to) {
      if (to != nullptr) {
        std::memcpy(to, emulation::pointer_to(address, map.element_bytes),
                    static_cast<std::size_t>(map.element_bytes));
      }
    });
  }
};

template <class Box>
void tma_load_multicast(unsigned to, const Box& from, unsigned barrier, unsigned short mask,
                        const CacheHint&) {
  const BoxCopy copy(from);
  for (int rank = 0; rank < 16; ++rank) {
    if ((mask >> rank & 1) != 0) {
      emulation::machine->in_flight.push_back([=] {
        copy.load(address_in_cta(to, rank));
        complete_tx(address_in_cta(barrier, rank), copy.bytes());
      });
    }
  }
}
template <class Box>
void tma_load(unsigned to, const Box& from, unsigned barrier, const CacheHint& hint) {
  tma_load_multicast(to, from, barrier,
                     static_cast<unsigned short>(1 << (to >> emulation::kRankShift)), hint);
}
inline void tma_prefetch(const TensorBox&) {}
template <class Box>
void tma_store(const Box& to, unsigned from, const CacheHint&) {
  emulation::self().stores.push_back([copy = BoxCopy(to), from] { copy.store(from); });
}
inline void fence_async_proxy() {}
inline void tma_store_commit() {
  emulation::Fiber& fiber = emulation::self();
  fiber.store_groups.push_back(std::move(fiber.stores));
  fiber.stores.clear();
}
inline void tma_store_wait_read(int pending) {
  emulation::execute_groups(emulation::self().store_groups, pending);
}
inline void prefetch_tensor_map(const TensorMap&) {}
