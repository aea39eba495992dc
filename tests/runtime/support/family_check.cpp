#include "tests/runtime/support/family_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "runtime/evaluation/operands.h"
#include "runtime/evaluation/verifier.h"
#include "tests/runtime/support/in_parallel.h"
#include "tests/support/instances.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kMostFailures = 12;

// A kernel, built once for all cases with the same source.
struct Built {
  std::optional<Instance> instance;
  std::unique_ptr<CompiledKernel> kernel;
  std::string failure;
};

void build(Built& built, Device& device) {
  if (!device.why_not_compile().empty()) {
    built.kernel = device.built_in(*built.instance);
    built.failure = built.kernel == nullptr ? device.why_not_compile() : "";
    return;
  }
  auto compiled = device.compile(built.instance->source());
  if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
    built.failure = "does not compile: " + failure->log;
    return;
  }
  auto loaded = device.load(std::get<Binary>(compiled), built.instance->launch);
  if (const auto* rejection = std::get_if<Rejection>(&loaded)) {
    built.failure = "cannot be loaded: " + rejection->detail;
    return;
  }
  built.kernel = std::get<0>(std::move(loaded));
}

// A text that is the same for two sources of a family only if the sources are. Hashing a whole
// source would take longer than running a case.
std::string text_of_defines(const Source& source) {
  std::string text;
  for (const auto& [macro, value] : source.defines) {
    text.append(macro).append("=").append(value).append(" ");
  }
  return text;
}

// One thread's memory on the device and on the host. The operands' memory is reused, and grows with
// the largest case so far.
class ThreadMemory {
 public:
  explicit ThreadMemory(Device& device) : device_(device), verifier_(make_host_verifier(1)) {}

  /// Runs the kernel. Empty if the result is right, nothing outside D was written and the
  /// workspace's counters are zero again. Raises `worst` to the result's error if that is larger.
  std::string check(const CompiledKernel& kernel, const Launch& launch, const FamilyCase& one,
                    std::uint64_t seed, double& worst) {
    VerifiedProblem verified(one.problem, seed);
    if (!one.group_numbers.empty()) {
      verified.group_numbers = one.group_numbers;
    }
    prepare_block(verified);
    prepare_workspace(launch);
    Arguments arguments = verified.arguments(static_cast<std::byte*>(block_->data()));
    arguments.workspace = workspace_ ? workspace_->data() : nullptr;
    if (const int error = kernel.run(launch, arguments, device_.own_stream()); error != 0) {
      return "cannot be launched: " + device_.describe(error);
    }
    const OperandLayout& layout = verified.layout;
    device_.copy_to_host(host_.data() + layout.d_region,
                         static_cast<std::byte*>(block_->data()) + layout.d_region,
                         layout.d_region_bytes);
    return compare(verified, worst) + spoilt_counters(launch);
  }

 private:
  void prepare_block(const VerifiedProblem& verified) {
    host_.assign(static_cast<std::size_t>(verified.layout.bytes), std::byte{0xff});
    std::byte* base = host_.data();
    for (const reference::FillTask& task : verified.fill_all(base)) {
      verifier_->fill(task);
    }
    if (!block_ || block_->size_bytes() < verified.layout.bytes) {
      block_ = device_.allocate(verified.layout.bytes);
    }
    std::ranges::copy(std::as_bytes(std::span(verified.group_numbers)),
                      base + verified.layout.groups);
    device_.copy_to_device(block_->data(), base, verified.layout.bytes);
  }

  void prepare_workspace(const Launch& launch) {
    if (launch.workspace_bytes == 0) {
      workspace_.reset();
      return;
    }
    workspace_ = device_.allocate(launch.workspace_bytes);
    device_.set_bytes(workspace_->data(), 0xff, launch.workspace_bytes);
    device_.set_bytes(workspace_->data(), 0, counter_bytes(launch));
  }

  static std::int64_t counter_bytes(const Launch& launch) {
    return std::min(launch.workspace_bytes, kWorkspaceCounterBytes);
  }

