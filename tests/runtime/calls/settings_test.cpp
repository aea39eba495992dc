// Tests settings that contexts take from the environment by default, and the log.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernel_templates/base/log.h"
#include "runtime/calls/arguments.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/environment_variable.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.hpp"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

ContextOptions default_options() {
  return checked_options(static_cast<const tunedgemm_context_options*>(nullptr));
}

std::string refusal_with(const char* variable, const std::string& value) {
  const EnvironmentVariable set(variable, value);
  try {
    static_cast<void>(default_options());
    return "";
  } catch (const CallError& error) {
    return error.what();
  }
}

using Messages = std::vector<std::pair<tunedgemm_log_level, std::string>>;

// Collects the library's messages during its lifetime.
class [[nodiscard]] CollectedLog {
 public:
  CollectedLog() {
    const auto collect = [](void* log, tunedgemm_log_level level, const char* sentence) {
      static_cast<CollectedLog*>(log)->messages_.emplace_back(level, sentence);
    };
    tunedgemm_set_log(collect, this);
  }
  ~CollectedLog() { tunedgemm_set_log(nullptr, nullptr); }
  CollectedLog(const CollectedLog&) = delete;
  CollectedLog& operator=(const CollectedLog&) = delete;

  const Messages& messages() const { return messages_; }

 private:
  Messages messages_;
};

// Returns the function's output to standard error.
template <class Function>
std::string standard_error_of(const Function& function) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "stderr";
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  std::FILE* const file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  dup2(fileno(file), STDERR_FILENO);
  function();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  std::fclose(file);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Standard error is a terminal during its lifetime.
class [[nodiscard]] Terminal {
 public:
  Terminal() : screen_(posix_openpt(O_RDWR | O_NOCTTY)), before_(dup(STDERR_FILENO)) {
    REQUIRE((screen_ >= 0 && grantpt(screen_) == 0 && unlockpt(screen_) == 0));
    fcntl(screen_, F_SETFL, O_NONBLOCK);
    const int terminal = open(ptsname(screen_), O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
  }
  ~Terminal() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    close(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// What has been written so far.
  const std::string& text() {
    std::array<char, 4096> part{};
    for (ssize_t length = 1; length > 0;
         text_.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)))) {
      length = read(screen_, part.data(), part.size());
    }
    return text_;
  }

 private:
  const int screen_, before_;
  std::string text_;
};

std::string written_with(const std::string& level) {
  const EnvironmentVariable set("TUNEDGEMM_LOG", level);
  tunedgemm_set_log(nullptr, nullptr);  // makes the next message read the variable
  std::string text = standard_error_of([] {
    log_info("an event");
    log_warning("a trouble");
  });
  tunedgemm_set_log(nullptr, nullptr);
  return text;
}

TEST_CASE("The environment sets rigor and time limit of contexts that leave them open") {
  CHECK(default_options().rigor == Rigor::kNormal);
  CHECK(default_options().budget.seconds == 0);
  const EnvironmentVariable rigor("TUNEDGEMM_RIGOR", "quick");
  const EnvironmentVariable seconds("TUNEDGEMM_TUNE_SECONDS", "2.5");
  CHECK(default_options().rigor == Rigor::kQuick);
  CHECK(default_options().budget.seconds == 2.5);

  const tunedgemm_context_options options{.rigor = TUNEDGEMM_RIGOR_EXHAUSTIVE, .tune_seconds = 7};
  CHECK(checked_options(&options).rigor == Rigor::kExhaustive);
  CHECK(checked_options(&options).budget.seconds == 7);
}

TEST_CASE("A value in the environment that cannot be used is refused by its name") {
  CHECK_THAT(refusal_with("TUNEDGEMM_RIGOR", "Quick"),
             Equals("TUNEDGEMM_RIGOR is \"Quick\"; use quick, normal or exhaustive"));
  CHECK_THAT(refusal_with("TUNEDGEMM_RIGOR", "model"), ContainsSubstring("TUNEDGEMM_RIGOR is"));
  for (const char* value : {"0", "-1", "10s", "nan", "inf", " "}) {
    CHECK_THAT(refusal_with("TUNEDGEMM_TUNE_SECONDS", value),
               Equals(std::string("TUNEDGEMM_TUNE_SECONDS is \"") + value +
                      "\"; use a number of seconds above 0"));
  }
  for (const char* value : {"abc", "0", "1.5", "99999999999999999999"}) {
    CHECK_THAT(refusal_with("TUNEDGEMM_THREADS", value),
               ContainsSubstring(std::string("TUNEDGEMM_THREADS is \"") + value + "\""));
  }
  CHECK_THAT(refusal_with("TUNEDGEMM_POLICY", "never"), ContainsSubstring("TUNEDGEMM_POLICY is"));
}

