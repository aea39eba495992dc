#include "kernel_templates/source.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>

#include "kernel_templates/base/sha256.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

// Made by embed.cmake.
extern const SourceFile kEmbeddedFiles[];
extern const std::size_t kEmbeddedFileCount;

namespace {

constexpr std::size_t kFingerprintDigits = 32;

// A field that is followed by its length cannot run into the next one.
void append_field(std::string& text, std::string_view field) {
  text += std::to_string(field.size());
  text += ':';
  text += field;
}

constexpr std::string_view kIncludeDirective = "#include \"";

// Takes the first line, with its end, off the text.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
  text.remove_prefix(line.size());
  return line;
}

}  // namespace

SourceFile embedded_file(std::string_view name) {
  const std::span files(kEmbeddedFiles, kEmbeddedFileCount);
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const SourceFile& file) { return file.name == name; });
  if (found == files.end()) {
    throw std::out_of_range("no kernel file " + std::string(name) + " is embedded");
  }
  return *found;
}

std::string included_name(std::string_view line, std::string_view from) {
  if (!line.starts_with(kIncludeDirective)) {
    return "";
  }
  line.remove_prefix(kIncludeDirective.size());
  const std::filesystem::path relative(line.substr(0, line.find('"')));
  const std::filesystem::path path = std::filesystem::path(from).parent_path() / relative;
  return path.lexically_normal().generic_string();
}

std::vector<SourceFile> included_files(const SourceFile& file) {
  std::vector<SourceFile> found;
  std::vector<SourceFile> to_read{file};
  while (!to_read.empty()) {
    SourceFile reading = to_read.back();
    to_read.pop_back();
    while (!reading.text.empty()) {
      const std::string name = included_name(take_line(reading.text), reading.name);
      const bool is_known = std::any_of(
          found.begin(), found.end(), [&](const SourceFile& known) { return known.name == name; });
      if (!name.empty() && !is_known) {
        found.push_back(embedded_file(name));
        to_read.push_back(found.back());
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const SourceFile& left, const SourceFile& right) { return left.name < right.name; });
  return found;
}

std::string with_whole_names(const SourceFile& file) {
  std::string whole;
  std::string_view text = file.text;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::string name = included_name(line, file.name);
    if (name.empty()) {
      whole += line;
    } else {
      whole.append(kIncludeDirective).append(name).append("\"\n");
    }
  }
  return whole;
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
  std::string text = source.template_fingerprint.empty()
                         ? template_fingerprint(source.file, source.includes)
                         : source.template_fingerprint;
  for (const auto& [macro, value] : source.defines) {
    append_field(text, macro);
    append_field(text, value);
  }
  append_field(text, source.entry);
  append_field(text, source.needs_exact_architecture ? "exact" : "");
  return sha256_hex(text, kFingerprintDigits);
}

std::string command_line(const Source& source, const DeviceLimits& limits) {
  const BackendFamilies* backend = find_families(source.backend);
  std::string line = backend == nullptr ? "c++" : backend->compiler_command(source, limits);
  for (const auto& [macro, value] : source.defines) {
    line.append(" -D").append(macro).append("=").append(value);
  }
  return line + " kernel_templates/" + std::string(source.file.name);
}

}  // namespace tunedgemm::internal
