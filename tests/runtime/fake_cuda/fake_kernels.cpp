#include "tests/runtime/fake_cuda/fake_kernels.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <string_view>

#include "kernel_templates/cuda/reference/tasks.cuh"
#include "kernel_templates/problem/problem.h"
#include "runtime/evaluation/verifier.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

constexpr std::int64_t kCounterBytes = 64 * 1024;  // as in common/split_k.cuh

// Launches of "sm_probe" see the SMs of two GPCs; clusters are placed alternately on each GPC.
constexpr unsigned kSmsOfGpc = 4, kGpcs = 2;

int number(const Image& image, const char* define) {
  const auto found = image.defines.find(define);
  return found == image.defines.end() ? 0 : std::atoi(found->second.c_str());
}

// Empty for the products that the fake computes: f32, with a bias and relu.
std::string why_not_product(const Image& image) {
  for (const char* type : {"TYPE_A", "TYPE_B", "TYPE_D"}) {
    if (image.defines.at(type) != "f32") {
      return "the fake multiplies f32 only";
    }
  }
  if (number(image, "SWAP_AB") != 0) {
    return "the fake has no SWAP_AB";
  }
  const int activation = number(image, "ACTIVATION");
  return activation == 0 || activation == static_cast<int>(Activation::kRelu)
             ? ""
             : "the fake has no activation but relu";
}

void multiply(const Image& image, const Arguments& x) {
  const bool is_a_column_major = number(image, "ORDER_A") != 0;
  const bool is_b_column_major = number(image, "ORDER_B") != 0;
  const bool reads_c = number(image, "READ_C") != 0, has_relu = number(image, "ACTIVATION") != 0;
  const auto bias_kind = static_cast<Bias>(number(image, "BIAS"));
  const auto *a = static_cast<const float*>(x.a), *b = static_cast<const float*>(x.b);
  const auto *c = static_cast<const float*>(x.c), *bias = static_cast<const float*>(x.bias);
  auto* const d = static_cast<float*>(x.d);
  const double scale = x.alpha * static_cast<double>(x.scale_a != nullptr ? *x.scale_a : 1) *
                       static_cast<double>(x.scale_b != nullptr ? *x.scale_b : 1);
  for (long long batch = 0; batch < x.batch; ++batch) {
    for (long long m = 0; m < x.m; ++m) {
      for (long long n = 0; n < x.n; ++n) {
        double sum = 0;
        for (long long k = 0; k < x.k; ++k) {
          const long long of_a = is_a_column_major ? k * x.lda + m : m * x.lda + k;
          const long long of_b = is_b_column_major ? n * x.ldb + k : k * x.ldb + n;
          sum += static_cast<double>(a[batch * x.batch_stride_a + of_a]) *
                 static_cast<double>(b[batch * x.batch_stride_b + of_b]);
        }
        sum *= scale;
        if (reads_c) {
          sum += x.beta * static_cast<double>(
                              c[batch * x.batch_stride_c + m * x.c_stride_m + n * x.c_stride_n]);
        }
        if (bias_kind != Bias::kNone) {
          sum += static_cast<double>(bias[bias_kind == Bias::kPerRow ? m : n]);
        }
        d[batch * x.batch_stride_d + m * x.ldd + n] =
            static_cast<float>(has_relu && sum < 0 ? 0 : sum);
      }
    }
  }
}

// Computes D and checks the rules for workspaces: the counters are zero before and after the
// launch, and no other launch uses the workspace meanwhile.
std::string compute_product(const Image& image, const Arguments& arguments) {
  if (std::string why_not = why_not_product(image); !why_not.empty()) {
    return why_not;
  }
  std::atomic<unsigned>* const counter = static_cast<std::atomic<unsigned>*>(arguments.workspace);
  if (counter != nullptr && counter->exchange(1) != 0) {
    return "the counters of a workspace are not zero: it was not cleared, or another launch uses "
           "it";
  }
  multiply(image, arguments);
  if (counter != nullptr) {
    counter->store(0);
  }
  return "";
}

void find_out_of_bounds_writes(const reference::OutOfBoundsTask& task) {
  const OutOfBoundsWrites found = make_host_verifier(1)->find_out_of_bounds_writes(task);
  if (found.count > 0) {
    task.found[0] += static_cast<reference::u64>(found.count);
    task.found[1] = static_cast<reference::u64>(found.first_byte) / sizeof(reference::u64);
  }
}

