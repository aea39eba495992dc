#pragma once

// Scripts that let a shell complete the command line of a program, made from its options.

#include <array>
#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace tunedgemm::internal {

/// The shells that completions() knows.
inline constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

/// A script for one of kShells, which the user's shell sources or loads. It completes verbs,
/// options, the values of an option whose type name lists them ("quick|normal|exhaustive"), and
/// files elsewhere.
std::string completions(const CLI::App& app, std::string_view shell);

}  // namespace tunedgemm::internal
