// Compares the bits of rows of D over families, configs, M and the rows' positions: kernels of one
// accumulation class must agree. The inputs are hard: their exponents differ widely, and half of
// the products cancel each other.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "kernel_templates/base/sha256.h"
#include "kernel_templates/cuda/reference/element.cuh"
#include "kernel_templates/problem/problem_grammar.h"
#include "tests/runtime/support/gemm_cases.h"
#include "tests/runtime/support/in_parallel.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

constexpr std::int64_t kN = 136, kK = 1200, kRows = 8;
constexpr std::int64_t kSizesOfM[] = {1, 5, 64, 200};
constexpr std::uint64_t kData = 20261128;  // of the inputs, which are the same in every run

double hard_value(const DataTypeTraits& type, std::int64_t row, std::int64_t k,
                  std::uint64_t seed) {
  const bool cancels = k % 4 == 3 && seed == kData;  // the negative of an A two steps before
  const std::int64_t at = row * kK + (cancels ? k - 2 : k);
  const double value = reference::random_value(type.format, reference::kUniform, seed, at);
  // The smallest value of the type limits the exponents.
  const int exponents = type.format.bits == 64           ? 40
                        : type.format.exponent_bits >= 8 ? 20
                        : type.format.exponent_bits == 5 ? 9
                                                         : 5;
  const auto bits = reference::scramble(seed ^ static_cast<std::uint64_t>(at));
  const double scaled = reference::is_integer(type.format)
                            ? value
                            : std::ldexp(value, -static_cast<int>(bits % exponents));
  return cancels && scaled > -128 ? -scaled : scaled;
}

// A matrix in the memory of the device.
std::unique_ptr<DeviceMemory> matrix_of(Device& device, const Matrix& matrix, std::int64_t rows,
                                        std::int64_t columns, const auto& value) {
  const bool by_rows = matrix.order == Order::kRowMajor;
  const std::int64_t bytes = size_bytes(matrix.type);
  std::vector<std::byte> host(
      static_cast<std::size_t>(bytes * matrix.leading_dimension * (by_rows ? rows : columns)));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t ld = matrix.leading_dimension;
      reference::store(traits(matrix.type).format, host.data(),
                       by_rows ? row * ld + column : column * ld + row, value(row, column));
    }
  }
  auto memory = device.allocate(static_cast<std::int64_t>(host.size()));
  device.copy_to_device(memory->data(), host.data(), static_cast<std::int64_t>(host.size()));
  return memory;
}

// A problem without M, and the places of the hard rows for each M.
struct Drawn {
  Problem problem;
  std::map<std::int64_t, std::vector<std::int64_t>> places;  // by M: the row of D of each hard row
};

Drawn draw(const TypeCase& types, Random& random) {
  Drawn drawn;
  Problem& problem = drawn.problem = default_problem();
  problem.n = kN, problem.k = kK;
  problem.a.type = types.a, problem.b.type = types.b, problem.numerics = types.numerics;
  problem.c.type = problem.d.type = types.d;
  const auto order = [&] { return random() % 2 == 0 ? Order::kRowMajor : Order::kColumnMajor; };
  problem.a.order = order(), problem.b.order = order();
  for (const std::int64_t m : kSizesOfM) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(m));
    for (std::int64_t row = 0; row < m; ++row) {
      all[static_cast<std::size_t>(row)] = row;
    }
    std::shuffle(all.begin(), all.end(), random);
    all.resize(static_cast<std::size_t>(std::min(m, kRows)));
    drawn.places[m] = all;
  }
  return drawn;
}

// With M, and rows that are aligned or not.
Problem with_m(const Drawn& drawn, std::int64_t m, bool is_aligned) {
  Problem problem = drawn.problem;
  problem.m = m;
  if (!is_aligned) {
    problem.a.leading_dimension = (problem.a.order == Order::kRowMajor ? kK : m) + 1;
    problem.b.leading_dimension = (problem.b.order == Order::kRowMajor ? kN : kK) + 1;
  }
  return canonical(completed(problem));
}

