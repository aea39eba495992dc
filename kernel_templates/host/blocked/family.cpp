#include <algorithm>

#include "kernel_templates/host/blocked/blocked.h"
#include "kernel_templates/host/families.h"

namespace tunedgemm::internal {
namespace {

blocked::Shape shape_of(const Problem& problem, const Config& config) {
  const DataType accumulators = accumulator(problem.a.type, problem.b.type);
  return {.vector_bytes = config.at("vector_bytes"),
          .tile_m = config.at("tile_m"),
          .vectors = config.at("tile_n"),
          .block_m = config.at("block_m"),
          .block_n = config.at("block_n"),
          .block_k = config.at("block_k"),
          .split_m = config.at("split_m"),
          .split_n = config.at("split_n"),
          .accumulator_bytes = static_cast<int>(size_bytes(accumulators))};
}

std::string why_not_shape(const BlockedShape& shape, const DeviceLimits& limits) {
  if (8 * shape.vector_bytes > limits.simd_bits) {
    return "vector_bytes=" + std::to_string(shape.vector_bytes) + " is more than the " +
           std::to_string(limits.simd_bits / 8) + " bytes of this CPU's registers";
  }
  if (shape.registers() > vector_registers(limits)) {
    return "tile_m and tile_n need " + std::to_string(shape.registers()) +
           " vector registers, and this CPU has " + std::to_string(vector_registers(limits));
  }
  if (shape.parts() > std::max(limits.threads, 1)) {
    return "split_m * split_n = " + std::to_string(shape.parts()) + " is more than the " +
           std::to_string(limits.threads) + " threads";
  }
  return "";
}

class Blocked final : public HostFamily {
 public:
  Blocked()
      : HostFamily(
            "blocked", "host/blocked/kernel.cc",
            {{"vector_bytes", {16, 32, 64}, "bytes of a SIMD register"},
             {"tile_m", {1, 2, 3, 4, 5, 6, 8, 12, 14, 16}, "rows of a register tile"},
             {"tile_n", {1, 2, 3, 4, 5, 6, 8}, "vectors in a row of a register tile"},
             {"block_m", {128, 256, 512, 1024}, "rows of a packed block of A", Knob::kTile},
             {"block_n", {1024, 4096}, "columns of a block of accumulators", Knob::kTile},
             {"block_k", {128, 256, 384, 512}, "depth of a packed block", Knob::kTile},
             {"split_m", {kBlockedSplits.begin(), kBlockedSplits.end()}, "parts of D along M"},
             {"split_n", {kBlockedSplits.begin(), kBlockedSplits.end()}, "parts of D along N"},
             {"prefetch",
              {0, 8},
              "rows of B prefetched while packing; not 0: also the next panel"}}) {}

  bool computes_groups() const override { return true; }

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const BlockedShape shape(problem, config);
    if (std::string why = why_not_shape(shape, limits); !why.empty()) {
      return why;
    }
    Instance instance = begin_instance(problem, config);
    instance.launch = launch_for(problem.batch * shape.parts(), limits);
    instance.launch.shared_bytes = static_cast<std::uint32_t>(shape.scratch_bytes());
    instance.predicted_us = blocked_us(problem, shape, limits);
    return instance;
  }

  /// The other families' loops are vectorized by the compiler, in whatever order it finds.
  AccumulationClass accumulation_class(const Problem&, const DeviceLimits&) const override {
    return AccumulationClass::kInOrder;
  }

 protected:
  std::vector<Config> search_space(const Problem& problem,
                                   const DeviceLimits& limits) const override {
    return blocked_candidates(problem, limits);
  }
};

}  // namespace

BlockedShape::BlockedShape(const Problem& problem, const Config& config)
    : Shape(shape_of(problem, config)), prefetch(config.at("prefetch")) {}

int vector_registers(const DeviceLimits& limits) {
  return limits.simd_bits >= 512 ? 32 : 16;
}

const Family& blocked_family() {
  static const Blocked family;
  return family;
}

}  // namespace tunedgemm::internal
