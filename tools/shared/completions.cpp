#include "tools/shared/completions.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cassert>
#include <map>
#include <vector>

#include "tools/shared/usage.h"

namespace tunedgemm::internal {
namespace {

struct OptionWords {
  std::string name;         // without dashes
  std::string description;  // one line
  bool has_value = false;
  std::string values;  // separated by spaces; empty: any, or a file
};

struct VerbWords {
  std::string name;  // or of the program itself
  std::string description;
  std::vector<OptionWords> options;
};

// The words before the first ';', since a menu has one line for each option.
std::string summary_of(const std::string& description) {
  return description.substr(0, description.find(';'));
}

VerbWords words_of(const CLI::App& app) {
  VerbWords words{
      .name = app.get_name(), .description = summary_of(app.get_description()), .options = {}};
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& name : option->get_lnames()) {
      std::string values = option->get_type_name();
      const bool lists_values = values.find('|') != values.npos;
      std::replace(values.begin(), values.end(), '|', ' ');
      words.options.push_back({.name = name,
                               .description = summary_of(option->get_description()),
                               .has_value = option->get_items_expected_max() > 0,
                               .values = lists_values ? values : ""});
    }
  }
  return words;
}

// The text with a backslash before each of the characters.
std::string escaped(const std::string& text, std::string_view characters) {
  std::string result;
  for (const char character : text) {
    result += characters.find(character) == characters.npos ? "" : "\\";
    result += character;
  }
  return result;
}

// The text in single quotes of bash or zsh.
std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char character : text) {
    result += character == '\'' ? "'\\''" : std::string(1, character);
  }
  return result + "'";
}

// ---- bash ---------------------------------------------------------------------------------------

// Sets `words` to the values of the option before the cursor, or to the options if the current word
// begins one.
std::string bash_case(const VerbWords& verb) {
  std::string options;
  std::map<std::string, std::string> names_of_values;
  for (const OptionWords& option : verb.options) {
    options += (options.empty() ? "--" : " --") + option.name;
    if (option.has_value) {
      std::string& names = names_of_values[option.values];
      names += (names.empty() ? "--" : "|--") + option.name;
    }
  }
  std::string text = "      case $previous in\n";
  for (const auto& [values, names] : names_of_values) {
    text += "        " + names + ") words=" + shell_quoted(values) + " ;;\n";
  }
  return text + "        *) [[ $current != -* ]] || words=" + shell_quoted(options) +
         " ;;\n      esac ;;\n";
}

std::string bash_script(const VerbWords& program, const std::vector<VerbWords>& verbs) {
  std::string function = "_" + program.name;
  std::replace(function.begin(), function.end(), '-', '_');
  std::string names;
  std::string cases;
  for (const VerbWords& verb : verbs) {
    names += (names.empty() ? "" : " ") + verb.name;
    cases += "    " + verb.name + ")\n" + bash_case(verb);
  }
  return function +
         "() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb= "
         "words=\n"
         "  ((COMP_CWORD < 2)) || verb=${COMP_WORDS[1]}\n"
         "  [[ -n $verb || $current == -* ]] || words=" +
         shell_quoted(names) +
         "\n"
         "  case $verb in\n" +
         cases + "    *)\n" + bash_case(program) +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F " +
         function + " " + program.name + "\n";
}

// ---- zsh ----------------------------------------------------------------------------------------

std::string zsh_arguments(const VerbWords& verb) {
  std::string text = "_arguments";
  for (const OptionWords& option : verb.options) {
    std::string word = "--" + option.name + (option.has_value ? "=" : "") + "[" +
                       escaped(option.description, "[]:\\") + "]";
    if (option.has_value) {
      word +=
          ":" + option.name + ":" + (option.values.empty() ? "_files" : "(" + option.values + ")");
    }
    text += " \\\n        " + shell_quoted(word);
  }
  return text + " \\\n        '*:file:_files'";
}

std::string zsh_script(const VerbWords& program, const std::vector<VerbWords>& verbs) {
  const std::string function = "_" + program.name;  // as the file in zsh's function path
  std::string text = "#compdef " + program.name + "\n" + function + "() {\n";
  if (verbs.empty()) {
    text += "  " + zsh_arguments(program) + "\n";
  } else {
    text += "  local -a verbs=(\n";
    for (const VerbWords& verb : verbs) {
      text += "    " + shell_quoted(verb.name + ":" + escaped(verb.description, ":\\")) + "\n";
    }
    text +=
        "  )\n  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
        "    _describe verb verbs\n    return\n  fi\n  case $words[2] in\n";
    for (const VerbWords& verb : verbs) {
      text += "    " + verb.name + ")\n      " + zsh_arguments(verb) + " ;;\n";
    }
    text += "    *)\n      " + zsh_arguments(program) + " ;;\n  esac\n";
  }
  // zsh calls the file itself if it has loaded it from its function path.
  return text + "}\nif [[ $funcstack[1] == " + function + " ]]; then\n  " + function +
         " \"$@\"\nelse\n  compdef " + function + " " + program.name + "\nfi\n";
}

// ---- fish ---------------------------------------------------------------------------------------

std::string fish_quoted(const std::string& text) {
  return "'" + escaped(text, "'\\") + "'";
}

std::string fish_options(const std::string& program, const VerbWords& verb,
                         const std::string& condition) {
  const std::string begin = "complete -c " + program + condition + " -l ";
  std::string text;
  for (const OptionWords& option : verb.options) {
    text += begin;
    text += option.name;
    if (option.has_value) {
      text += option.values.empty() ? " -r" : " -x -a " + fish_quoted(option.values);
    }
    text += " -d " + fish_quoted(option.description) + "\n";
  }
  return text;
}

std::string fish_script(const VerbWords& program, const std::vector<VerbWords>& verbs) {
  if (verbs.empty()) {
    return fish_options(program.name, program, "");
  }
  const std::string before_verb = " -n __fish_use_subcommand";
  std::string text = fish_options(program.name, program, before_verb);
  for (const VerbWords& verb : verbs) {
    text += "complete -c " + program.name + before_verb + " -f -a " + verb.name + " -d " +
            fish_quoted(verb.description) + "\n";
    text += fish_options(program.name, verb, " -n '__fish_seen_subcommand_from " + verb.name + "'");
  }
  return text;
}

}  // namespace

std::string completions(const CLI::App& app, std::string_view shell) {
  const VerbWords program = words_of(app);
  std::vector<VerbWords> verbs;
  for (const CLI::App* verb : verbs_of(app)) {
    verbs.push_back(words_of(*verb));
  }
  if (shell == "bash") {
    return bash_script(program, verbs);
  }
  if (shell == "zsh") {
    return zsh_script(program, verbs);
  }
  assert(shell == "fish");
  return fish_script(program, verbs);
}

}  // namespace tunedgemm::internal
