#pragma once

// The help of a program, and messages about a wrong command line that name a remedy.

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace tunedgemm::internal {

/// The verbs of a program, in the order of its help.
std::vector<const CLI::App*> verbs_of(const CLI::App& app);
/// The options of a program or verb, with those of its groups.
std::vector<const CLI::Option*> options_of(const CLI::App& app);

/// Breaks the lines of the help of the program and of its verbs so that they fit kUsualWidth.
void fit_help(CLI::App& app);

/// The message for an error of app.parse(): what was wrong, what the user may have meant, and where
/// help is.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tunedgemm::internal
