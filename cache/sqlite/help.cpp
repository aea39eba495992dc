// The rows of the view `help`.

#include <algorithm>
#include <cassert>
#include <iomanip>
#include <sstream>
#include <vector>

#include "cache/sqlite/schema.h"
#include "cache/store_types.h"

namespace tunedgemm::internal {
namespace {

// The first columns of most views.
constexpr ViewColumn kDevice{"device", "", "the GPU's or CPU's name"};
const std::vector<ViewColumn> kDeviceAndProblem{
    kDevice,
    {"m", "", "rows of A and D"},
    {"n", "", "columns of B and D"},
    {"k", "", "columns of A and rows of B"},
    {"batch", "", "multiplications in a call"},
    {"types", "", "types of A, B and D, with the numerics if there is a choice"},
    {"layout", "", "a letter for A and one for B: n is row-major, t is column-major"},
    {"epilogue", "", "fused operations, such as a bias or an activation"},
};
constexpr ViewColumn kDetails{"details", "", "unusual properties of the problem, such as lda=1032"};
constexpr ViewColumn kProblem{"problem", "", "number of the problem, to join views"};
constexpr ViewColumn kToolchain{"toolchain", "",
                                "number of the compiler and driver, to join best and trials"};

std::vector<ViewColumn> with_problem(std::vector<ViewColumn> columns) {
  columns.insert(columns.begin(), kDeviceAndProblem.begin(), kDeviceAndProblem.end());
  return columns;
}

CacheView help_of_best() {
  return {"best", "the winner that a call gets for a tuned problem on a device",
          with_problem({
              {"config", "", "family and knobs of the winner"},
              {"median_us", "us", "median time of a launch"},
              {"tflops", "TFLOP/s", "operations a second, from the median"},
              {"vs_default", "times", "speed-up over the default config of the same finals"},
              {"vs_naive", "times", "speed-up over the naive kernel"},
              {"ties", "", "number of candidates that the samples cannot tell from the winner"},
              {"state", "", "confirmed, provisional, stale or void; cache/README.md has the rules"},
              {"rigor", "", "thoroughness of the tuning: model, quick, normal or exhaustive"},
              {"tuned_at", "UTC", "end of the tuning"},
              kDetails,
              kProblem,
              {"spread_percent", "percent", "half of high_us - low_us, as a share of the median"},
              {"remark", "",
               "why the fastest measured candidate did not win, or that the machine was busy"},
              {"family", "", "kernel family of the winner"},
              {"type_a", "", "type of A's elements, such as bf16"},
              {"type_b", "", "type of B's elements"},
              {"type_d", "", "type of D's elements"},
              {"low_us", "us", "20th percentile of the winner's samples"},
              {"high_us", "us", "80th percentile of the winner's samples"},
              {"candidates", "", "candidates that the tuning tried"},
              {"seconds", "s", "time that the tuning took"},
              {"name", "", "names from programs and lists, such as those of layers; mostly empty"},
              {"calls", "", "launches that programs asked for while there was no winner"},
              kToolchain,
              {"vs_vendor", "times",
               "speed-up over the vendor library's own call; null if it was not compared"},
              {"vendor", "", "that library and its version; empty if it was not compared"},
          })};
}

CacheView help_of_trials() {
  return {"trials", "the newest outcome of a candidate for a problem on a device",
          with_problem({
              {"config", "", "family and knobs of the candidate"},
              {"status", "",
               "finalist: raced in the winner's finals; screened: measured otherwise; "
               "rejected: it cannot win"},
              {"reason", "", "why it was rejected"},
              {"median_us", "us", "median time of a launch; null if it was not measured"},
              {"low_us", "us", "20th percentile of the samples"},
              {"high_us", "us", "80th percentile of the samples"},
              {"predicted_us", "us", "the cost model's prediction"},
              {"max_error", "", "greatest error, as a share of the permitted one: 1 is the limit"},
              {"registers", "", "registers of a thread"},
              {"shared_bytes", "bytes", "shared memory of a CTA"},
              {"spill_bytes", "bytes", "registers of a thread that were spilled to memory"},
              {"compile_ms", "ms", "time that compiling took"},
              {"sm_clock_mhz", "MHz", "clock of the SMs during the finals; 0 if unknown"},
              {"detail", "", "what happened, or the compiler's log, if it was rejected"},
              {"tried_at", "UTC", "end of the trial"},
              kProblem,
              kToolchain,
          })};
}

CacheView help_of_failures() {
  return {"failures",
          "the rejected candidates of a device and family with the same reason",
          {
              kDevice,
              {"family", "", "kernel family of the candidates"},
              {"reason", "", "why they were rejected"},
              {"candidates", "", "rejected candidates, counted for each problem"},
              {"problems", "", "problems for which they were tried"},
              {"last_at", "UTC", "the last of the trials"},
              {"example_config", "", "family and knobs of the last one"},
              {"example_detail", "", "what happened to the last one, 200 characters at most"},
          }};
}

CacheView help_of_missing() {
  return {"missing", "a problem that programs asked for and that has no winner on the device",
          with_problem({
              {"calls", "", "launches that programs asked for"},
              {"teraflop_in_all", "TFLOP", "operations of all these launches"},
              {"asked_at", "UTC", "the last request"},
              kDetails,
              kProblem,
              {"name", "", "names from programs and lists, such as those of layers; mostly empty"},
              {"nearest_tuned_m", "",
               "nearest M with a winner that policy stored may run; null if there is none"},
              {"problem_text", "", "the whole problem, for the column problem of a list"},
          })};
}

CacheView help_of_stale() {
  return {"stale", "a winner that was tuned with another compiler or driver than the device's last",
          with_problem({
              {"config", "", "family and knobs of the winner"},
              {"median_us", "us", "median time of a launch when it was tuned"},
              {"tuned_compiler", "", "compiler of the tuning"},
              {"tuned_driver", "", "driver of the tuning; the C library on a CPU"},
              {"current_compiler", "", "compiler last used on the device"},
              {"current_driver", "", "driver last used on the device"},
              {"tuned_at", "UTC", "end of the tuning"},
              kProblem,
          })};
}

CacheView help_of_coverage() {
  return {"coverage",
          "a device, with the number of its problems by state",
          {
              kDevice,
              {"tuned", "", "problems with a winner"},
              {"confirmed", "", "winners from a finished tuning of normal rigor or more"},
              {"provisional", "", "winners from a quick or an unfinished tuning"},
              {"stale", "", "winners from another compiler or driver than the device's last"},
              {"void", "", "winners whose family has changed its template since"},
              {"missing", "", "problems that programs asked for and that have no winner"},
              {"tuned_percent", "percent",
               "tuned problems, as a share of the tuned and the missing ones"},
              {"missing_calls", "", "launches of the missing problems"},
              {"tuning_seconds", "s", "time that the tunings of the winners took"},
          }};
}

CacheView help_of_help() {
  return {"help",
          "a column of a view, or the view itself with an empty column",
          {
              {"view", "", "name of the view"},
              {"column", "", "name of the column, in the order of the view's columns"},
              {"unit", "", "unit of the values; empty if there is none"},
              {"meaning", "", "what a row of the view is, or what the column holds"},
          }};
}

// A line of VALUES.
std::string row(std::string_view view, const ViewColumn& column) {
  std::ostringstream text;
  const auto quoted = [](std::string_view word) { return std::quoted(word, '\'', '\''); };
  text << "(" << quoted(view) << ", " << quoted(column.name) << ", " << quoted(column.unit) << ", "
       << quoted(column.meaning) << ")";
  return text.str();
}

}  // namespace

std::vector<CacheView> views_for_people() {
  return {help_of_best(),  help_of_trials(),   help_of_failures(), help_of_missing(),
          help_of_stale(), help_of_coverage(), help_of_help()};
}

std::string head_comment(std::string_view view) {
  const std::vector<CacheView> views = views_for_people();
  const auto found = std::find_if(views.begin(), views.end(),
                                  [&](const CacheView& other) { return other.name == view; });
  assert(found != views.end());
  return "\n-- A row is " + std::string(found->row) + ".\n";
}

std::string help_view() {
  std::string text =
      "CREATE VIEW help(view, column, unit, meaning) AS" + head_comment("help") + "VALUES\n";
  std::string separator;
  for (const CacheView& view : views_for_people()) {
    text += separator + row(view.name, {"", "", view.row});
    separator = ",\n";
    for (const ViewColumn& column : view.columns) {
      text += separator + row(view.name, column);
    }
  }
  return text + ";\n";
}

}  // namespace tunedgemm::internal
