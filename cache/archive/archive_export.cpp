// The part of Archive that makes a copy to give away. A plain copy of the file would miss what is
// in its journal or log.

#include <sys/stat.h>

#include "cache/archive/archive.h"
#include "cache/file/publish.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

void copy(sqlite::Connection& from, const fs::path& to) {
  sqlite::Statement(from, "VACUUM INTO ?").bind(to.string()).run();
  // Who tunes what here, who misses what, and which hardware is here, means nothing where the copy
  // goes.
  auto copied = sqlite::Connection::open(to, sqlite::Connection::Mode::kReadWrite, 0);
  copied.execute(
      "DELETE FROM lease; DELETE FROM request; DELETE FROM meta WHERE name GLOB 'probe *'");
  // A file for all users of a machine must be readable by them.
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
