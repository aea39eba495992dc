#include "tools/shared/shape_list.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <utility>

namespace tunedgemm::internal {
namespace {

// Millions of shapes. A device such as /dev/zero has no end.
constexpr std::size_t kLongestList = std::size_t{256} << 20;

// Empty if there is more.
std::optional<std::string> read_at_most(std::istream& file, std::size_t most) {
  std::string text;
  std::array<char, 1 << 16> chunk{};
  do {
    file.read(chunk.data(), chunk.size());
    text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
  } while (file && text.size() <= most);
  return text.size() <= most ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace

std::vector<Shape> read_shape_list(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const int reason = errno;
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  if (!file || folder) {
    throw ShapeListError("the shape list " + path.string() +
                         " cannot be read: " + std::strerror(folder ? EISDIR : reason));
  }
  const std::optional<std::string> whole = read_at_most(file, kLongestList);
  if (!whole) {
    throw ShapeListError("the shape list " + path.string() + " has more than " +
                         std::to_string(kLongestList >> 20) +
                         " MiB; split it, if it is a list at all");
  }
  const std::string& text = *whole;
  try {
    auto shapes = path.extension() == ".json" ? parse_json_shapes(text) : parse_csv_shapes(text);
    if (shapes.empty()) {
      throw ShapeListError("the shape list " + path.string() + " has no shapes in it");
    }
    return shapes;
  } catch (const ShapeError& error) {
    const auto [line, column] = error.at();
    throw ShapeListError(path.string() + ":" + std::to_string(line) + ":" + std::to_string(column) +
                         ": " + error.what());
  }
}

}  // namespace tunedgemm::internal
