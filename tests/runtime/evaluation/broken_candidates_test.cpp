// Tunes with candidates that break in every possible way, and with a compiler that crashes, on a
// real GPU.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernel_templates/family.h"
#include "runtime/backend.h"
#include "runtime/context/context.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/tuning/worker_conversation.h"
#include "tests/runtime/support/breaking_nvrtc.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/instances.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

// The breakages of breaking_nvrtc.cpp, and the allowed rejection reasons of each.
const std::map<std::string, std::set<Reason>> kBreakages{
    {"fault", {Reason::kCrashed, Reason::kLaunchFailed}},
    {"hang", {Reason::kTimedOut, Reason::kCrashed}},
    {"crash", {Reason::kCrashed, Reason::kCompileFailed}},
    {"race", {Reason::kWrongResult}},
    {"nan", {Reason::kWrongResult}},
    {"nothing", {Reason::kWrongResult}}};

std::unique_ptr<Context> context_with_worker(const fs::path& cache) {
  ContextOptions options;
  options.backend = &cuda_backend();
  options.store.path = cache;
  options.worker_command = {beside_this_program("tunedgemm_worker_program"),
                            std::string(kWorkerFlag)};
  return Context::create(options);
}

// Refines no tiles at the end, because those depend on which candidates break.
TuneResult tune(Context& context, const Problem& problem) {
  TuneOptions options;
  options.rigor = Rigor::kModel;
  options.budget = {.seconds = 120, .candidates = 24};
  options.candidate_seconds = 4;
  return context.tune(problem, options);
}

std::vector<TrialRecord> trials_of(Context& context, const CanonicalProblem& problem) {
  return context.store().trials(
      {problem, context.device().identity(), context.device().toolchain()});
}

std::string defines_of(const Context& context, const Problem& problem, const TrialRecord& trial) {
  const Instance instance =
      instance_of(*find_family(trial.family), problem, trial.config, context.device().limits());
  std::string defines;
  for (const auto& [name, value] : instance.source().defines) {
    defines += " -D" + std::string(name) + "=" + value;
  }
  return defines;
}

}  // namespace

TEST_CASE("Broken candidates, and a compiler that crashes, cost one trial each on a GPU", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const TemporaryFolder folder;
  const CanonicalProblem problem =
      canonical(make_problem(256, 512, 1024, DataType::kF16, DataType::kF16, DataType::kF16));
  // Breaking kernels does not change which candidates are tried, so a sound tuning finds the list.
  // The six with the shortest predicted times are broken.
  const auto sound = context_with_worker(folder.path() / "sound.db");
  REQUIRE(tune(*sound, problem).record);
  std::vector<TrialRecord> trials = trials_of(*sound, problem);
  std::ranges::sort(trials, {}, &TrialRecord::predicted_us);
  const fs::path list = folder.path() / "broken";
  std::map<std::string, std::string> breakage_of;  // by defines
  {
    std::ofstream file(list);
    auto next = kBreakages.begin();
    for (const TrialRecord& trial : trials) {
      const std::string defines = defines_of(*sound, problem, trial);
      if (next != kBreakages.end() && breakage_of.emplace(defines, next->first).second) {
        file << next->first << defines << "\n";
        ++next;
      }
    }
    REQUIRE(next == kBreakages.end());
  }

  const BreakingNvrtc breaking(list);
  const auto context = context_with_worker(folder.path() / "broken.db");
  const TuneResult result = tune(*context, problem);
  CAPTURE(result.tuning.failure);
  REQUIRE(result.record);
  std::cout << "the winner's remark: " << result.record->remark << std::endl;
  std::set<std::string> met;
  for (const TrialRecord& trial : trials_of(*context, problem)) {
    const auto broken = breakage_of.find(defines_of(*context, problem, trial));
    if (broken == breakage_of.end()) {
      continue;
    }
    CAPTURE(broken->second, trial.family, to_text(trial.config));
    CHECK(trial.rejection);
    if (trial.rejection) {
      std::cout << broken->second << ": " << to_text(*trial.rejection) << std::endl;
      CHECK(kBreakages.at(broken->second).contains(trial.rejection->reason));
    }
    met.insert(broken->second);
  }
  CHECK(met.size() == kBreakages.size());

  // This process can still use the GPU.
  const auto memory = device->allocate(1 << 20);
  device->set_bytes(memory->data(), 7, memory->size_bytes());
  std::vector<unsigned char> bytes(1 << 20);
  device->copy_to_host(bytes.data(), memory->data(), memory->size_bytes());
  CHECK(std::ranges::count(bytes, 7) == 1 << 20);
}

}  // namespace tunedgemm::internal
