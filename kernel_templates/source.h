#pragma once

// Source: a kernel template and the defines that turn it into one kernel. It has everything that a
// compiler needs except the device.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel_templates/device_limits.h"

namespace tunedgemm::internal {

/// One embedded file of the library. The views point to static memory.
struct SourceFile {
  std::string_view name;  ///< its path below kernel_templates: "cuda/common/number.cuh"
  std::string_view text;
};

struct Source {
  std::string backend;  ///< the backend whose compiler it is for
  SourceFile file;
  std::vector<SourceFile> includes;  ///< included_files() of the file
  std::vector<std::pair<std::string, std::string>> defines;
  std::string entry;                      ///< the extern "C" symbol
  bool needs_exact_architecture = false;  ///< compile for "sm_90a" rather than "sm_90"
  /// template_fingerprint() of the file and its includes, which is slow to compute; empty: not
  /// computed yet.
  std::string template_fingerprint;
};

/// The embedded file of that name. Throws std::out_of_range with the name if there is none.
SourceFile embedded_file(std::string_view name);
/// The files that the file includes, directly or indirectly, without duplicates and sorted by name.
std::vector<SourceFile> included_files(const SourceFile& file);
/// If `line` is an #include "..." line of the file `from`, the full name of the included file;
/// otherwise empty.
std::string included_name(std::string_view line, std::string_view from);
/// The text with every include rewritten to the full name of the included file, for a compiler that
/// finds its files by name (NVRTC).
std::string with_whole_names(const SourceFile& file);

/// The text without comments and blank lines. Fingerprints use it, so that winners remain valid
/// after edits of comments.
std::string without_comments(std::string_view text);

/// 32 hexadecimal digits of a hash of the file and its includes, without their comments.
std::string template_fingerprint(const SourceFile& file, const std::vector<SourceFile>& includes);
/// 32 hexadecimal digits of a hash of all that determines the binary, except compiler and device.
std::string fingerprint(const Source& source);

/// The kernel as one text that compiles alone: the defines, and every included file in the place of
/// the first #include that names it.
std::string self_contained(const Source& source);

/// A shell command that compiles the file, which has the text of self_contained().
std::string compile_command(const Source& source, const DeviceLimits& limits,
                            const std::string& file);

}  // namespace tunedgemm::internal
