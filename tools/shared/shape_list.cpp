#include "tools/shared/shape_list.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace tunedgemm {

std::vector<Shape> read_shape_list(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const int reason = errno;
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  if (!file || folder) {
    throw ShapeListError("the shape list " + path.string() +
                         " cannot be read: " + std::strerror(folder ? EISDIR : reason));
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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

}  // namespace tunedgemm
