#include "tools/tunedgemm/bench_result.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tests/support/temporary_folder.h"
#include "tools/shared/terminal.h"
#include "tools/tunedgemm/bench_output.h"

namespace tunedgemm::internal {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

const BenchRun kRun{.device = "A GPU, large",
                    .compiler = "nvrtc 13.0",
                    .driver = "580",
                    .baseline = "OpenBLAS 0.3.21, Haswell",
                    .began_at = "2026-01-02 03:04:05",
                    .rounds = 5,
                    .cool_down_ms = 20};

NamedProblem square(std::int64_t size) {
  return {"", make_problem(size, size, size, DataType::kF16, DataType::kF16, DataType::kF16)};
}

// Our kernel takes 10 us; the baseline's proposals take the given times.
BenchRow row(std::int64_t size, const std::vector<float>& baseline_us) {
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.arch = 90;
  limits.sm_count = 132;
  BenchRow row;
  row.shape = square(size);
  Contender ours;
  ours.rounds_us = {9, 10, 11, 10, 10};
  ours.clocks_mhz = {1700, 1800, 1800, 1800, 1900};
  row.add({.name = "tuned", .kernel = "wgmma block_m=128", .max_error = 0.5}, ours, limits);
  for (const float us : baseline_us) {
    Contender theirs;
    theirs.rounds_us = {us, us, us, us, us};
    theirs.clocks_mhz = {0, 0, 0, 0, 0};
    const std::string name = "cublaslt " + std::to_string(row.contenders.size() - 1);
    row.add({.name = name, .kernel = {}, .max_error = 0.25}, theirs, limits);
  }
  return row;
}

BenchRow failed_row() {
  BenchRow row;
  row.shape = square(8);
  row.failure = "no candidate is valid";
  return row;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_CASE("A contender has the median and the 20th and 80th percentiles of its rounds") {
  const BenchRow measured = row(256, {12, 11});
  REQUIRE(measured.contenders.size() == 3);
  const BenchContender* ours = tuned_contender(measured);
  REQUIRE(ours->median_us == Approx(10));
  REQUIRE(ours->p20_us == Approx(9.8));
  REQUIRE(ours->p80_us == Approx(10.2));
  REQUIRE(ours->clock_mhz == Approx(1800));
  REQUIRE(ours->tflops == Approx(2.0 * 256 * 256 * 256 / 10 * 1e-6));
  REQUIRE(ours->of_roofline > 0);
  REQUIRE(baseline_default(measured)->median_us == Approx(12));
  REQUIRE(baseline_best(measured)->name == "cublaslt 1");
  REQUIRE(baseline_default(row(256, {})) == nullptr);
  REQUIRE(baseline_best(row(256, {})) == nullptr);
}

TEST_CASE("Means are geometric, and the least ratio names its shape") {
  const std::vector<BenchRow> rows{row(256, {20, 9}), row(384, {5}), row(512, {}), failed_row()};
  const Ratios against_default = ratios(rows, baseline_default);
  REQUIRE(against_default.shapes == 2);
  REQUIRE(against_default.geometric_mean == Approx(1));  // 2 and 1/2
  REQUIRE(against_default.least == Approx(0.5));
  REQUIRE(against_default.least_shape == "384x384x384");
  REQUIRE(ratios(rows, baseline_best).geometric_mean == Approx(std::sqrt(0.9 * 0.5)));
  REQUIRE(ratios({failed_row()}, baseline_best).shapes == 0);
  std::ostringstream text;
  print_table(text, rows, "cuBLASLt", kUnlimited);
  print_summary(text, rows, "cuBLASLt");
  REQUIRE_THAT(text.str(), ContainsSubstring("no result for 8x8x8 f16→f16: no candidate is valid"));
  REQUIRE_THAT(text.str(), ContainsSubstring("against cuBLASLt's default: geometric mean 1.00x "
                                             "over 2 shapes, least 0.50x at 384x384x384"));
}

TEST_CASE("Each of our other contenders has its own mean") {
  std::vector<BenchRow> rows{row(256, {20}), row(384, {5}), failed_row()};
  BenchContender quick = rows[0].contenders.front();
  quick.name = "quick";
  quick.median_us *= 1.21;
  rows[0].contenders.push_back(quick);
  quick.median_us = rows[1].contenders.front().median_us;
  rows[1].contenders.push_back(quick);
  REQUIRE(other_contenders(rows) == std::vector<std::string>{"quick"});
  REQUIRE(contender_named(rows[0], "quick")->median_us == Approx(12.1));
  REQUIRE(contender_named(rows[2], "quick") == nullptr);
  std::ostringstream text;
  print_summary(text, rows, "cuBLASLt");
  REQUIRE_THAT(text.str(), ContainsSubstring("against quick: geometric mean 1.10x over 2 shapes, "
                                             "least 1.00x at 384x384x384, greatest 1.21x at "
                                             "256x256x256\n"));
  text.str("");
  print_table(text, rows, "cuBLASLt", kUnlimited);
  REQUIRE_THAT(text.str(), ContainsSubstring("x tuned") && ContainsSubstring("  0.83x  "));
  REQUIRE_THAT(text.str(), ContainsSubstring("10.0 us  ±2.0 %"));
}

TEST_CASE("Back-to-back launches have their own column and mean") {
  std::vector<BenchRow> rows{row(256, {20}), failed_row()};
  std::ostringstream alone;
  print_table(alone, rows, "cuBLASLt", kUnlimited);
  print_summary(alone, rows, "cuBLASLt");
  CHECK_THAT(alone.str(), !ContainsSubstring("back to back"));
  rows[0].back_to_back = row(256, {30}).contenders;
  std::ostringstream text;
  print_table(text, rows, "cuBLASLt", kUnlimited);
  print_summary(text, rows, "cuBLASLt");
  CHECK_THAT(text.str(), ContainsSubstring("x best  back to back"));
  CHECK_THAT(text.str(), ContainsSubstring(" 2.00x         3.00x "));
  CHECK_THAT(text.str(),
             ContainsSubstring("against the best, launched back to back: geometric mean 3.00x "
                               "over 1 shape"));

  const TemporaryFolder folder;
  const auto csv = folder.path() / "a.csv", json = folder.path() / "a.json";
  BenchFiles files(kRun, csv, json);
  files.add(rows[0]);
  const auto document = nlohmann::json::parse(text_of(json));
  CHECK(document["rows"][0]["back_to_back"][1]["median_us"] == 30);
  CHECK_THAT(text_of(csv), ContainsSubstring(",isolated,cublaslt 0,,20.0,"));
  CHECK_THAT(text_of(csv), ContainsSubstring(",back_to_back,cublaslt 0,,30.0,"));
}

TEST_CASE("The files contain every row as soon as it is added") {
  const TemporaryFolder folder;
  const auto csv = folder.path() / "a.csv", json = folder.path() / "a.json";
  BenchFiles files(kRun, csv, json);
  REQUIRE(nlohmann::json::parse(text_of(json))["rows"].empty());
  files.add(row(256, {12, 11}));
  REQUIRE(nlohmann::json::parse(text_of(json))["rows"].size() == 1);
  files.add(failed_row());
  const auto document = nlohmann::json::parse(text_of(json));
  REQUIRE(document["device"] == "A GPU, large");
  REQUIRE(document["cool_down_ms"] == 20);
  REQUIRE(document["rows"].size() == 2);
  const auto& contenders = document["rows"][0]["contenders"];
  REQUIRE(contenders.size() == 3);
  REQUIRE(contenders[0]["contender"] == "tuned");
  REQUIRE(contenders[0]["clock_mhz"] == 1800);
  REQUIRE(contenders[1]["clock_mhz"].is_null());
  REQUIRE(document["rows"][1]["failure"] == "no candidate is valid");

  std::istringstream lines(text_of(csv));
  std::vector<std::string> csv_rows;
  for (std::string line; std::getline(lines, line);) {
    csv_rows.push_back(line);
  }
  REQUIRE(csv_rows.size() == 4);  // the header, and the contenders of the first row
  REQUIRE_THAT(csv_rows[0], ContainsSubstring("median_us,p20_us,p80_us"));
  REQUIRE_THAT(csv_rows[1],
               ContainsSubstring("\"A GPU, large\",nvrtc 13.0,580,\"OpenBLAS 0.3.21, Haswell\","
                                 "2026-01-02 03:04:05,5,20,"));
  REQUIRE_THAT(csv_rows[1], ContainsSubstring(",tuned,wgmma block_m=128,10.0,9.8"));
}

TEST_CASE("A result file that cannot be written is refused before measuring") {
  REQUIRE_THROWS_WITH(BenchFiles(kRun, "/nowhere/a.csv", ""),
                      ContainsSubstring("/nowhere/a.csv: No such file"));
  REQUIRE_THROWS_WITH(BenchFiles(kRun, "", "/nowhere/a.json"),
                      ContainsSubstring("/nowhere/a.json"));
}

TEST_CASE("The roofline of a compute-bound problem is the tensor peak at the measured clock") {
  const Problem problem =
      make_problem(4096, 4096, 4096, DataType::kF16, DataType::kF16, DataType::kF16);
  // The data sheet gives 989.4 TFLOP/s at 1830 MHz.
  REQUIRE(roofline_us(problem, h200(), 1830) == Approx(flops(problem) / 989.4e6).epsilon(1e-3));
  REQUIRE(roofline_us(problem, h200(), 915) == Approx(2 * roofline_us(problem, h200(), 1830)));
  REQUIRE(roofline_us(problem, h200(), 0) == Approx(roofline_us(problem, h200(), 1980)));
}

TEST_CASE("The roofline of a memory-bound problem is the bandwidth") {
  const Problem problem =
      make_problem(1, 8192, 8192, DataType::kBF16, DataType::kBF16, DataType::kBF16, "nt");
  REQUIRE(roofline_us(problem, h200(), 1830) == Approx(minimum_bytes(problem) / 4.8e6));
}

TEST_CASE("Smaller types and fewer products have a higher peak") {
  const auto roofline = [](DataType type, DataType output, Numerics numerics) {
    Problem problem = make_problem(4096, 4096, 4096, type, type, output, "nt");
    problem.numerics = numerics;
    return roofline_us(problem, h200(), 1830);
  };
  const double f16 = roofline(DataType::kF16, DataType::kF16, Numerics::kIeee);
  REQUIRE(roofline(DataType::kE4M3, DataType::kF16, Numerics::kFast) == Approx(f16 / 2));
  REQUIRE(roofline(DataType::kS8, DataType::kS32, Numerics::kIeee) == Approx(f16 / 2));
  REQUIRE(roofline(DataType::kF32, DataType::kF32, Numerics::kTf32) == Approx(f16 * 2));
  REQUIRE(roofline(DataType::kF32, DataType::kF32, Numerics::kEmulated) == Approx(f16 * 6));
  REQUIRE(roofline(DataType::kF32, DataType::kF32, Numerics::kIeee) == Approx(f16 * 16));
  REQUIRE(roofline(DataType::kF64, DataType::kF64, Numerics::kIeee) == Approx(f16 * 16));
}

TEST_CASE("Without a known peak there is no roofline") {
  const Problem problem = make_problem(64, 64, 64, DataType::kF32, DataType::kF32, DataType::kF32);
  REQUIRE(roofline_us(problem, DeviceLimits{}, 3000) == 0);
  DeviceLimits old = h200();
  old.arch = 70;
  REQUIRE(roofline_us(problem, old, 1500) == 0);
}

}  // namespace
}  // namespace tunedgemm::internal
