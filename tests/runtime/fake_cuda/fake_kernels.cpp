#include "tests/runtime/fake_cuda/fake_kernels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "kernel_templates/cuda/reference/tasks.cuh"
#include "kernel_templates/problem/data_type.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

constexpr std::int64_t kCounterBytes = 64 * 1024;  // as in common/split_k.cuh

// Of the launches of "where": SMs of two GPCs, with one cluster after the other on either.
constexpr unsigned kSmsOfGpc = 4, kGpcs = 2;

int number(const Image& image, const char* define) {
  const auto found = image.defines.find(define);
  return found == image.defines.end() ? 0 : std::atoi(found->second.c_str());
}

const ElementFormat& format(const Image& image, const char* define) {
  const std::string& name = image.defines.at(define);
  return std::find_if(std::begin(kDataTypes), std::end(kDataTypes),
                      [&](const DataTypeTraits& type) { return type.name == name; })
      ->format;
}

// To the nearest of a float of 16 bits or less.
double rounded(const ElementFormat& type, double x) {
  if (type.exponent_bits == 0) {
    return std::nearbyint(x);
  }
  if (type.bits > 16 || x == 0 || !std::isfinite(x)) {
    return x;
  }
  const int least = 2 - (1 << (type.exponent_bits - 1));
  const int shift = type.mantissa_bits - std::max(std::ilogb(x), least);
  return std::ldexp(std::nearbyint(std::ldexp(x, shift)), -shift);
}

void store(const ElementFormat& type, void* matrix, long long offset, double x) {
  reference::store(type, matrix, offset, rounded(type, x));
}

class Product {
 public:
  Product(const Image& image, const Arguments& arguments)
      : arguments_(arguments),
        a_(format(image, "TYPE_A")),
        b_(format(image, "TYPE_B")),
        d_(format(image, "TYPE_D")),
        a_by_columns_(number(image, "ORDER_A") != 0),
        b_by_columns_(number(image, "ORDER_B") != 0),
        d_by_columns_(number(image, "SWAP_AB") != 0),
        reads_c_(number(image, "READ_C") != 0),
        bias_(number(image, "BIAS")),
        activation_(static_cast<Activation>(number(image, "ACTIVATION"))) {}

  void compute() const {
    for (long long entry = 0; entry < arguments_.batch; ++entry) {
      for (long long m = 0; m < arguments_.m; ++m) {
        for (long long n = 0; n < arguments_.n; ++n) {
          store(d_, arguments_.d, offset_d(entry, m, n), element(entry, m, n));
        }
      }
    }
  }

  std::vector<Touched> touched() const {
    const Arguments& x = arguments_;
    const long long entry = x.batch - 1, m = x.m - 1, n = x.n - 1, k = x.k - 1;
    const auto until = [](const char* name, const ElementFormat& type, const void* pointer,
                          long long last) {
      return Touched{name, pointer, (last + 1) * type.bits / 8};
    };
    std::vector<Touched> all{until("D", d_, x.d, offset_d(entry, m, n))};
    if (x.k > 0 && x.alpha != 0) {
      all.push_back(until("A", a_, x.a, offset_a(entry, m, k)));
      all.push_back(until("B", b_, x.b, offset_b(entry, k, n)));
    }
    if (reads_c_) {
      all.push_back(until("C", d_, x.c, offset_c(entry, m, n)));
    }
    if (bias_ != 0) {
      all.push_back(until("the bias", d_, x.bias, bias_ == 1 ? m : n));
    }
    return all;
  }

 private:
  long long offset_a(long long entry, long long m, long long k) const {
    return entry * arguments_.batch_stride_a +
           (a_by_columns_ ? k * arguments_.lda + m : m * arguments_.lda + k);
  }
  long long offset_b(long long entry, long long k, long long n) const {
    return entry * arguments_.batch_stride_b +
           (b_by_columns_ ? n * arguments_.ldb + k : k * arguments_.ldb + n);
  }
  long long offset_c(long long entry, long long m, long long n) const {
    return entry * arguments_.batch_stride_c + m * arguments_.c_stride_m +
           n * arguments_.c_stride_n;
  }
  long long offset_d(long long entry, long long m, long long n) const {
    return entry * arguments_.batch_stride_d +
           (d_by_columns_ ? n * arguments_.ldd + m : m * arguments_.ldd + n);
  }

  double element(long long entry, long long m, long long n) const {
    const Arguments& x = arguments_;
    double sum = 0;
    for (long long k = 0; k < x.k && x.alpha != 0; ++k) {
      sum += reference::load(a_, x.a, offset_a(entry, m, k)) *
             reference::load(b_, x.b, offset_b(entry, k, n));
    }
    double result = x.alpha * sum;
    result *= (x.scale_a != nullptr ? *x.scale_a : 1) * (x.scale_b != nullptr ? *x.scale_b : 1);
    if (reads_c_) {
      result += x.beta * reference::load(d_, x.c, offset_c(entry, m, n));
    }
    if (bias_ != 0) {
      result += reference::load(d_, x.bias, bias_ == 1 ? m : n);
    }
    return reference::activated(activation_, result, static_cast<double>(x.slope));
  }

