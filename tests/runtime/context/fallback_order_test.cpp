// The order in which the policies seek a kernel, as a table: what a call gets from each cache.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/context/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/runtime/support/plain_device.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

enum class Compiler { kWorks, kFails, kMissing };

class CompilingDevice final : public PlainDevice {
 public:
  CompilingDevice(const Problem& problem, Compiler compiler)
      : PlainDevice(problem, compiler == Compiler::kWorks ? Flaw::kNone : Flaw::kDoesNotCompile),
        compiler_(compiler) {}
  std::string why_not_compile() override {
    return compiler_ == Compiler::kMissing ? "there is no compiler" : "";
  }

 private:
  Compiler compiler_;
};

// The records that the cache has for the call.
enum Contents : unsigned {
  kNothing = 0,
  kWinner = 1,
  kBareWinner = 2,     // without its binary
  kFastOtherM = 4,     // expected within 5 %
  kSlowOtherM = 8,     // not within 5 %, but within 10000 %
  kUntunedKernel = 16  // the model's choice, stored
};

constexpr int kN = 51, kK = 31;

CanonicalProblem problem_with(int m) {
  return canonical(to_problem(HostCall(m, kN, kK).key()));
}

// Stores the winner as measured in the time that the model predicts for it.
void store_predicted(Context& context, const Instance& winner, bool has_binary) {
  PlainDevice working(winner.problem, Flaw::kNone);
  Record record = winner_record(winner, context.device());
  const double us = winner.predicted_us;
  record.measurement = {.median_us = us, .low_us = us, .high_us = us, .samples_us = {1, 1}};
  const Source source = winner.source();
  const Binary binary = has_binary ? std::get<Binary>(working.compile(source)) : Binary{};
  REQUIRE(context.store().put(record, source, binary, {}).stored);
}

void fill(Context& context, unsigned contents) {
  const DeviceLimits& limits = context.device().limits();
  const auto ranked = ranked_candidates(problem_with(8), limits);
  if ((contents & (kWinner | kBareWinner)) != 0) {
    store_predicted(context, ranked.at(1), (contents & kWinner) != 0);
  }
  if ((contents & kFastOtherM) != 0) {
    store_predicted(context, ranked_candidates(problem_with(9), limits).front(), true);
  }
  if ((contents & kSlowOtherM) != 0) {
    store_predicted(context, ranked_candidates(problem_with(640), limits).back(), true);
  }
  if ((contents & kUntunedKernel) != 0) {
    PlainDevice working(problem_with(8), Flaw::kNone);
    const Source source = ranked.front().source();
    context.store().put_binary(source, context.device().toolchain(), limits.arch,
                               std::get<Binary>(working.compile(source)));
  }
}

// The plan's origin, with "+" for each compilation that was begun; "miss" if the call fails with
// NOT_TUNED, "none" if it fails with UNSUPPORTED.
std::string outcome(unsigned contents, Policy policy, Compiler compiler, double accepted_loss) {
  const PlainBackend backend(
      [&] { return std::make_unique<CompilingDevice>(problem_with(8), compiler); });
  ContextOptions options;
  options.backend = &backend;
  options.policy = policy;
  options.store.access = StoreOptions::Access::kMemoryOnly;
  options.rigor = Rigor::kQuick;
  options.budget = {.seconds = 100, .candidates = 1};
  const auto context = Context::create(options);
  context->freeze();
  fill(*context, contents);
  try {
    const Plan& plan = context->plan(HostCall(8, kN, kK).checked(), {}, {}, "", accepted_loss);
    const std::string_view name = plan.origin.kind == Origin::kTuned     ? "tuned"
                                  : plan.origin.kind == Origin::kOtherM  ? "other M"
                                  : plan.origin.kind == Origin::kNearest ? "nearest"
                                  : plan.origin.kind == Origin::kModel   ? "model"
                                                                         : "?";
    CHECK(plan.is_final == (name == "tuned"));
    return std::string(name) +
           std::string(static_cast<std::size_t>(context->kernel_counters().compiled), '+') +
           (context->rankings() > 1 ? " (ranked again)" : "");
  } catch (const CallError& error) {
    return error.kind() == CallError::Kind::kNotTuned      ? "miss"
           : error.kind() == CallError::Kind::kUnsupported ? "none"
                                                           : error.what();
  }
}

