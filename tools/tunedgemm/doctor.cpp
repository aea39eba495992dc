// tunedgemm doctor: reports the cache, the devices and compilers, and whether tuning can work.

#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/base/environment.h"
#include "kernel_templates/family.h"
#include "runtime/backend.h"
#include "runtime/calls/arguments.h"
#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct DoctorOptions {
  std::string cache;
  bool json = false;
};

constexpr std::string_view kGood = "ok";
constexpr std::string_view kAbsent = "absent";  // but not needed
constexpr std::string_view kBroken = "BROKEN";  // prevents tuning

struct Finding {
  std::string subject;
  std::string_view state;
  std::string text;
};
using Findings = std::vector<Finding>;

std::string gib_text(std::int64_t bytes) {
  return rounded_text(static_cast<double>(bytes) / (1 << 30)) + " GiB";
}

// Opens the cache as the library would. Creates a missing file, to find out whether that fails.
void examine_cache(const std::string& path, Findings& findings) {
  StoreOptions options;
  options.path = path;
  options.examination = StoreOptions::Examination::kWhole;
  const StoreHealth health = Store::open(options)->health();
  std::string text = health.path.string() + ": " + std::string(name(health.state)) + ", SQLite " +
                     health.sqlite_version;
  if (!health.journal_mode.empty()) {
    text += ", journal mode " + health.journal_mode;
    text += health.is_on_local_disk ? "" : ", not on a local disk";
  }
  text += ", " + counted(health.winners, "winner") +
          (health.system_files.empty() ? ", " : " with the system's caches, ") +
          rounded_text(static_cast<double>(health.file_bytes) / (1 << 20)) + " MiB";
  const std::string_view state = health.state == StoreState::kReadWrite ? kGood : kBroken;
  findings.push_back({"cache", state, text});
  for (const std::string& warning : health.warnings) {
    findings.push_back({"", state, warning});
  }
  for (const auto& [file, winners] : health.system_files) {
    findings.push_back(
        {"system cache", kGood, file.string() + ": read only, " + counted(winners, "winner")});
  }
}

// A call without a winner never compiles under this policy.
bool needs_compiler() {
  const std::string policy = environment("TUNEDGEMM_POLICY");
  return policy != "stored" && policy != "fail";
}

void examine_device(const Backend& backend, int ordinal, Findings& findings) {
  const std::string subject = backend.device_name(ordinal);
  try {
    const auto device = backend.open({.ordinal = ordinal});
    const DeviceIdentity& identity = device->identity();
    std::string text = identity.name + ", ";
    if (device->limits().is_gpu()) {
      text += std::to_string(identity.units) + " SMs, ";
    }
    text += gib_text(identity.memory_bytes) + ", " + device->toolchain().driver;
    findings.push_back({subject, kGood, text});
    const std::string reason = device->why_not_compile();
    Finding compiler{subject + " compiler", kGood, compiler_text(device->toolchain().compiler)};
    if (!reason.empty()) {
      compiler.state = needs_compiler() ? kBroken : kAbsent;
      compiler.text =
          reason + (needs_compiler() ? "; with TUNEDGEMM_POLICY=stored none is needed" : "");
    }
    findings.push_back(std::move(compiler));
  } catch (const DeviceError& error) {
    findings.push_back({subject, kBroken, error.what()});
  }
}

void examine_devices(const Backend& backend, Findings& findings) {
  std::string why_not;
  const int count = backend.device_count(&why_not);
  if (count == 0) {
    findings.push_back({std::string(backend.name()), kAbsent, why_not});
    return;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    examine_device(backend, ordinal, findings);
  }
  if (const std::string file = backend.compiler_file(); !file.empty()) {
    findings.push_back({std::string(backend.name()) + " compiler file", kGood, file});
  }
}

Finding list_families() {
  std::string text;
  for (const BackendFamilies* each : all_families()) {
    text += (text.empty() ? "" : "; ") + std::string(each->backend) + ":";
    for (const Family* family : each->families) {
      text += " " + std::string(family->name());
    }
  }
  return {"families", kGood, text};
}

void print(const Findings& findings) {
  Table table({{"what"}, {"state"}, {"details", Align::kLeft, Constant::kColumn, TooWide::kWrap}});
  for (const Finding& finding : findings) {
    table.add({finding.subject, std::string(finding.state), finding.text});
  }
  table.print_fitting(std::cout, sentence_width(STDOUT_FILENO));
}

void print_json(const Findings& findings) {
  Json array = Json::array();
  for (const Finding& finding : findings) {
    array.push_back(
        {{"what", finding.subject}, {"state", finding.state}, {"details", finding.text}});
  }
  std::cout << json_text(array, 2) << '\n';
}

ExitStatus doctor(const DoctorOptions& options) {
  Findings findings;
  examine_cache(options.cache, findings);
  for (const Backend* backend : backends()) {
    examine_devices(*backend, findings);
  }
  findings.push_back(list_families());
  for (const std::string& sentence : wrong_variables()) {
    findings.push_back({"environment", kBroken, sentence});
  }
  options.json ? print_json(findings) : print(findings);
  for (const Finding& finding : findings) {
    if (finding.state == kBroken) {
      return ExitStatus::kNoResult;
    }
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_doctor(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("doctor", "check the cache, the devices and the compilers");
  const auto options = std::make_shared<DoctorOptions>();
  add_cache_option(*verb, options->cache);
  verb->add_flag("--json", options->json, "print a JSON array");
  verb->footer("Exit status 1: something is BROKEN, and tuning would fail.");
  verb->callback([options, &status] { status = doctor(*options); });
}

}  // namespace tunedgemm::internal
