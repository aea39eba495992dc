#include "cache/tables/rows.h"

#include <string_view>
#include <utility>

#include "kernel_templates/base/sha256.h"

namespace tunedgemm::internal {

std::string hash_of(const std::vector<std::byte>& code) {
  return sha256_hex({reinterpret_cast<const char*>(code.data()), code.size()});
}

FoundKernels find_kernels(const sqlite::Connection& connection, const KernelKey& key) {
  sqlite::Statement find(
      connection,
      "SELECT compiler, code, sha256, entry, registers, shared_bytes, spill_bytes, compile_ms "
      "FROM kernel_v1 WHERE source = ? AND architecture = ? ORDER BY compiler DESC");
  find.bind(key.source, key.architecture);
  FoundKernels found;
  while (find.step()) {
    StoredBinary row;
    std::string hash;
    find.read(row.compiler, row.binary.code, hash, row.binary.entry, row.binary.registers,
              row.binary.shared_bytes, row.binary.spill_bytes, row.binary.compile_ms);
    if (!runs_machine_code(key.compiler, row.compiler)) {
      continue;
    }
    if (hash_of(row.binary.code) == hash) {
      found.sound.push_back(std::move(row));
    } else {
      found.damaged.push_back({key.source, row.compiler, key.architecture});
    }
  }
  return found;
}

std::int64_t put_kernel(sqlite::Connection& connection, const KernelKey& key,
                        const Binary& binary) {
  const std::string hash = hash_of(binary.code);
  std::int64_t id = 0;
  sqlite::Statement same(connection,
                         "SELECT id FROM kernel "
                         "WHERE source = ? AND compiler = ? AND architecture = ? AND sha256 = ?");
  if (same.bind(key.source, key.compiler, key.architecture, hash).step()) {
    same.read(id);
    return id;
  }
  // Winners refer to the row, so an existing row keeps its id.
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

}  // namespace tunedgemm::internal