void read_clocks(const reference::ClockTask& task) {
  static std::atomic<reference::u64> now{1};
  for (unsigned sm = 0; sm < task.sm_count; ++sm) {
    const reference::u64 microseconds = now++;
    task.readings[sm] = {microseconds * 1000, microseconds * 1500};
  }
}

void report_sms(int* sm_of_block, const LaunchArguments& launch) {
  for (unsigned block = 0; block < launch.blocks; ++block) {
    const unsigned gpc = block / launch.cluster % kGpcs;
    const unsigned sm = block % launch.cluster % kSmsOfGpc;
    sm_of_block[block] = static_cast<int>(gpc * kSmsOfGpc + sm);
  }
}

template <class Task>
const Task& task_of(const LaunchArguments& launch) {
  return *static_cast<const Task*>(launch.arguments.workspace);
}

}  // namespace

Image read_image(const char* text) {
  constexpr std::string_view kElf =
      "\x7f"
      "ELF";
  Image image;
  if (std::string_view(text).substr(0, kElf.size()) != kElf) {
    for (const char* entry : {"sm_probe", "count_up"}) {
      if (std::strstr(text, (std::string(".entry ") + entry).c_str()) != nullptr) {
        image.entry = entry;
      }
    }
    return image;
  }
  std::istringstream lines(text + kElf.size());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, name, value;
    words >> kind >> name >> value;
    if (kind == "entry") {
      image.entry = name;
    } else if (kind == "architecture") {
      image.architecture = name;
    } else if (kind == "define") {
      image.defines[name] = value;
    }
  }
  return image;
}

std::vector<Touched> touched_by(const Image& image, const LaunchArguments& launch) {
  const Arguments& arguments = launch.arguments;
  if (!image.is_product()) {
    return {{"its argument", image.is_ptx() ? launch.pointer : arguments.workspace, 1}};
  }
  const auto floats = [](long long count) { return count * std::int64_t{sizeof(float)}; };
  const Arguments& x = arguments;
  const auto span = [&](const char* order, long long rows, long long columns, long long stride,
                        long long batch_stride) {
    const bool is_column_major = order != nullptr && number(image, order) != 0;
    return floats((x.batch - 1) * batch_stride + (is_column_major ? (columns - 1) * stride + rows
                                                                  : (rows - 1) * stride + columns));
  };
  std::vector<Touched> all{{"A", x.a, span("ORDER_A", x.m, x.k, x.lda, x.batch_stride_a)},
                           {"B", x.b, span("ORDER_B", x.k, x.n, x.ldb, x.batch_stride_b)},
                           {"D", x.d, span(nullptr, x.m, x.n, x.ldd, x.batch_stride_d)}};
  if (arguments.workspace != nullptr || number(image, "SPLIT_K") > 1) {
    all.push_back({"the workspace", arguments.workspace, kCounterBytes});
  }
  return all;
}

std::string compute(const Image& image, const LaunchArguments& launch) {
  if (image.is_product()) {
    return compute_product(image, launch.arguments);
  }
  const std::map<std::string_view, std::function<void()>> kernels{
      {"tunedgemm_fill_random",
       [&] { make_host_verifier(1)->fill(task_of<reference::FillTask>(launch)); }},
      {"tunedgemm_gemm",
       [&] { make_host_verifier(1)->compute(task_of<reference::GemmTask>(launch)); }},
      {"tunedgemm_compare",
       [&] {
         const auto& task = task_of<reference::CompareTask>(launch);
         *task.result = make_host_verifier(1)->compare(task);
       }},
      {"tunedgemm_erase",
       [&] { make_host_verifier(1)->erase(task_of<reference::EraseTask>(launch)); }},
      {"tunedgemm_find_out_of_bounds_writes",
       [&] { find_out_of_bounds_writes(task_of<reference::OutOfBoundsTask>(launch)); }},
      {"tunedgemm_read_clocks", [&] { read_clocks(task_of<reference::ClockTask>(launch)); }},
      {"sm_probe", [&] { report_sms(launch.pointer, launch); }},
      {"count_up",
       [&] {
         for (unsigned index = 0; index < launch.blocks * launch.threads; ++index) {
           ++launch.pointer[index];
         }
       }},
  };
  const auto found = kernels.find(image.entry);
  if (found == kernels.end()) {
    return "the fake does not know the kernel " + image.entry;
  }
  found->second();
  return "";
}

}  // namespace tunedgemm::internal::fake_cuda
