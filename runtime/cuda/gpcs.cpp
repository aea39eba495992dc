#include "runtime/cuda/gpcs.h"

#include <algorithm>
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

// The kernel is PTX, because NVRTC may be missing. Each CTA stores the number of its SM and then
// sleeps. The length of the sleep differs between CTAs, so that the clusters of later waves consist
// of other SMs.
constexpr char kSmProbe[] = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry sm_probe(.param .u64 sms)
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

constexpr int kArch = 90;  // the only architecture whose kernels use GPCs
constexpr int kClusterSizes[] = {16, 8, 4, 16, 8, 4, 8, 4, 1};
constexpr int kWaves = 4;
constexpr double kLimitSeconds = 5;

// Loads and runs the kernel above. A launch requests all shared memory, so that an SM runs one CTA
// at a time.
class SmProbe {
 public:
  SmProbe(const PrimaryContext& context, CUstream stream, const DeviceLimits& limits)
      : context_(context),
        driver_(context.driver()),
        stream_(stream),
        ctas_(limits.sm_count * kWaves),
        shared_bytes_(static_cast<std::uint32_t>(limits.shared_bytes_per_block)),
        sm_of_cta_(context, std::int64_t{sizeof(int)} * ctas_ * std::ssize(kClusterSizes)),
        module_(context, kSmProbe, "sm_probe", shared_bytes_, "a kernel in PTX") {
    constexpr auto kLarge = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    TUNEDGEMM_CHECK(driver_, cuFuncSetAttribute(module_.function(), kLarge, 1), "a kernel in PTX");
  }

  // Launches the kernel once for each cluster size. Skips sizes that the device refuses.
  void launch() {
    for (const int size : kClusterSizes) {
      void* to = static_cast<int*>(sm_of_cta_.data()) +
                 static_cast<std::ptrdiff_t>(launched_.size()) * ctas_;
      if (launch(size, to) == CUDA_SUCCESS) {
        launched_.push_back(size);
      }
    }
  }
  bool wait() const {
    Event all(context_);
    all.record(stream_);
    return all.wait(kLimitSeconds);
  }
  // Precondition: wait() has returned true.
  std::vector<std::vector<int>> clusters() const {
    std::vector<int> sm_of_cta(launched_.size() * static_cast<std::size_t>(ctas_));
    TUNEDGEMM_CHECK(driver_,
                    cuMemcpyDtoHAsync(sm_of_cta.data(), to_device_pointer(sm_of_cta_.data()),
                                      sm_of_cta.size() * sizeof(int), stream_),
                    "the SMs of the probe");
    TUNEDGEMM_CHECK(driver_, cuStreamSynchronize(stream_), "the SMs of the probe");
    std::vector<std::vector<int>> clusters;
    auto first = sm_of_cta.cbegin();
    for (const int size : launched_) {
      for (int cluster = 0; cluster < ctas_ / size; ++cluster) {
        clusters.emplace_back(first + cluster * size, first + (cluster + 1) * size);
      }
      first += ctas_;
    }
    return clusters;
  }

 private:
  CUresult launch(int size, void* to) const {
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {static_cast<unsigned>(size), 1, 1};
    const CUlaunchConfig config{.gridDimX = static_cast<unsigned>(ctas_ / size * size),
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
  int ctas_;  // per launch
  std::uint32_t shared_bytes_;
  Memory sm_of_cta_;
  Module module_;
  std::vector<int> launched_;  // cluster sizes
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
    auto probe = std::make_unique<SmProbe>(context, stream, limits);
    probe->launch();
    if (!probe->wait()) {
      // Unloading a running kernel would wait for it.
      static_cast<void>(probe.release());
      log_info("the GPU is busy, so its GPCs are unknown; no kernel will use them to place tiles");
      return {};
    }
    std::vector<int> gpcs = gpcs_from_clusters(probe->clusters());
    if (gpcs.empty()) {
      log_info(
          "the GPCs of the GPU cannot be derived from its clusters; no kernel will use them to "
          "place tiles");
    }
    return gpcs;
  } catch (const std::exception& error) {
    log_info(
        std::string("the GPCs of the GPU are unknown; no kernel will use them to place tiles: ") +
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
  // Union-find: the parent of an SM is a lower SM of the same GPC. The lowest SM is the root.
  std::vector<int> parent(static_cast<std::size_t>(count));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&parent](int sm) {
    while (parent[static_cast<std::size_t>(sm)] != sm) {
      sm = parent[static_cast<std::size_t>(sm)];
    }
    return sm;
  };
  for (const std::vector<int>& cluster : clusters) {
    for (const int sm : cluster) {
      const std::pair<int, int> roots = std::minmax({root(sm), root(cluster.front())});
      parent[static_cast<std::size_t>(roots.second)] = roots.first;
    }
  }
  std::map<int, int> sizes;
  for (int sm = 0; sm < count; ++sm) {
    ++sizes[root(sm)];
  }
  std::map<int, int> number;  // GPCs of more than one SM
  for (const auto& [lowest, size] : sizes) {
    if (size > 1) {
      number.emplace(lowest, static_cast<int>(number.size()));
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
    const auto found = number.find(root(sm));
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
    const int gpc = gpcs.emplace_back(whole_number<int>(part).value_or(-1));
    if (gpc < 0 || gpc >= kMostGpcs) {
      return {};
    }
  }
  const bool fits = std::ssize(gpcs) >= limits.sm_count && std::ssize(gpcs) <= kMostSms;
  return fits ? gpcs : std::vector<int>();
}

}  // namespace tunedgemm::internal::cuda
