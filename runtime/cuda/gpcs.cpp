#include "runtime/cuda/gpcs.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "kernel_templates/base/log.h"
#include "kernel_templates/base/text.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/module.h"
#include "runtime/cuda/stream.h"

namespace tunedgemm::internal::cuda {
namespace {

// In the driver's own language, since a cache is used without a compiler. Each block writes
// where it runs, and stays there for a while that differs from block to block, so that the clusters
// of later waves are put together differently.
constexpr char kWhere[] = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry where(.param .u64 sms)
{
  .reg .pred %more;
  .reg .b32 %block, %sm, %round, %left;
  .reg .b64 %to, %offset;
  ld.param.u64 %to, [sms];
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

constexpr int kArch = 90;  // the only one whose kernels ask
constexpr int kClusterSizes[] = {16, 8, 4, 16, 8, 4, 8, 4, 1};
constexpr int kWaves = 4;
constexpr double kLimitSeconds = 5;

// The kernel above, loaded. Its launches take so much shared memory that an SM runs one
// block at a time.
class Where {
 public:
  Where(const PrimaryContext& context, CUstream stream, const DeviceLimits& limits)
      : context_(context),
        driver_(context.driver()),
        stream_(stream),
        blocks_(limits.sm_count * kWaves),
        shared_bytes_(static_cast<std::uint32_t>(limits.shared_bytes_per_block)),
        sm_of_block_(context, std::int64_t{sizeof(int)} * blocks_ * std::ssize(kClusterSizes)),
        module_(context, kWhere, "where", shared_bytes_, "a kernel in PTX") {
    constexpr auto kLarge = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    TUNEDGEMM_CHECK(driver_, cuFuncSetAttribute(module_.function(), kLarge, 1), "a kernel in PTX");
  }

  // All launches, one after the other; of those that the device refuses nothing is seen.
  void launch() {
    for (const int size : kClusterSizes) {
      void* to = static_cast<int*>(sm_of_block_.data()) +
                 static_cast<std::ptrdiff_t>(launched_.size()) * blocks_;
      if (launch(size, to) == CUDA_SUCCESS) {
        launched_.push_back(size);
      }
    }
  }
  bool end() const {
    Event all(context_);
    all.record(stream_);
    return all.wait(kLimitSeconds);
  }
  // Precondition: end().
  std::vector<std::vector<int>> clusters() const {
    std::vector<int> sm_of_block(launched_.size() * static_cast<std::size_t>(blocks_));
    TUNEDGEMM_CHECK(driver_,
                    cuMemcpyDtoHAsync(sm_of_block.data(), to_device_pointer(sm_of_block_.data()),
                                      sm_of_block.size() * sizeof(int), stream_),
                    "where blocks ran");
    TUNEDGEMM_CHECK(driver_, cuStreamSynchronize(stream_), "where blocks ran");
    std::vector<std::vector<int>> clusters;
    auto first = sm_of_block.cbegin();
    for (const int size : launched_) {
      for (int cluster = 0; cluster < blocks_ / size; ++cluster) {
        clusters.emplace_back(first + cluster * size, first + (cluster + 1) * size);
      }
      first += blocks_;
    }
    return clusters;
  }

 private:
  CUresult launch(int size, void* to) const {
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {static_cast<unsigned>(size), 1, 1};
    const CUlaunchConfig config{.gridDimX = static_cast<unsigned>(blocks_ / size * size),
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 1,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = shared_bytes_,
                                .hStream = stream_,
                                .attrs = &cluster,
                                .numAttrs = 1};
    void* parameters[] = {&to};
    return driver_.cuLaunchKernelEx(&config, module_.function(), parameters, nullptr);
  }

  const PrimaryContext& context_;
  const Driver& driver_;
  CUstream stream_;
  int blocks_;  // of a launch
  std::uint32_t shared_bytes_;
  Memory sm_of_block_;
  Module module_;
  std::vector<int> launched_;  // sizes of their clusters
};

}  // namespace

bool have_gpcs(const DeviceLimits& limits) {
  return limits.arch == kArch;
}

std::vector<int> find_gpcs(const PrimaryContext& context, CUstream stream,
                           const DeviceLimits& limits) noexcept {
  if (!have_gpcs(limits)) {
    return {};
  }
  try {
    const Active active(context);
    auto where = std::make_unique<Where>(context, stream, limits);
    where->launch();
    if (!where->end()) {
      // Unloading what still runs would wait for it.
      static_cast<void>(where.release());
      log_info("the GPU is busy, so its GPCs are not known; no kernel will place tiles by them");
      return {};
    }
    std::vector<int> gpcs = gpcs_from_clusters(where->clusters());
    if (gpcs.empty()) {
      log_info("the GPU's clusters do not tell its GPCs; no kernel will place tiles by them");
    }
    return gpcs;
  } catch (const std::exception& error) {
    log_info(std::string("the GPU's GPCs are not known; no kernel will place tiles by them: ") +
             error.what());
    return {};
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
  // Of each SM a lower one of its GPC, until the lowest, which stands for all.
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

std::string to_text(std::span<const int> gpc_of_sm) {
  std::string text;
  for (const int gpc : gpc_of_sm) {
    text += (text.empty() ? "" : ",") + std::to_string(gpc);
  }
  return text;
}

std::vector<int> parse_gpcs(std::string_view text, const DeviceLimits& limits) {
  std::vector<int> gpcs;
  for (const std::string_view part : split(text, ',')) {
    int& gpc = gpcs.emplace_back(-1);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), gpc);
    if (error != std::errc() || end != part.data() + part.size() || gpc < 0 || gpc >= kMostGpcs) {
      return {};
    }
  }
  const bool fits = std::ssize(gpcs) >= limits.sm_count && std::ssize(gpcs) <= kMostSms;
  return fits ? gpcs : std::vector<int>();
}

}  // namespace tunedgemm::internal::cuda
