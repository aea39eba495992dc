// The accumulation class of invariant problems is stored, and a change of it is told.

#include <string>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/base/log.h"
#include "runtime/backend.h"
#include "runtime/tuning/stored_winners.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

constexpr const char* kNote = "accumulation class of f16→f16 on host 0";

// The messages of a process that looks the problem up.
std::vector<std::string> messages_of(const std::filesystem::path& path, const Problem& problem,
                                     std::string_view stored_before = {}) {
  StoreOptions options;
  options.path = path;
  const auto store = Store::open(options);
  const auto device = host_backend().open({});
  if (!stored_before.empty()) {
    store->put_note(kNote, stored_before);
  }
  std::vector<std::string> messages;
  send_log_to([&](LogLevel, std::string_view sentence) { messages.emplace_back(sentence); });
  CHECK_FALSE(StoredWinners(*device, *store).find(canonical(problem)));
  send_log_to_standard_error();
  CHECK(store->find_note(kNote) == (problem.invariant != 0 ? "in_order" : stored_before));
  return messages;
}

}  // namespace

TEST_CASE("The class of invariant problems is stored, and its change is told once") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  Problem problem = make_problem(4, 8, 8, DataType::kF16, DataType::kF16, DataType::kF16);
  CHECK(messages_of(path, problem).empty());
  problem.invariant = 1;
  CHECK(messages_of(path, problem).empty());
  problem.m = 100;  // another M
  CHECK(messages_of(path, problem).empty());
  const auto told = messages_of(path, problem, "older");
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("have other bits than before") != std::string::npos);
  CHECK(told[0].find("the accumulation class older, and this version has in_order") !=
        std::string::npos);
  CHECK(messages_of(path, problem).empty());
}

TEST_CASE("Merged and exported caches keep the class of invariant problems") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db", other = folder.path() / "other.db";
  Problem problem = make_problem(4, 8, 8, DataType::kF16, DataType::kF16, DataType::kF16);
  problem.invariant = 1;
  messages_of(other, problem);
  StoreOptions options;
  options.path = path;
  const auto store = Store::open(options);
  REQUIRE(store->merge(other).failure == "");
  CHECK(store->find_note(kNote) == "in_order");
  store->put_note(kNote, "mine");
  REQUIRE(store->merge(other).failure == "");
  CHECK(store->find_note(kNote) == "mine");
}

}  // namespace tunedgemm::internal
