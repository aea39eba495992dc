#include "tests/cache/support/sample.h"

namespace tunedgemm::internal::sample {
namespace {

class SampleFamily : public Family {
 public:
  explicit SampleFamily(int age)
      : Family("sample", "cuda", "cuda/common/arguments.cuh",
               {Knob{"block_m", age == 0 ? std::vector{64, 128} : std::vector{64, 128, 256},
                     "rows of a tile"}}) {}

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (auto why = why_not_knobs(config); !why.empty()) {
      return why;
    }
    if (config.at("block_m") == 128 && limits.max_threads_per_block < 256) {
      return "block_m=128 needs 256 threads";
    }
    Instance instance = begin_instance(problem, config);
    instance.predicted_us = 1;
    return instance;
  }
};

}  // namespace

const Family& family(int age) {
  static const SampleFamily young(0);
  static const SampleFamily old(1);
  return age == 0 ? static_cast<const Family&>(young) : old;
}

const Family* find_young(std::string_view name) {
  return name == "sample" ? &family(0) : nullptr;
}

const Family* find_old(std::string_view name) {
  return name == "sample" ? &family(1) : nullptr;
}

StoreOptions options(const std::filesystem::path& path) {
  StoreOptions options;
  options.path = path;
  options.find_family = find_young;
  return options;
}

CanonicalProblem problem(std::int64_t m) {
  return canonical(
      make_problem(m, 4096, 1024, DataType::kF16, DataType::kF16, DataType::kF16, "nt"));
}

DeviceIdentity device() {
  return {"cuda", "Sample GPU", 90, 132, std::int64_t{141} << 30, 60 << 20, 1980, 700};
}

Toolchain toolchain(const std::string& driver) {
  return {"nvrtc 13.0", driver};
}

TuningKey key(std::int64_t m) {
  return {problem(m), device(), toolchain()};
}

DeviceLimits limits() {
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.arch = 90;
  return limits;
}

Record record(std::int64_t m, double median_us, Rigor rigor) {
  Record record;
  record.problem = problem(m);
  record.device = device();
  record.toolchain = toolchain();
  record.family = "sample";
  record.config.set("block_m", 128);
  record.family_fingerprint = family().fingerprint();
  record.measurement = {
      median_us, median_us - 0.5, median_us + 0.5, {static_cast<float>(median_us), 12.0F, 13.0F}};
  record.default_us = 20;
  record.naive_us = 400;
  record.runner_up_us = 13;
  record.ties = {"sample block_m=64", "sample block_m=256"};
  record.rigor = rigor;
  record.candidates_tried = 8;
  record.candidates_legal = 16;
  record.spent_seconds = 1.5;
  record.compile_seconds = 0.5;
  record.check_seconds = 0.25;
  record.screen_seconds = 0.25;
  record.finals_seconds = 0.5;
  record.max_error = 0.125;
  record.remark = "kept: default, too few rounds to tell";
  return record;
}

TrialRecord trial(int block_m, double median_us) {
  TrialRecord trial;
  trial.family = "sample";
  trial.config.set("block_m", block_m);
  trial.family_fingerprint = family().fingerprint();
  trial.measurement = Measurement{median_us, median_us, median_us, {1.0F, 2.0F}};
  trial.final_round = true;
  trial.predicted_us = 10;
  trial.max_error = 0.25;
  trial.registers = 128;
  trial.shared_bytes = 49152;
  trial.compile_ms = 42;
  trial.sm_clock_mhz = 1755;
  return trial;
}

TrialRecord rejected(int block_m, Reason reason) {
  TrialRecord trial;
  trial.family = "sample";
  trial.config.set("block_m", block_m);
  trial.family_fingerprint = family().fingerprint();
  trial.rejection = Rejection{reason, "because of the test"};
  return trial;
}

Source source(std::int64_t m) {
  Config config;
  config.set("block_m", 64);
  Source source = family().instantiate(problem(1), config, limits()).value().source();
  source.defines.emplace_back("M", std::to_string(m));
  return source;
}

Binary binary(std::size_t bytes, int seed) {
  Binary binary;
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    binary.code.push_back(static_cast<std::byte>(byte * 7 + static_cast<std::size_t>(seed)));
  }
  binary.entry = "tunedgemm_sample";
  binary.registers = 128;
  binary.shared_bytes = 1024;
  binary.compile_ms = 42;
  return binary;
}

}  // namespace tunedgemm::internal::sample
