// The part of Archive that exports a copy. Copying the file itself would lose the changes in its
// journal or write-ahead log.

#include <sys/stat.h>

#include "cache/archive/archive.h"
#include "cache/file/publish.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

void copy(sqlite::Connection& from, const fs::path& to) {
  sqlite::Statement(from, "VACUUM INTO ?").bind(to.string()).run();
  // Leases, requests and probes are local to this machine.
  auto copied = sqlite::Connection::open(to, sqlite::Connection::Mode::kReadWrite, 0);
  copied.execute(
      "DELETE FROM lease; DELETE FROM request; DELETE FROM meta WHERE name GLOB 'probe *'");
  // A system file must be readable by all users.
  chmod(to.c_str(), S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
}

}  // namespace

std::string Archive::export_to(const fs::path& destination) {
  write_pending();
  const fs::path target = fs::absolute(destination);
  const DatabaseUse use;
  const std::lock_guard lock(databases_);
  if (!file_ && !memory_) {
    return "nothing has been stored yet, so there is nothing to write to " + target.string();
  }
  sqlite::Connection& source = file_ ? file_->connection : *memory_;
  const PrivateBuild build(target, [&](const fs::path& path) { copy(source, path); });
  return build.publish_unless_there()
             ? ""
             : target.string() + " is there already: remove it or choose another name";
}

}  // namespace tunedgemm::internal