TEST_CASE("A function of the program receives the messages, among them that a call tunes") {
  const CollectedLog log;
  const tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_HOST,
                                    .host_threads = 1,
                                    .cache_path = "",
                                    .policy = TUNEDGEMM_POLICY_TUNE,
                                    .rigor = TUNEDGEMM_RIGOR_QUICK,
                                    .tune_seconds = 100,
                                    .tune_candidates = 2});
  const std::vector<float> a(8 * 10, 1), b(10 * 9, 1);
  std::vector<float> d(8 * 9, std::nanf(""));
  tunedgemm::tuned_matmul(context, {.m = 8, .n = 9, .k = 10},
                          {.a = a.data(), .b = b.data(), .d = d.data()});
  CHECK(d == std::vector<float>(8 * 9, 10));
  const Messages::value_type begin{TUNEDGEMM_LOG_LEVEL_INFO,
                                   "a call tunes 8 x 9 x 10, f32→f32 ieee, in at most 100 s"};
  CHECK(std::ranges::count(log.messages(), begin) == 1);
  CHECK_THAT(log.messages().back().second,
             ContainsSubstring("the call's winner for 8 x 9 x 10, f32→f32 ieee is of the family "));
}

TEST_CASE("A call that tunes says so on a terminal while its first compilation goes on") {
  const TemporaryFolder folder;
  const std::filesystem::path compiler = folder.path() / "c++", ends = folder.path() / "ends";
  std::ofstream(compiler) << "#!/bin/sh\nuntil [ -e " << ends.string()
                          << " ]; do sleep 0.1; done\n";
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  const EnvironmentVariable set("TUNEDGEMM_CXX", compiler);
  const tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_HOST,
                                    .host_threads = 1,
                                    .cache_path = "",
                                    .policy = TUNEDGEMM_POLICY_TUNE,
                                    .tune_seconds = 100,
                                    .tune_candidates = 2});
  const std::vector<float> a(8 * 10, 1), b(10 * 9, 1);
  std::vector<float> d(8 * 9, std::nanf(""));
  const std::string sentence =
      "a first call tunes 8 x 9 x 10, f32→f32 ieee, once, in at most 100 s";
  Terminal terminal;
  auto call = std::async(std::launch::async, [&] {
    tunedgemm::tuned_matmul(context, {.m = 8, .n = 9, .k = 10},
                            {.a = a.data(), .b = b.data(), .d = d.data()});
  });
  CHECK(comes_true([&] { return terminal.text().find(sentence) != std::string::npos; }));
  std::ofstream(ends).close();
  call.get();
  CHECK(d == std::vector<float>(8 * 9, 10));
}

TEST_CASE("A function of the program receives the summary as an expected event") {
  const CollectedLog log;
  log_summary("1 call");
  CHECK(log.messages() == Messages{{TUNEDGEMM_LOG_LEVEL_INFO, "1 call"}});
}

TEST_CASE("The environment says which messages reach standard error") {
  const std::string usual = written_with("warn");
  CHECK_THAT(usual, ContainsSubstring("a trouble") && !ContainsSubstring("an event"));
  CHECK_THAT(written_with("info"), ContainsSubstring("a trouble") && ContainsSubstring("an event"));
  CHECK(written_with("off").empty());
  CHECK_THAT(written_with("summary"),
             ContainsSubstring("a trouble") && !ContainsSubstring("an event"));
  CHECK_THAT(written_with("loud"),
             ContainsSubstring("TUNEDGEMM_LOG is \"loud\"; use off, warn, info or summary") &&
                 ContainsSubstring("a trouble") && !ContainsSubstring("an event"));
}

}  // namespace
}  // namespace tunedgemm::internal