struct Row {
  unsigned contents;
  std::string fail, stored, tune_in_background, compile, tune;
};

void check(const std::vector<Row>& rows, Compiler compiler, double accepted_loss) {
  for (const Row& row : rows) {
    INFO("contents " << row.contents << ", accepted loss " << accepted_loss);
    const auto outcome_under = [&](Policy policy) {
      return outcome(row.contents, policy, compiler, accepted_loss);
    };
    CHECK(outcome_under(Policy::kFail) == row.fail);
    CHECK(outcome_under(Policy::kStored) == row.stored);
    CHECK(outcome_under(Policy::kTuneInBackground) == row.tune_in_background);
    CHECK(outcome_under(Policy::kCompile) == row.compile);
    CHECK(outcome_under(Policy::kTune) == row.tune);
  }
}

// clang-format off

TEST_CASE("Each policy seeks a kernel in its order") {
  check({
      // cache                       fail         stored       background compile    tune
      {kNothing,                     "miss",   "miss",    "model+",  "model+",  "tuned"},
      {kWinner,                      "tuned",  "tuned",   "tuned",   "tuned",   "tuned"},
      {kBareWinner,                  "tuned+", "miss",    "tuned+",  "tuned+",  "tuned+"},
      {kFastOtherM,                  "miss",   "other M", "other M", "other M", "tuned"},
      {kSlowOtherM,                  "miss",   "other M", "other M", "model+",  "tuned"},
      {kUntunedKernel,               "miss",   "model",   "model",   "model",   "tuned"},
      {kWinner | kFastOtherM,        "tuned",  "tuned",   "tuned",   "tuned",   "tuned"},
      {kBareWinner|kFastOtherM,      "tuned+", "other M", "other M", "tuned+",  "tuned+"},
      {kFastOtherM | kUntunedKernel, "miss",   "other M", "other M", "other M", "tuned"},
      {kSlowOtherM | kUntunedKernel, "miss",   "other M", "other M", "model",   "tuned"},
  }, Compiler::kWorks, 0);
}

TEST_CASE("A caller's accepted loss is that of policies tune and compile") {
  check({
      {kNothing,                     "miss",   "miss",    "model+",  "model+",  "tuned"},
      {kSlowOtherM,                  "miss",   "other M", "other M", "other M", "other M"},
      {kWinner | kSlowOtherM,        "tuned",  "tuned",   "tuned",   "tuned",   "tuned"},
      {kBareWinner|kSlowOtherM,      "tuned+", "other M", "other M", "tuned+",  "tuned+"},
      {kSlowOtherM | kUntunedKernel, "miss",   "other M", "other M", "other M", "other M"},
  }, Compiler::kWorks, 100);
}

TEST_CASE("If nothing compiles, every policy but fail runs a stored kernel, tuned or not") {
  check({
      {kNothing,                  "miss",  "miss",    "none",    "none",            "none"},
      {kWinner,                   "tuned", "tuned",   "tuned",   "tuned",           "tuned"},
      {kBareWinner,               "miss",  "miss",    "none",    "none",            "none"},
      {kFastOtherM,               "miss",  "other M", "other M", "other M",         "other M"},
      {kSlowOtherM,               "miss",  "other M", "other M", "other M++++++++", "tuned"},
      {kUntunedKernel,            "miss",  "model",   "model",   "model",           "tuned"},
      {kBareWinner | kFastOtherM, "miss",  "other M", "other M", "other M+",        "other M+"},
  }, Compiler::kFails, 0);
  check({
      {kNothing,                     "miss",  "miss",    "none",    "none",    "none"},
      {kWinner,                      "tuned", "tuned",   "tuned",   "tuned",   "tuned"},
      {kBareWinner,                  "miss",  "miss",    "none",    "none",    "none"},
      {kSlowOtherM,                  "miss",  "other M", "other M", "other M", "other M"},
      {kUntunedKernel,               "miss",  "model",   "model",   "model",   "model"},
      {kBareWinner | kUntunedKernel, "miss",  "model",   "model",   "model",   "model"},
  }, Compiler::kMissing, 0);
}
// clang-format on

}  // namespace
}  // namespace tunedgemm::internal
