#include "kernel_templates/source.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "kernel_templates/sha256.h"

namespace tunedgemm {

// Made by embed.cmake.
extern const SourceFile kEmbeddedCuda[];
extern const std::size_t kEmbeddedCudaCount;
extern const SourceFile kEmbeddedHost[];
extern const std::size_t kEmbeddedHostCount;

namespace {

constexpr std::size_t kFingerprintDigits = 32;

// A field that is followed by its length cannot run into the next one.
void append_field(std::string& text, std::string_view field) {
  text += std::to_string(field.size());
  text += ':';
  text += field;
}

std::string_view include_of(std::string_view line) {
  constexpr std::string_view kDirective = "#include \"";
  if (!line.starts_with(kDirective)) {
    return {};
  }
  line.remove_prefix(kDirective.size());
  return line.substr(0, line.find('"'));
}

// A word includes its siblings by their bare names, a chapter by "words/...".
std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

const std::vector<SourceFile>& embedded_files(Backend backend) {
  static const std::vector<SourceFile> cuda(kEmbeddedCuda, kEmbeddedCuda + kEmbeddedCudaCount);
  static const std::vector<SourceFile> host(kEmbeddedHost, kEmbeddedHost + kEmbeddedHostCount);
  return backend == Backend::kCuda ? cuda : host;
}

SourceFile embedded_file(Backend backend, std::string_view file_name) {
  for (const SourceFile& file : embedded_files(backend)) {
    if (file.name == file_name) {
      return file;
    }
  }
  throw std::out_of_range("no embedded " + std::string(name(backend)) + " kernel file " +
                          std::string(file_name));
}

std::vector<SourceFile> included_files(Backend backend, const SourceFile& file) {
  std::vector<SourceFile> found;
  std::vector<SourceFile> to_read{file};
  while (!to_read.empty()) {
    std::string_view text = to_read.back().text;
    to_read.pop_back();
    while (!text.empty()) {
      const std::size_t line_end = std::min(text.find('\n'), text.size() - 1) + 1;
      const std::string_view included = include_of(text.substr(0, line_end));
      text.remove_prefix(line_end);
      if (included.empty()) {
        continue;
      }
      const SourceFile word = embedded_file(backend, "words/" + std::string(base_name(included)));
      if (std::none_of(found.begin(), found.end(),
                       [&](const SourceFile& known) { return known.name == word.name; })) {
        found.push_back(word);
        to_read.push_back(word);
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const SourceFile& left, const SourceFile& right) { return left.name < right.name; });
  return found;
}

std::string without_comments(std::string_view text) {
  enum class State { kCode, kString, kCharacter, kLineComment, kBlockComment };
  State state = State::kCode;
  std::string code;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char here = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    switch (state) {
      case State::kCode:
        if (here == '/' && (next == '/' || next == '*')) {
          state = next == '/' ? State::kLineComment : State::kBlockComment;
          ++at;
          continue;
        }
        state = here == '"' ? State::kString : here == '\'' ? State::kCharacter : State::kCode;
        break;
      case State::kString:
      case State::kCharacter:
        if (here == '\\') {
          code += here;
          code += next;
          ++at;
          continue;
        }
        if (here == (state == State::kString ? '"' : '\'')) {
          state = State::kCode;
        }
        break;
      case State::kLineComment:
        if (here != '\n') {
          continue;
        }
        state = State::kCode;
        break;
      case State::kBlockComment:
        if (here == '*' && next == '/') {
          state = State::kCode;
          ++at;
        }
        continue;
    }
    // Blank lines and the spaces at a line's end go as well.
    if (here == '\n') {
      code.erase(code.find_last_not_of(" \t\n") + 1);
      if (code.empty()) {
        continue;
      }
    }
    code += here;
  }
  return code;
}

std::string template_fingerprint(const SourceFile& file, const std::vector<SourceFile>& includes) {
  std::string text;
  append_field(text, file.name);
  append_field(text, without_comments(file.text));
  for (const SourceFile& include : includes) {
    append_field(text, include.name);
    append_field(text, without_comments(include.text));
  }
  return sha256_hex(text, kFingerprintDigits);
}

std::string fingerprint(const Source& source) {
  std::string text = template_fingerprint(source.file, source.includes);
  for (const auto& [macro, value] : source.defines) {
    append_field(text, macro);
    append_field(text, value);
  }
  append_field(text, source.entry);
  append_field(text, source.needs_exact_architecture ? "exact" : "");
  return sha256_hex(text, kFingerprintDigits);
}

std::string command_line(const Source& source, const DeviceLimits& limits) {
  const bool cuda = source.backend == Backend::kCuda;
  std::string line = cuda
                         ? "nvcc -std=c++20 -cubin -arch=sm_" + std::to_string(limits.arch) +
                               (source.needs_exact_architecture ? "a" : "")
                         : "c++ -std=c++20 -O3 -march=native -shared -fPIC -Ikernel_templates/cuda";
  for (const auto& [macro, value] : source.defines) {
    line.append(" -D").append(macro).append("=").append(value);
  }
  return line + " kernel_templates/" + std::string(name(source.backend)) + "/" +
         std::string(source.file.name);
}

}  // namespace tunedgemm
