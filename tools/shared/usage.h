#pragma once

// What is wrong with a command line, in sentences that name a remedy.

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
class ParseError;
}  // namespace CLI

namespace tunedgemm::internal {

/// The message for an error of app.parse(): what was wrong, what the user may have meant, and where
/// help is.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tunedgemm::internal