// The bits of the hard rows of D, in their order.
std::vector<std::string> bits_of_rows(Device& device, const CompiledKernel& kernel,
                                      const Instance& instance,
                                      const std::vector<std::int64_t>& places) {
  const Problem& problem = instance.problem;
  const auto a = matrix_of(device, problem.a, problem.m, kK, [&](std::int64_t row, std::int64_t k) {
    const auto place = std::find(places.begin(), places.end(), row);
    return place == places.end()
               ? hard_value(traits(problem.a.type), row, k, kData + 2)
               : hard_value(traits(problem.a.type), place - places.begin(), k, kData);
  });
  const auto b = matrix_of(device, problem.b, kK, kN, [&](std::int64_t k, std::int64_t column) {
    return hard_value(traits(problem.b.type), column, k - (k % 4 == 3 ? 2 : 0), kData + 1);
  });
  const std::int64_t bytes = size_bytes(problem.d.type) * kN;
  const auto d = device.allocate(bytes * problem.m);
  const auto workspace =
      device.allocate(std::max<std::int64_t>(instance.launch.workspace_bytes, 1));
  device.set_bytes(d->data(), 0xff, bytes * problem.m);
  device.set_bytes(workspace->data(), 0, workspace->size_bytes());
  Arguments arguments = arguments_of(problem);
  arguments.a = a->data(), arguments.b = b->data();
  arguments.c = arguments.d = d->data();
  arguments.workspace = workspace->data();
  const int error = kernel.run(instance.launch, arguments, device.own_stream());
  if (error != 0) {
    throw std::runtime_error(device.describe(error));
  }
  std::string all(static_cast<std::size_t>(bytes * problem.m), '\0');
  device.copy_to_host(all.data(), d->data(), static_cast<std::int64_t>(all.size()));
  for (std::int64_t at = 0; at < problem.m * kN; ++at) {  // NaN: poison, or a product with poison
    if (std::isnan(reference::load(traits(problem.d.type).format, all.data(), at))) {
      throw std::runtime_error("NaN in D: " + to_text(instance.candidate));
    }
  }
  std::vector<std::string> rows;
  for (const std::int64_t place : places) {
    rows.push_back(
        all.substr(static_cast<std::size_t>(place * bytes), static_cast<std::size_t>(bytes)));
  }
  return rows;
}

// A kernel of a class, with the launches of every M and alignment that it can run.
struct Case {
  TypeCase types;
  AccumulationClass accumulation_class{};
  Source source;
  std::vector<std::pair<Instance, std::vector<std::int64_t>>> launches;
};

std::vector<Case> cases_of(const TypeCase& types, const DeviceLimits& limits, int configs,
                           Random& random) {
  const Drawn drawn = draw(types, random);
  std::map<std::string, Case> cases;
  for (const Family* family : families(limits.backend)) {
    for (const bool is_aligned : {true, false}) {
      std::vector<Instance> considered;
      for (const std::int64_t m : kSizesOfM) {
        auto some = family->candidates(with_m(drawn, m, is_aligned), limits);
        considered.insert(considered.end(), some.begin(), some.end());
      }
      std::erase_if(considered, [&](const Instance& instance) {
        return accumulation_class(instance.candidate, instance.problem, limits) ==
               AccumulationClass::kNone;
      });
      std::shuffle(considered.begin(), considered.end(), random);
      considered.resize(std::min(considered.size(), static_cast<std::size_t>(configs)));
      for (const Instance& chosen : considered) {
        for (const auto& [m, places] : drawn.places) {
          const Problem problem = with_m(drawn, m, is_aligned);
          if (Instantiation made = instantiate(problem, chosen.candidate, limits)) {
            const Source source = made->source();
            Case& one = cases[fingerprint(source)];
            one.types = types;
            one.accumulation_class = accumulation_class(chosen.candidate, problem, limits);
            one.source = source;
            one.launches.emplace_back(std::move(made).value(), places);
          }
        }
      }
    }
  }
  std::vector<Case> all;
  for (auto& [fingerprint, one] : cases) {
    all.push_back(std::move(one));
  }
  return all;
}

using Bits = std::vector<std::string>;  // of the hard rows
struct Found {
  Bits bits;
  std::string by;
};

