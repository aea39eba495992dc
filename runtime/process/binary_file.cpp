#include "runtime/process/binary_file.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace tunedgemm::internal {
namespace {

// At the start of the file; the entry and the machine code follow.
struct Header {
  std::int64_t registers = 0, shared_bytes = 0, spill_bytes = 0;
  double compile_ms = 0;
  std::uint64_t entry_bytes = 0, code_bytes = 0;
};

}  // namespace

std::optional<Binary> read_binary(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Header header;
  if (text.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, text.data(), sizeof header);
  const std::size_t left = text.size() - sizeof header;
  if (header.entry_bytes > left || header.code_bytes != left - header.entry_bytes ||
      header.code_bytes == 0) {
    return std::nullopt;
  }
  Binary binary;
  binary.entry = text.substr(sizeof header, header.entry_bytes);
  const auto* code =
      reinterpret_cast<const std::byte*>(text.data()) + sizeof header + header.entry_bytes;
  binary.code.assign(code, code + header.code_bytes);
  binary.registers = static_cast<int>(header.registers);
  binary.shared_bytes = header.shared_bytes;
  binary.spill_bytes = header.spill_bytes;
  binary.compile_ms = header.compile_ms;
  return binary;
}

bool write_binary(const std::filesystem::path& path, const Binary& binary) {
  std::ofstream file(path, std::ios::binary);
  const Header header{.registers = binary.registers,
                      .shared_bytes = binary.shared_bytes,
                      .spill_bytes = binary.spill_bytes,
                      .compile_ms = binary.compile_ms,
                      .entry_bytes = binary.entry.size(),
                      .code_bytes = binary.code.size()};
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(binary.entry.data(), static_cast<std::streamsize>(binary.entry.size()));
  file.write(reinterpret_cast<const char*>(binary.code.data()),
             static_cast<std::streamsize>(binary.code.size()));
  file.close();
  return !file.fail();
}

}  // namespace tunedgemm::internal
