#include "tools/tune_all/comparison.h"

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "tools/shared/program.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/bench_output.h"
#include "tools/tunedgemm/bench_race.h"

namespace tunedgemm::internal {
namespace {

// A failed race leaves its reason in the row, and in the session if it is the device's.
BenchRow race(const Outcome& outcome, Context& context, Baseline& vendor, Session& session) {
  const Record& winner = *outcome.record;
  BenchRow failed;
  failed.shape = outcome.shape;
  try {
    return race_kernels(context, outcome.shape,
                        {{"tuned", {find_family(winner.family), winner.config}}}, &vendor,
                        {.rounds = 7,
                         .cool_down = std::chrono::milliseconds(5),
                         .cancelled = interrupted,
                         .proposals = 1});
  } catch (const DeviceError& error) {
    failed.failure = error.what();
    if (error.kind() != DeviceError::Kind::kOutOfMemory) {
      session.device_failure = error.what();
    }
  } catch (const std::runtime_error& error) {
    failed.failure = error.what();
  }
  return failed;
}

}  // namespace

std::unique_ptr<Baseline> open_vendor(const std::string& name, Device& device) {
  const std::string option = "--against " + name + ": ";
  const std::string expected(name_of_baseline(device.limits().backend));
  if (name != expected) {
    throw std::invalid_argument(option + "the library of the device " + device.identity().name +
                                " is " + expected);
  }
  std::string why_not;
  auto vendor = open_baseline(device, &why_not);
  if (vendor == nullptr) {
    throw std::invalid_argument(option + why_not);
  }
  return vendor;
}

void compare(Session& session, Context& context, Baseline& vendor, const SessionOptions& options) {
  session.vendor = vendor.name() + " " + vendor.version();
  std::vector<Outcome*> to_race;
  for (Outcome& outcome : session.outcomes) {
    if (outcome.record && (options.shape.force || outcome.record->vendor != session.vendor)) {
      to_race.push_back(&outcome);
    }
  }
  if (to_race.empty()) {
    return;
  }
  context.complete_probe();
  std::cerr << "racing " << counted(to_race.size(), "winner") << " against " << session.vendor
            << '\n';
  BenchProgress progress(std::cerr, to_race.size());
  for (Outcome* const outcome : to_race) {
    if (interrupted() || !session.device_failure.empty()) {
      break;
    }
    progress.shape_begins(outcome->shape);
    const BenchRow row = race(*outcome, context, vendor, session);
    progress.shape_ends(row);
    const BenchContender* const ours = tuned_contender(row);
    const BenchContender* const theirs = baseline_best(row);
    if (theirs == nullptr) {
      outcome->not_compared = row.remarks.empty() ? row.failure : row.remarks.front();
    } else if (!interrupted()) {
      Record& winner = *outcome->record;
      winner.vendor_us = theirs->median_us * (winner.measurement.median_us / ours->median_us);
      winner.vendor = session.vendor;
      context.store().put_comparison(winner);
    }
  }
  session.interrupted = interrupted();
}

}  // namespace tunedgemm::internal
