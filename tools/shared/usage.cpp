#include "tools/shared/usage.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "tools/shared/terminal.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

class FittingFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return wrapped(Formatter::make_help(app, std::move(name), mode), kUsualWidth);
  }
};

// The verb that was given, or the program itself.
const CLI::App& given_command(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? app : *verbs.front();
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs_of(app)) {
    names.push_back(verb->get_name());
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string suggestion(const std::string& text, const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(text, names);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

std::string why_unexpected(const CLI::App& command, const std::string& argument) {
  if (argument.size() > 1 && argument[0] == '-') {
    const std::string option = argument.substr(0, argument.find('='));
    return option + " is not an option" + suggestion(option, option_names(command));
  }
  const std::vector<std::string> verbs = verb_names(command);
  if (!verbs.empty()) {
    const std::string meant = suggestion(argument, verbs);
    return '"' + argument + "\" is not a verb" +
           (meant.empty() ? "; expected one of " + joined(verbs) : meant);
  }
  return '"' + argument + "\" was not expected";
}

}  // namespace

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* part) { return !part->get_name().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> options = app.get_options();
  for (const CLI::App* group : app.get_subcommands({})) {
    if (!group->get_name().empty()) {
      continue;  // a verb
    }
    for (const CLI::Option* option : options_of(*group)) {
      if (option != group->get_help_ptr()) {  // the group has the program's --help
        options.push_back(option);
      }
    }
  }
  return options;
}

void fit_help(CLI::App& app) {
  const auto formatter = std::make_shared<FittingFormatter>();
  app.formatter(formatter);
  for (CLI::App* verb : app.get_subcommands({})) {
    verb->formatter(formatter);
  }
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = given_command(app);
  const std::string name =
      &command == &app ? app.get_name() : app.get_name() + " " + command.get_name();
  const std::vector<std::string> unexpected = app.remaining(true);
  const bool lacks_verb = &command == &app && !verb_names(app).empty() &&
                          dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string what = error.what();
  for (const auto& [clis, ours] :
       {std::pair("(.*: )?(?:Path|File|Directory) does not exist: (.*)", "$2 does not exist"),
        {"At least (\\d+) required but received (\\d+)", "at least $1 are needed, $2 given"}}) {
    what = std::regex_replace(what, std::regex(clis), ours);
  }
  if (!unexpected.empty()) {
    what = why_unexpected(command, unexpected.front());
  } else if (lacks_verb) {
    what = "a verb is missing; expected one of " + joined(verb_names(app));
  }
  return name + ": " + what + "\nSee " + name + " --help.";
}

}  // namespace tunedgemm::internal