  std::string compare(const VerifiedProblem& verified, double& worst) {
    const reference::Sampling all{0, 1, total_rows(verified.problem), 0, 1, verified.problem.n};
    expected_.resize(static_cast<std::size_t>(all.rows * all.columns));
    verifier_->compute(verified.gemm(all, expected_.data(), host_.data()));
    const reference::CompareTask task = verified.compare(all, expected_.data(), host_.data());
    const reference::ComparisonResult result = verifier_->compare(task);
    worst = std::max(worst, __builtin_bit_cast(double, result.worst));
    std::ostringstream text;
    if (result.wrong != 0) {
      const auto first = static_cast<std::int64_t>(result.first_wrong);
      const std::int64_t row = first / task.n, column = first % task.n;
      const reference::Element at = verified.element(row, column);
      const long long offset = reference::offset_of(task.strides, at.batch, at.m, column);
      text << result.wrong << " of " << expected_.size() << " elements wrong, first batch "
           << at.batch << " m " << at.m << " n " << column << ": got "
           << reference::load(task.format, task.d, offset) << ", expected "
           << expected_[static_cast<std::size_t>(first)] << ", worst error "
           << __builtin_bit_cast(double, result.worst) << " times the bound; ";
    }
    verifier_->erase(verified.erase(host_.data()));
    const OutOfBoundsWrites outside =
        verifier_->find_out_of_bounds_writes(verified.find_out_of_bounds_writes(host_.data()));
    if (outside.count != 0) {
      text << "wrote outside D: " << outside.count << " values, first at byte "
           << outside.first_byte - (verified.layout.d - verified.layout.d_region)
           << " from D's start; ";
    }
    return text.str();
  }

  std::string spoilt_counters(const Launch& launch) {
    if (launch.workspace_bytes == 0) {
      return "";
    }
    std::vector<std::byte> counters(static_cast<std::size_t>(counter_bytes(launch)));
    device_.copy_to_host(counters.data(), workspace_->data(), counter_bytes(launch));
    const bool clean = std::all_of(counters.begin(), counters.end(),
                                   [](std::byte byte) { return byte == std::byte{0}; });
    return clean ? "" : "left counters in the workspace that are not zero; ";
  }

  Device& device_;
  std::unique_ptr<Verifier> verifier_;
  std::unique_ptr<DeviceMemory> block_, workspace_;
  std::vector<std::byte> host_;
  std::vector<double> expected_;
};

// A config that a search would consider or, sometimes, any other legal config.
Config random_config(const Family& family, const std::vector<Config>& considered,
                     const Problem& problem, const DeviceLimits& limits, Random& random) {
  constexpr int kMostAttempts = 50;
  if (random() % 4 != 0) {
    return considered[random() % considered.size()];
  }
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    Config config;
    for (const Knob& knob : family.knobs()) {
      config.set(knob.name, knob.values[random() % knob.values.size()]);
    }
    if (refusal(family, problem, config, limits).empty()) {
      return config;
    }
  }
  return considered[random() % considered.size()];
}

int test_threads(int otherwise) {
  const char* given = std::getenv("TUNEDGEMM_TEST_THREADS");
  return given == nullptr ? otherwise : std::max(std::atoi(given), 1);
}

}  // namespace

