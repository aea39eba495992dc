#include "cache/record.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <sstream>

#include "kernel_templates/base/sha256.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kFingerprintDigits = 32;
constexpr std::array kRigors{Rigor::kModel, Rigor::kQuick, Rigor::kNormal, Rigor::kExhaustive};

// The CPU features in a compiler's identity ("... for avx2+fma"): those that its machine code may
// use. Empty if it may use only the architecture's baseline.
std::set<std::string> cpu_features(std::string_view compiler) {
  constexpr std::string_view kSeparator = " for ";
  std::set<std::string> features;
  const std::size_t at = compiler.rfind(kSeparator);
  if (at != compiler.npos) {
    std::istringstream words{std::string(compiler.substr(at + kSeparator.size()))};
    for (std::string feature; std::getline(words, feature, '+');) {
      features.insert(feature);
    }
  }
  return features;
}

}  // namespace

bool runs_machine_code(std::string_view compiler, std::string_view made_by) {
  const std::set<std::string> has = cpu_features(compiler), needs = cpu_features(made_by);
  return std::ranges::includes(has, needs);
}

Match match(const Toolchain& record, const Toolchain& requested) {
  const std::string_view compiler = requested.compiler;
  const bool has_none = compiler.substr(0, compiler.find(" for ")) == "none";
  return record == requested || (has_none && record.driver == requested.driver) ? Match::kExact
                                                                                : Match::kStale;
}

std::int64_t in_whole_gib(std::int64_t bytes) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  return (bytes + kGiB - 1) / kGiB * kGiB;
}

// A fingerprint is the hash of a text with one line for each field. No value contains a line break,
// so equal texts mean equal values.

std::string fingerprint(const DeviceIdentity& device) {
  std::string text = "backend=" + device.backend;
  text += "\nname=" + device.name;
  text += "\ncompute_capability=" + std::to_string(device.compute_capability);
  text += "\nunits=" + std::to_string(device.units);
  text += "\nmemory_bytes=" + std::to_string(device.memory_bytes);
  text += "\nl2_bytes=" + std::to_string(device.l2_bytes);
  text += "\nclock_mhz=" + std::to_string(device.clock_mhz);
  text += "\npower_limit_watts=" + std::to_string(device.power_limit_watts);
  return sha256_hex(text, kFingerprintDigits);
}

std::string fingerprint(const Toolchain& toolchain) {
  return sha256_hex("compiler=" + toolchain.compiler + "\ndriver=" + toolchain.driver,
                    kFingerprintDigits);
}

std::string_view name(Reason reason) {
  switch (reason) {
    case Reason::kCompileFailed:
      return "compile failed";
    case Reason::kSpills:
      return "spills";
    case Reason::kLoadFailed:
      return "load failed";
    case Reason::kLaunchFailed:
      return "launch failed";
    case Reason::kWrongResult:
      return "wrong result";
    case Reason::kOutOfBounds:
      return "out of bounds";
    case Reason::kTooSlow:
      return "too slow";
    case Reason::kTimedOut:
      return "timed out";
    case Reason::kCrashed:
      return "crashed";
    case Reason::kImplausible:
      return "implausible";
    case Reason::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

std::string to_text(const Rejection& rejection) {
  return std::string(name(rejection.reason)) + ": " + rejection.detail;
}

std::string_view name(Rigor rigor) {
  switch (rigor) {
    case Rigor::kModel:
      return "model";
    case Rigor::kQuick:
      return "quick";
    case Rigor::kNormal:
      return "normal";
    case Rigor::kExhaustive:
      return "exhaustive";
  }
  return "unknown";
}

std::optional<Rigor> parse_rigor(std::string_view text) {
  for (const Rigor rigor : kRigors) {
    if (name(rigor) == text) {
      return rigor;
    }
  }
  return std::nullopt;
}

std::optional<Rigor> parse_rigor_of_user(std::string_view text) {
  const std::optional<Rigor> rigor = parse_rigor(text);
  return rigor == Rigor::kModel ? std::nullopt : rigor;
}

bool is_confirmed(const Record& record) {
  return record.complete && record.rigor >= Rigor::kNormal;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {text.data(), length};
}

}  // namespace tunedgemm::internal
