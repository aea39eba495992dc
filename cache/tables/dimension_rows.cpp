#include "cache/tables/dimension_rows.h"

#include <algorithm>
#include <array>

namespace tunedgemm {
namespace {

struct Placed {
  const char* letter;
  const Matrix& matrix;
  std::int64_t rows, columns;
};

// The alignment that the matrix would have at a 16-byte aligned address.
std::int64_t natural_alignment(const Matrix& matrix) {
  const std::int64_t stride_bytes = matrix.leading_dimension * size_bytes(matrix.type);
  std::int64_t alignment = 16;
  while (stride_bytes % alignment != 0) {
    alignment /= 2;
  }
  return alignment;
}

std::string details_of(const Placed& placed, std::int64_t batch) {
  const auto& [letter, matrix, rows, columns] = placed;
  const bool row_major = matrix.order == Order::kRowMajor;
  const std::int64_t packed = row_major ? columns : rows;
  const std::int64_t lines = row_major ? rows : columns;
  std::string text;
  if (matrix.leading_dimension != packed) {
    text += std::string(" ld") + letter + "=" + std::to_string(matrix.leading_dimension);
  }
  if (batch > 1 && matrix.batch_stride != matrix.leading_dimension * lines) {
    text += std::string(" stride_") + letter + "=" + std::to_string(matrix.batch_stride);
  }
  if (matrix.alignment_bytes < natural_alignment(matrix)) {
    text += std::string(" align_") + letter + "=" + std::to_string(matrix.alignment_bytes);
  }
  return text;
}

}  // namespace

std::string details_text(const Problem& canonical) {
  const auto [m, n, k, batch] = std::array{canonical.m, canonical.n, canonical.k, canonical.batch};
  std::string text = details_of({"a", canonical.a, m, k}, batch);
  text += details_of({"b", canonical.b, k, n}, batch);
  if (canonical.beta != ScalarClass::kZero && !canonical.c_is_d) {
    text += details_of({"c", canonical.c, m, n}, batch);
  }
  text += details_of({"d", canonical.d, m, n}, batch);
  if (canonical.regime == Regime::kWarm) {
    text += " warm";
  }
  return text.empty() ? text : text.substr(1);
}

std::int64_t problem_row(sqlite::Connection& connection, const Problem& canonical) {
  const Problem& p = canonical;
  const std::string key = fingerprint(p);
  const std::array row{
      sqlite::Column{"fingerprint", key},
      sqlite::Column{"text", to_text(p)},
      sqlite::Column{"m", p.m},
      sqlite::Column{"n", p.n},
      sqlite::Column{"k", p.k},
      sqlite::Column{"batch", p.batch},
      sqlite::Column{"type_a", name(p.a.type)},
      sqlite::Column{"type_b", name(p.b.type)},
      sqlite::Column{"type_d", name(p.d.type)},
      sqlite::Column{"order_a", name(p.a.order)},
      sqlite::Column{"order_b", name(p.b.order)},
      sqlite::Column{"order_c", name(p.c.order)},
      sqlite::Column{"leading_dimension_a", p.a.leading_dimension},
      sqlite::Column{"leading_dimension_b", p.b.leading_dimension},
      sqlite::Column{"leading_dimension_c", p.c.leading_dimension},
      sqlite::Column{"leading_dimension_d", p.d.leading_dimension},
      sqlite::Column{"batch_stride_a", p.a.batch_stride},
      sqlite::Column{"batch_stride_b", p.b.batch_stride},
      sqlite::Column{"batch_stride_c", p.c.batch_stride},
      sqlite::Column{"batch_stride_d", p.d.batch_stride},
      sqlite::Column{"alignment_a", p.a.alignment_bytes},
      sqlite::Column{"alignment_b", p.b.alignment_bytes},
      sqlite::Column{"alignment_c", p.c.alignment_bytes},
      sqlite::Column{"alignment_d", p.d.alignment_bytes},
      sqlite::Column{"c_is_d", p.c_is_d},
      sqlite::Column{"alpha", name(p.alpha)},
      sqlite::Column{"beta", name(p.beta)},
      sqlite::Column{"activation", name(p.activation)},
      sqlite::Column{"bias", name(p.bias)},
      sqlite::Column{"numerics", name(p.numerics)},
      sqlite::Column{"regime", name(p.regime)},
      sqlite::Column{"types", types_text(p)},
      sqlite::Column{"layout", layout_text(p)},
      sqlite::Column{"epilogue", epilogue_text(p)},
      sqlite::Column{"details", details_text(p)},
      sqlite::Column{"flops", flops(p)},
      sqlite::Column{"minimum_bytes", minimum_bytes(p)},
  };
  return connection.find_or_insert("problem", {"fingerprint", key}, row);
}

std::int64_t device_row(sqlite::Connection& connection, const DeviceIdentity& device) {
  const std::string key = fingerprint(device);
  const std::array row{
      sqlite::Column{"fingerprint", key},
      sqlite::Column{"backend", backend_number(device.backend)},
      sqlite::Column{"name", device.name},
      sqlite::Column{"compute_capability", device.compute_capability},
      sqlite::Column{"units", device.units},
      sqlite::Column{"memory_bytes", device.memory_bytes},
      sqlite::Column{"l2_bytes", device.l2_bytes},
      sqlite::Column{"clock_mhz", device.clock_mhz},
      sqlite::Column{"power_limit_watts", device.power_limit_watts},
  };
  return connection.find_or_insert("device", {"fingerprint", key}, row);
}

std::int64_t toolchain_row(sqlite::Connection& connection, const Toolchain& toolchain) {
  const std::string key = fingerprint(toolchain);
  const std::array row{
      sqlite::Column{"fingerprint", key},
      sqlite::Column{"compiler", toolchain.compiler},
      sqlite::Column{"driver", toolchain.driver},
  };
  return connection.find_or_insert("toolchain", {"fingerprint", key}, row);
}

std::int64_t config_row(sqlite::Connection& connection, std::string_view family,
                        const Config& config) {
  const std::string knobs = to_text(config);
  const std::string text = std::string(family) + (knobs.empty() ? "" : " ") + knobs;
  const std::array row{
      sqlite::Column{"text", text},
      sqlite::Column{"family", family},
      sqlite::Column{"knobs", knobs},
  };
  return connection.find_or_insert("config", {"text", text}, row);
}

KeyRows key_rows(sqlite::Connection& connection, const TuningKey& key) {
  return KeyRows{problem_row(connection, key.problem), device_row(connection, key.device),
                 toolchain_row(connection, key.toolchain)};
}

void set_current_toolchain(sqlite::Connection& connection, const DeviceIdentity& device,
                           const Toolchain& toolchain) {
  const std::int64_t current = toolchain_row(connection, toolchain);
  sqlite::Statement update(connection, "UPDATE device SET toolchain = ?1 WHERE id = ?2");
  update.bind(current, device_row(connection, device)).run();
}

void set_current_family(sqlite::Connection& connection, const std::string& name,
                        const std::string& fingerprint) {
  connection.insert("INSERT OR REPLACE", "meta",
                    {{"name", "family " + name}, {"value", fingerprint}});
}

}  // namespace tunedgemm
