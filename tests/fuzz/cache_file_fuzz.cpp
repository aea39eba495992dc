// Opens damaged cache files. An intact file is edited and truncated; sometimes a file with the name
// of SQLite's journal is put beside it. Every call must return an answer or a message. At most one
// file may be set aside, and the new file must be intact.

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "cache/sqlite/schema.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "kernel_templates/base/log.h"
#include "tests/cache/support/sample.h"
#include "tests/fuzz/input.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kApplicationIdAt = 68, kVersionAt = 60, kHeaderBytes = 100;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string make_image() {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  StoreOptions options = sample::options(path);
  options.journal = StoreOptions::Journal::kRollback;
  {
    const auto store = Store::open(options);
    for (int m = 1; m <= 4; ++m) {
      store->put(sample::record(m), sample::source(m), sample::binary(300),
                 {sample::trial(64, m), sample::rejected(128, Reason::kWrongResult)});
      store->note_request(sample::problem(100 + m), sample::device(), m, "a layer");
    }
    store->put_note("probe a GPU", "0,0,1,1");
  }
  return read_file(path);
}

// The intact file that every input edits, made once.
const std::string& image() {
  static const std::string bytes = make_image();
  return bytes;
}

std::uint32_t number_at(const std::string& bytes, std::size_t offset) {
  std::uint32_t number = 0;
  for (std::size_t at = offset; at < offset + 4; ++at) {
    number = number << 8U | static_cast<unsigned char>(bytes[at]);
  }
  return number;
}

// Whether the file belongs to this library, in this version. Opening such a file must leave an
// intact file.
bool is_ours(const std::string& bytes) {
  return bytes.empty() ||
         (bytes.size() >= kHeaderBytes && number_at(bytes, kApplicationIdAt) == kApplicationId &&
          number_at(bytes, kVersionAt) <= static_cast<std::uint32_t>(kSchemaVersion));
}

std::string damaged_image(Input& input) {
  std::string bytes = image();
  for (std::size_t edits = input.below(16); edits > 0; --edits) {
    const std::size_t offset = input.take<std::uint32_t>() % bytes.size();
    const auto value = input.take<std::uint32_t>();
    // Overwrite one byte, four bytes, or the rest of a page.
    const std::size_t count =
        std::min(std::array<std::size_t, 3>{1, 4, 4096 - offset % 4096}.at(input.below(3)),
                 bytes.size() - offset);
    for (std::size_t at = 0; at < count; ++at) {
      bytes[offset + at] = static_cast<char>(value >> (8 * (at % 4)));
    }
  }
  if (input.below(4) == 0) {
    bytes.resize(input.take<std::uint32_t>() % (2 * bytes.size()));
  }
  return bytes;
}

void check_health(const Store& store) {
  const StoreHealth health = store.health();
  for (const std::string& warning : health.warnings) {
    must_hold(!warning.empty());
  }
  // A store that lost winners must say so.
  must_hold(health.state == StoreState::kReadWrite || !health.warnings.empty());
  must_hold(health.winners >= 0);
}

void look_at_all(const Store& store) {
  for (int m = 1; m <= 5; ++m) {
    const auto hit = store.find(sample::key(m), sample::limits());
    must_hold(!hit || hit->record.problem == sample::problem(m));
  }
  for (const WinnerWithState& winner : store.winners_with_state()) {
    must_hold(!winner.state.empty());
  }
  store.winners();
  store.neighbours(sample::problem(3), sample::device(), 4);
  store.distant_neighbours(sample::problem(3), sample::device(), 4);
  store.find_binaries(sample::source(1), sample::toolchain(), 90, "nvrtc 13.0");
  store.trials(sample::key(1));
  store.requests(sample::device());
  store.find_note("probe a GPU");
}

void write_all(Store& store) {
  store.put(sample::record(5), sample::source(5), sample::binary(100), {sample::trial(64, 5)});
  {
    const Lease lease = store.acquire(sample::key(1), 0);
    store.mark_in_flight(sample::key(1), "sample", sample::record(1).config,
                         sample::family().fingerprint());
  }
  store.put_trial(sample::key(2), sample::rejected(64, Reason::kTimedOut));
  store.put_binary(sample::source(7), sample::toolchain(), 90, sample::binary(50));
  store.forget_binary(sample::source(2), sample::toolchain(), 90);
  store.note_request(sample::problem(101), sample::device(), 1);
  store.forget({sample::key(4)});
  store.flush();
}

// Runs the queries that a user would type into the sqlite3 command.
void read_views(const fs::path& path) {
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadOnly, 0);
  for (const char* view : {"best", "trials", "failures", "missing", "stale", "coverage", "help",
                           "winner_v1", "kernel_v1"}) {
    sqlite::Statement rows(connection, std::string("SELECT * FROM ") + view);
    while (rows.step()) {
      for (int column = 0; column < rows.column_count(); ++column) {
        rows.value(column);
      }
    }
  }
}

void check_folder(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    // Only these files are allowed: the lock file, one file set aside, and SQLite's own files.
    must_hold(name == "cache.db" || name == "cache.db.lock" || name == "cache.db.corrupt" ||
              name.ends_with("-journal") || name.ends_with("-wal") || name.ends_with("-shm"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool is_quiet = [] {
    send_log_to([](LogLevel, std::string_view sentence) { must_hold(!sentence.empty()); });
    return true;
  }();
  must_hold(is_quiet);
  Input input(data, size);
  const std::string bytes = damaged_image(input);
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  write_file(path, bytes);
  constexpr std::array<const char*, 4> kBeside{"", "", "-journal", "-wal"};
  const std::string beside = kBeside.at(input.below(kBeside.size()));
  const bool uses_it = input.below(2) == 0;
  if (!beside.empty()) {
    write_file(path.string() + beside, input.rest());
  }
  StoreOptions options = sample::options(path);
  options.busy_timeout_ms = 100;

  options.access = StoreOptions::Access::kReadOnly;
  {
    const auto store = Store::open(options);
    look_at_all(*store);
    must_hold(store->health().state != StoreState::kReadWrite);
  }
  must_hold(!beside.empty() || read_file(path) == bytes);

  options.access = StoreOptions::Access::kReadWrite;
  if (uses_it) {
    const auto store = Store::open(options);
    look_at_all(*store);
    write_all(*store);
    look_at_all(*store);
    check_health(*store);
  }

  options.examination = StoreOptions::Examination::kWhole;
  bool is_written = false;
  {
    const auto store = Store::open(options);
    check_health(*store);
    is_written = store->health().state == StoreState::kReadWrite;
    // A journal beside the file may hold a transaction that changes the header.
    must_hold(is_written || !is_ours(bytes) || !beside.empty());
    write_all(*store);
    look_at_all(*store);
  }
  check_folder(folder.path());
  if (!is_written) {
    return 0;
  }
  const auto store = Store::open(options);
  must_hold(store->health().state == StoreState::kReadWrite && store->health().warnings.empty());
  must_hold(store->find(sample::key(5), sample::limits()).has_value());
  read_views(path);
  check_folder(folder.path());
  return 0;
}