  const Arguments& arguments_;
  const ElementFormat &a_, &b_, &d_;
  bool a_by_columns_, b_by_columns_, d_by_columns_, reads_c_;
  int bias_;
  Activation activation_;
};

// As the blocks that share a tile do: the counters are zero before and after, and nobody else has
// the workspace meanwhile.
std::string compute_product(const Image& image, const Arguments& arguments) {
  std::atomic<unsigned>* const counter = static_cast<std::atomic<unsigned>*>(arguments.workspace);
  if (counter != nullptr && counter->exchange(1) != 0) {
    return "the counters of a workspace are not zero: it was not cleared, or another launch uses "
           "it";
  }
  Product(image, arguments).compute();
  if (counter != nullptr) {
    counter->store(0);
  }
  return "";
}

void fill(const reference::FillTask& task) {
  for (long long batch = 0; batch < task.batch; ++batch) {
    for (long long row = 0; row < task.rows; ++row) {
      for (long long column = 0; column < task.columns; ++column) {
        const long long offset = reference::offset_of(task.strides, batch, row, column);
        for (long long copy = 0; copy < task.copies; ++copy) {
          reference::store(
              task.format, static_cast<char*>(task.matrix) + copy * task.copy_bytes, offset,
              reference::random_value(task.format, task.distribution, task.seed, offset));
        }
      }
    }
  }
}

void compute_reference(const reference::GemmTask& task) {
  for (long long row = 0; row < task.sampling.rows; ++row) {
    for (long long column = 0; column < task.sampling.columns; ++column) {
      const auto [batch, m, n] = reference::sampled_element(task.sampling, task.m, row, column);
      double sum = 0;
      for (long long k = 0; k < task.k; ++k) {
        sum += reference::input_value(task.a, reference::offset_of(task.a.strides, batch, m, k)) *
               reference::input_value(task.b, reference::offset_of(task.b.strides, batch, k, n));
      }
      task.expected[row * task.sampling.columns + column] =
          reference::expected_value(task, sum, batch, m, n);
    }
  }
}

void compare(const reference::CompareTask& task) {
  double worst = 0;
  for (long long row = 0; row < task.batch * task.m; ++row) {
    const reference::ComparedRow compared = reference::compared_row(task, row);
    for (long long n = 0; n < task.n; ++n) {
      const double error = reference::relative_error(task, compared, n);
      worst = std::max(worst, error);
      if (!(error <= 1)) {
        ++task.result->wrong;
        task.result->first_wrong =
            std::min(task.result->first_wrong, static_cast<reference::u64>(row * task.n + n));
      }
    }
  }
  std::memcpy(&task.result->worst, &worst, sizeof worst);
}

void erase(const reference::EraseTask& task) {
  for (long long row = 0; row < task.batch * task.m; ++row) {
    for (long long n = 0; n < task.n; ++n) {
      const long long offset =
          reference::offset_of(task.strides, row / task.m, row % task.m, n) * task.element_bytes;
      std::memset(static_cast<char*>(task.d) + offset, 0xff,
                  static_cast<std::size_t>(task.element_bytes));
    }
  }
}

void find_out_of_bounds_writes(const reference::OutOfBoundsTask& task) {
  for (long long index = 0; index < task.count; ++index) {
    if (task.begin[index] != ~reference::u64{0}) {
      ++task.found[0];
      task.found[1] = std::min(task.found[1], static_cast<reference::u64>(index));
    }
  }
}

void read_clocks(const reference::ClockTask& task) {
  static std::atomic<reference::u64> now{1};
  for (unsigned sm = 0; sm < task.sm_count; ++sm) {
    const reference::u64 microseconds = now++;
    task.readings[sm] = {microseconds * 1000, microseconds * 1500};
  }
}

void tell_where(int* sm_of_block, const LaunchArguments& launch) {
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
    for (const char* entry : {"where", "count_up"}) {
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
  std::vector<Touched> all = Product(image, arguments).touched();
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
      {"tunedgemm_fill_random", [&] { fill(task_of<reference::FillTask>(launch)); }},
      {"tunedgemm_gemm", [&] { compute_reference(task_of<reference::GemmTask>(launch)); }},
      {"tunedgemm_compare", [&] { compare(task_of<reference::CompareTask>(launch)); }},
      {"tunedgemm_erase", [&] { erase(task_of<reference::EraseTask>(launch)); }},
      {"tunedgemm_find_out_of_bounds_writes",
       [&] { find_out_of_bounds_writes(task_of<reference::OutOfBoundsTask>(launch)); }},
      {"tunedgemm_read_clocks", [&] { read_clocks(task_of<reference::ClockTask>(launch)); }},
      {"where", [&] { tell_where(launch.pointer, launch); }},
      {"count_up",
       [&] {
         for (unsigned index = 0; index < launch.blocks * launch.threads; ++index) {
           ++launch.pointer[index];
         }
       }},
  };
  const auto found = kernels.find(image.entry);
  if (found == kernels.end()) {
    return "nobody knows what " + image.entry + " computes";
  }
  found->second();
  return "";
}

}  // namespace tunedgemm::internal::fake_cuda
