#include "runtime/cuda/gpcs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "kernel_templates/cuda/words/gpc_shares.cuh"
#include "runtime/cuda/check.h"
#include "runtime/cuda/event.h"
#include "runtime/cuda/memory.h"

namespace tunedgemm::cuda {
namespace {

// In the driver's own language, since a device is opened without a compiler. Each block writes
// where it runs, and stays there for a while that differs from block to block, so that the clusters
// of later rounds are put together differently.
constexpr char kWhere[] = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry where(.param .u64 multiprocessors)
{
  .reg .pred %more;
  .reg .b32 %block, %sm, %round, %left;
  .reg .b64 %to, %offset;
  ld.param.u64 %to, [multiprocessors];
  cvta.to.global.u64 %to, %to;
  mov.u32 %block, %ctaid.x;
  mov.u32 %sm, %smid;
  mul.wide.u32 %offset, %block, 4;
  add.s64 %to, %to, %offset;
  st.global.u32 [%to], %sm;
  mul.lo.u32 %round, %block, 2654435761;
  shr.u32 %left, %round, 30;
  add.u32 %left, %left, 2;
again:
  nanosleep.u32 2000;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %more, %left, 0;
  @%more bra again;
  ret;
}
)";

constexpr int kFirstArch = 90;  // with clusters
constexpr double kLimitSeconds = 5;

// The kernel above, loaded. Its launches take so much shared memory that a multiprocessor runs one
// block at a time.
class Where {
 public:
  Where(const PrimaryContext& context, CUstream stream, const DeviceLimits& limits)
      : context_(context),
        driver_(context.driver()),
        stream_(stream),
        blocks_(limits.sm_count * kRounds),
        shared_bytes_(static_cast<unsigned>(limits.shared_bytes_per_block)),
        places_(context, std::int64_t{4} * blocks_) {
    TUNEDGEMM_CHECK(driver_, cuModuleLoadData(&module_, kWhere), "a kernel in PTX");
  }
  ~Where() { driver_.cuModuleUnload(module_); }
  Where(const Where&) = delete;
  Where& operator=(const Where&) = delete;

  // Adds the clusters of one launch; none if the device has no clusters of this size.
  void launch(int size, std::vector<std::vector<int>>& clusters) {
    const int count = blocks_ / size;
    CUfunction function = nullptr;
    TUNEDGEMM_CHECK(driver_, cuModuleGetFunction(&function, module_, "where"), "a kernel in PTX");
    TUNEDGEMM_CHECK(driver_,
                    cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       static_cast<int>(shared_bytes_)),
                    "its shared memory");
    TUNEDGEMM_CHECK(
        driver_,
        cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
        "its clusters");
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {static_cast<unsigned>(size), 1, 1};
    const CUlaunchConfig config{.gridDimX = static_cast<unsigned>(count * size),
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 1,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = shared_bytes_,
                                .hStream = stream_,
                                .attrs = &cluster,
                                .numAttrs = 1};
    void* to = places_.data();
    void* parameters[] = {&to};
    if (driver_.cuLaunchKernelEx(&config, function, parameters, nullptr) != CUDA_SUCCESS) {
      return;
    }
    std::vector<int> places(static_cast<std::size_t>(count * size));
    TUNEDGEMM_CHECK(driver_,
                    cuMemcpyDtoHAsync(places.data(), to_device_pointer(to),
                                      places.size() * sizeof(int), stream_),
                    "where blocks ran");
    Event end(context_);
    end.record(stream_);
    if (!end.wait(kLimitSeconds)) {
      throw DeviceError(DeviceError::Kind::kFailed, "the device is busy");
    }
    for (auto first = places.begin(); first != places.end(); first += size) {
      clusters.emplace_back(first, first + size);
    }
  }

 private:
  static constexpr int kRounds = 4;

  const PrimaryContext& context_;
  const Driver& driver_;
  CUstream stream_;
  int blocks_;
  unsigned shared_bytes_;
  Memory places_;
  CUmodule module_ = nullptr;
};

}  // namespace

std::vector<int> find_gpcs(const PrimaryContext& context, CUstream stream,
                           const DeviceLimits& limits) noexcept {
  if (limits.arch < kFirstArch) {
    return {};
  }
  try {
    const Active active(context);
    Where where(context, stream, limits);
    std::vector<std::vector<int>> clusters;
    for (const int size : {16, 8, 4, 16, 8, 4, 8, 4, 1}) {
      where.launch(size, clusters);
    }
    return gpcs_from_clusters(clusters);
  } catch (const std::exception&) {
    return {};  // a kernel that would gain by it is not considered then
  }
}

std::vector<int> gpcs_from_clusters(std::span<const std::vector<int>> clusters) {
  int count = 0;
  for (const std::vector<int>& cluster : clusters) {
    for (const int sm : cluster) {
      if (sm < 0 || sm >= kMostSms) {
        return {};
      }
      count = std::max(count, sm + 1);
    }
  }
  // Of each multiprocessor a lower one of its GPC, until the lowest, which stands for all.
  std::vector<int> other(static_cast<std::size_t>(count));
  std::iota(other.begin(), other.end(), 0);
  const auto head = [&other](int sm) {
    while (other[static_cast<std::size_t>(sm)] != sm) {
      sm = other[static_cast<std::size_t>(sm)];
    }
    return sm;
  };
  for (const std::vector<int>& cluster : clusters) {
    for (const int sm : cluster) {
      const std::pair<int, int> ends = std::minmax({head(sm), head(cluster.front())});
      other[static_cast<std::size_t>(ends.second)] = ends.first;
    }
  }
  std::map<int, int> sizes;
  for (int sm = 0; sm < count; ++sm) {
    ++sizes[head(sm)];
  }
  std::map<int, int> number;  // of those with more than one
  for (const auto& [leader, size] : sizes) {
    if (size > 1) {
      number.emplace(leader, static_cast<int>(number.size()));
    }
  }
  if (number.empty() || number.size() > kMostGpcs) {
    return {};
  }
  const int smallest =
      std::min_element(number.begin(), number.end(), [&](const auto& a, const auto& b) {
        return sizes[a.first] < sizes[b.first];
      })->second;
  std::vector<int> gpcs(static_cast<std::size_t>(count));
  for (int sm = 0; sm < count; ++sm) {
    const auto found = number.find(head(sm));
    gpcs[static_cast<std::size_t>(sm)] = found == number.end() ? smallest : found->second;
  }
  return gpcs;
}

}  // namespace tunedgemm::cuda
