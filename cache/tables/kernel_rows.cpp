#include "cache/tables/kernel_rows.h"

#include <string_view>

#include "kernel_templates/sha256.h"

namespace tunedgemm {
namespace {

std::string hash_of(const std::vector<std::byte>& code) {
  return sha256_hex({reinterpret_cast<const char*>(code.data()), code.size()});
}

}  // namespace

std::variant<Binary, KernelMiss> find_kernel(const sqlite::Connection& connection,
                                             const KernelKey& key) {
  sqlite::Statement find(
      connection,
      "SELECT code, sha256, entry, registers, shared_bytes, spill_bytes, compile_ms "
      "FROM kernel_v1 WHERE source = ? AND compiler = ? AND architecture = ?");
  if (!find.bind(key.source, key.compiler, key.architecture).step()) {
    return KernelMiss::kAbsent;
  }
  Binary binary;
  std::string hash;
  find.read(binary.code, hash, binary.entry, binary.registers, binary.shared_bytes,
            binary.spill_bytes, binary.compile_ms);
  if (hash_of(binary.code) != hash) {
    return KernelMiss::kDamaged;
  }
  return binary;
}

std::int64_t put_kernel(sqlite::Connection& connection, const KernelKey& key,
                        const Binary& binary) {
  const std::string hash = hash_of(binary.code);
  std::int64_t id = 0;
  sqlite::Statement known(connection,
                          "SELECT id FROM kernel "
                          "WHERE source = ? AND compiler = ? AND architecture = ? AND sha256 = ?");
  if (known.bind(key.source, key.compiler, key.architecture, hash).step()) {
    known.read(id);
    return id;
  }
  // Winners refer to the row, so one that is there keeps its id.
  sqlite::Statement put(
      connection,
      "INSERT INTO kernel (source, compiler, architecture, entry, code, sha256, registers, "
      "shared_bytes, spill_bytes, compile_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (source, compiler, architecture) DO UPDATE SET entry = excluded.entry, "
      "code = excluded.code, sha256 = excluded.sha256, registers = excluded.registers, "
      "shared_bytes = excluded.shared_bytes, spill_bytes = excluded.spill_bytes, "
      "compile_ms = excluded.compile_ms RETURNING id");
  put.bind(key.source, key.compiler, key.architecture, binary.entry, binary.code, hash,
           binary.registers, binary.shared_bytes, binary.spill_bytes, binary.compile_ms);
  put.step();
  put.read(id);
  put.run();
  return id;
}

void delete_kernel(sqlite::Connection& connection, const KernelKey& key) {
  sqlite::Statement remove(
      connection, "DELETE FROM kernel WHERE source = ? AND compiler = ? AND architecture = ?");
  remove.bind(key.source, key.compiler, key.architecture).run();
}

}  // namespace tunedgemm