// The bits of each class for each combination of types. Counts the rows that differ.
class Comparison {
 public:
  void add(const Case& one, const Instance& instance, const Bits& rows) {
    const std::string key = to_text(one.types) + " " + std::string(name(one.accumulation_class));
    const std::string by = to_text(instance.candidate) + " for " + to_text(instance.problem);
    const std::lock_guard lock(mutex_);
    Found& found = found_[key];
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (row == found.bits.size()) {
        found.bits.push_back(rows[row]);
        found.by = by;
        continue;
      }
      ++compared;
      if (rows[row] != found.bits[row] && differ++ < 10) {
        std::cout << key << ": row " << row << " differs\n  " << by << "\n  " << found.by << '\n';
      }
    }
  }
  void print() const {
    for (const auto& [key, found] : found_) {
      std::string all;
      for (const std::string& row : found.bits) {
        all += row;
      }
      std::cout << "  " << key << ": " << sha256_hex(all, 16) << '\n';
    }
  }
  const std::map<std::string, Found>& found() const { return found_; }

  std::size_t compared = 0, differ = 0;

 private:
  std::mutex mutex_;
  std::map<std::string, Found> found_;
};

std::unique_ptr<CompiledKernel> built(Device& device, const Case& one) {
  auto compiled = device.compile(one.source);
  if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
    throw std::runtime_error(failure->log);
  }
  auto loaded = device.load(std::get<Binary>(compiled), one.launches.front().first.launch);
  if (const auto* rejection = std::get_if<Rejection>(&loaded)) {
    throw std::runtime_error(rejection->detail);
  }
  return std::get<0>(std::move(loaded));
}

void compare_classes(Device& device, std::span<const TypeCase> type_cases, int configs,
                     Comparison& comparison) {
  Random random(test_seed());
  std::vector<Case> cases;
  for (const TypeCase& types : type_cases) {
    auto some = cases_of(types, device.limits(), configs, random);
    std::move(some.begin(), some.end(), std::back_inserter(cases));
  }
  for_each_in_parallel(cases.size(), device.compile_threads(), [&](std::size_t index, std::size_t) {
    const Case& one = cases[index];
    const auto kernel = built(device, one);
    const Device::Current current(device);
    for (const auto& [instance, places] : one.launches) {
      comparison.add(one, instance, bits_of_rows(device, *kernel, instance, places));
    }
  });
  std::cout << cases.size() << " kernels, " << comparison.compared << " rows compared, "
            << comparison.differ << " differ, seed " << test_seed() << '\n';
  comparison.print();
  CHECK(comparison.compared > cases.size());
  CHECK(comparison.differ == 0);
}

}  // namespace

TEST_CASE("Kernels of one accumulation class give a row the same bits on the CPU") {
  const auto device = host_backend().open({});
  if (const std::string why = device->why_not_compile(); !why.empty()) {
    TUNEDGEMM_SKIP(why);
  }
  Comparison comparison;
  constexpr TypeCase kF32{DataType::kF32, DataType::kF32, DataType::kF32, Numerics::kIeee};
  const TypeCase types[] = {
      kF32,
      {DataType::kF64, DataType::kF64, DataType::kF64, Numerics::kIeee},
      {DataType::kBF16, DataType::kBF16, DataType::kBF16, Numerics::kIeee},
      {DataType::kS8, DataType::kS8, DataType::kS32, Numerics::kIeee},
      {DataType::kE4M3, DataType::kE5M2, DataType::kF16, Numerics::kPromoted}};
  compare_classes(*device, types, 1, comparison);
  // The class kInOrder is what its name says.
  const Bits& f32 = comparison.found().at(to_text(kF32) + " in_order").bits;
  for (std::size_t row = 0; row < f32.size(); ++row) {
    for (std::int64_t column = 0; column < kN; ++column) {
      float sum = 0;
      const DataTypeTraits& type = traits(DataType::kF32);
      for (std::int64_t k = 0; k < kK; ++k) {
        sum = std::fma(
            static_cast<float>(hard_value(type, static_cast<std::int64_t>(row), k, kData)),
            static_cast<float>(hard_value(type, column, k - (k % 4 == 3 ? 2 : 0), kData + 1)), sum);
      }
      float stored = 0;
      std::memcpy(&stored, f32[row].data() + 4 * column, sizeof stored);
      REQUIRE(std::bit_cast<std::uint32_t>(stored) == std::bit_cast<std::uint32_t>(sum));
    }
  }
}

TEST_CASE("Kernels of one accumulation class give a row the same bits", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  Comparison comparison;
  compare_classes(*device, all_type_cases(), 3, comparison);
}

}  // namespace tunedgemm::internal