std::vector<FamilyCase> random_cases(const Family& family, const DeviceLimits& limits, int classes,
                                     int shapes, Random& random) {
  int activation = static_cast<int>(random() % std::size(kActivations.rows));
  std::vector<FamilyCase> cases;
  for (const TypeCase& types : all_type_cases()) {
    for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
      for (int index = 0; index < classes; ++index) {
        const Problem drawn = random_class_of(family, types, layout, activation++, random);
        // A large shape, which few configs refuse. Half of these shapes have fewer rows, because a
        // search considers other configs for them.
        Problem large = with_sizes(drawn, index % 2 == 0 ? 1000 : 100, 1000, 1000);
        std::vector<Config> considered = configs_of(family, large, limits);
        const bool is_narrow = considered.empty();
        if (is_narrow) {
          large = narrow(drawn, random);
          considered = configs_of(family, large, limits);
        }
        if (considered.empty()) {
          continue;
        }
        const Config config = random_config(family, considered, large, limits, random);
        constexpr int kMostAttempts = 20;
        int found = 0;
        for (int attempt = 0; found < shapes && attempt < kMostAttempts * shapes; ++attempt) {
          const Problem any = random_sizes(drawn, random);
          const Problem problem = is_narrow ? narrowed(any, large.m < large.n, random) : any;
          if (refusal(family, problem, config, limits).empty()) {
            cases.push_back({types, problem, config});
            ++found;
          }
        }
      }
    }
  }
  return cases;
}

FamilyReport check_family(const Family& family, const std::vector<FamilyCase>& cases,
                          Device& device, const DeviceLimits& limits, std::uint64_t seed) {
  std::map<std::string, Built> built;
  std::vector<Built*> built_for(cases.size());
  for (std::size_t index = 0; index < cases.size(); ++index) {
    const auto& [types, problem, config, numbers] = cases[index];
    Instance instance = instance_of(family, problem, config, limits);
    Built& entry = built[text_of_defines(instance.source())];
    if (!entry.instance) {
      entry.instance = std::move(instance);
    }
    built_for[index] = &entry;
  }
  std::vector<Built*> to_build;
  to_build.reserve(built.size());
  for (auto& [key, entry] : built) {
    to_build.push_back(&entry);
  }
  const int threads = device.compile_threads();
  for_each_in_parallel(to_build.size(), threads,
                       [&](std::size_t index, std::size_t) { build(*to_build[index], device); });

  FamilyReport report;
  report.binaries = built.size();
  report.runs = cases.size();
  const int workers = test_threads(threads);
  std::vector<std::unique_ptr<ThreadMemory>> thread_memories(static_cast<std::size_t>(workers));
  std::mutex mutex;
  for_each_in_parallel(cases.size(), workers, [&](std::size_t index, std::size_t thread) {
    const auto& [types, problem, config, numbers] = cases[index];
    const Built& entry = *built_for[index];
    const std::string candidate = to_text(Candidate{&family, config});
    double worst = 0;
    std::string failure = entry.failure;
    if (failure.empty()) {
      if (!thread_memories[thread]) {
        thread_memories[thread] = std::make_unique<ThreadMemory>(device);
      }
      const Device::Current current(device);
      try {
        failure = thread_memories[thread]->check(
            *entry.kernel, instance_of(family, problem, config, limits).launch, cases[index],
            seed + index, worst);
      } catch (const DeviceError& error) {
        // When one thread loses the device, all do, so this case may be innocent. With a single
        // thread, it must be the culprit.
        throw std::runtime_error(candidate + "\n  " + to_text(problem) + "\n  " + error.what() +
                                 "\n  (TUNEDGEMM_TEST_THREADS=1 runs one case at a time)");
      }
    }
    const std::lock_guard<std::mutex> lock(mutex);
    double& of_types = report.worst[to_text(types)];
    of_types = std::max(of_types, worst);
    if (!failure.empty()) {
      ++report.failed;
      if (report.failures.size() < kMostFailures) {
        report.failures.push_back(candidate + "\n  " + to_text(problem) + "\n  " + failure);
      }
    }
  });
  return report;
}

std::string to_text(const FamilyReport& report) {
  std::ostringstream text;
  text << report.runs << " runs of " << report.binaries << " binaries, " << report.failed
       << " failed\n";
  for (const auto& [types, worst] : report.worst) {
    text << "  " << types << ": worst error " << worst << " of the bound\n";
  }
  for (const std::string& failure : report.failures) {
    text << "FAILED " << failure << '\n';
  }
  return text.str();
}

}  // namespace tunedgemm::internal
