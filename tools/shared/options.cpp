#include "tools/shared/options.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <regex>

#include "kernel_templates/base/text.h"
#include "runtime/calls/arguments.h"
#include "tools/shared/program.h"
#include "tools/shared/shape_list.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

struct ChosenDevice {
  const Backend* backend = nullptr;
  int ordinal = 0;
};

bool are_numbered(const Backend& backend) {
  return backend.device_name(0).find(':') != std::string::npos;
}

// "cuda, cuda:N, host"
std::string device_names() {
  std::string names;
  for (const Backend* backend : backends()) {
    const std::string name(backend->name());
    names +=
        (names.empty() ? "" : ", ") + name + (are_numbered(*backend) ? ", " + name + ":N" : "");
  }
  return names;
}

// "auto|cuda|host"
std::string device_kinds() {
  std::string kinds = "auto";
  for (const Backend* backend : backends()) {
    kinds += "|" + std::string(backend->name());
  }
  return kinds;
}

// Parses "cuda" (the backend's first device) or "cuda:1". Empty if the text is neither.
std::optional<ChosenDevice> parse_device(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  ChosenDevice chosen{.backend = find_backend(name)};
  if (chosen.backend == nullptr) {
    return std::nullopt;
  }
  if (text.size() > name.size()) {
    chosen.ordinal = whole_number<int>(text.substr(name.size() + 1)).value_or(-1);
    if (!are_numbered(*chosen.backend) || chosen.ordinal < 0) {
      return std::nullopt;
    }
  }
  return chosen;
}

std::string why_not_device(const std::string& text) {
  if (text == "auto" || parse_device(text)) {
    return "";
  }
  return '"' + text + "\" is not a device; expected auto, " + device_names();
}

using namespace std::string_view_literals;
constexpr std::array kExtents{"m"sv, "n"sv, "k"sv};
constexpr std::array kFieldsWithoutOption{"parallel"sv, "kv_heads"sv, "problem"sv};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void keep_option(const std::string& name, const std::string& value, std::vector<Field>& fields) {
  fields.push_back({name, value});
}

// An argument M, N or K, or what may stand in its place.
void keep_argument(const std::string& name, const std::string& value, std::vector<Field>& fields) {
  const auto parts = split(value, 'x');
  const bool is_number = value.find_first_not_of("-0123456789") == std::string::npos;
  if (name == "m" && parts.size() == kExtents.size() &&
      value.find_first_not_of("0123456789x") == std::string::npos) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      fields.push_back({std::string(kExtents[part]), std::string(parts[part])});
    }
  } else if (name == "n" && has_field(fields, "n") && !is_number) {
    fields.push_back({"layout", value});
  } else {
    keep_option(name, value, fields);
  }
}

// "row|col" for "row or col"; "" if the field does not have a few words as values.
std::string values_in(std::string_view expected) {
  const std::string values = std::regex_replace(std::string(expected), std::regex(", | or "), "|");
  return values.find(' ') == values.npos && values.find('|') != values.npos ? values : "";
}

CLI::Option* add_field(CLI::App& app, const std::string& option, const FieldDescription& field,
                       std::vector<Field>& fields, decltype(&keep_option) keep) {
  const auto keep_value = [&fields, keep, name = std::string(field.name)](
                              const std::string& value) { keep(name, value, fields); };
  auto* const added =
      app.add_option_function<std::string>(option, keep_value, std::string(field.meaning));
  if (!app.get_name().empty()) {  // an option group has a title of its own
    added->group("Fields of the problem");
  }
  if (const std::string values = values_in(field.expected); !values.empty()) {
    added->type_name(values)->option_text("TEXT");  // shells complete the values, help is short
  }
  return added;
}

}  // namespace

void add_device_option(CLI::App& app, std::string& device) {
  app.add_option("--device", device, "auto (the first GPU, else the host), " + device_names())
      ->check(why_not_device)
      ->type_name(device_kinds())
      ->capture_default_str();
}

void add_context_options(CLI::App& app, ContextChoice& choice) {
  add_device_option(app, choice.device);
  add_cache_option(app, choice.cache);
}

void add_cache_option(CLI::App& app, std::string& cache) {
  app.add_option("--cache", cache,
                 "the cache file; default $TUNEDGEMM_CACHE, else tunedgemm/tunedgemm.db in the "
                 "user's cache folder")
      ->type_name("FILE");
}

void add_table_options(CLI::App& app, TableChoice& choice, bool& json) {
  app.add_option("--sort", choice.sort, "sort by this column; -time: from the largest value")
      ->type_name("COLUMN");
  app.add_option("--limit", choice.limit, "only so many rows")->check(why_not_positive);
  app.add_option("--columns", choice.columns, "only these columns, joined by commas, in this order")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--markdown", choice.is_markdown, "print tables as Markdown");
  auto* const no_table = app.add_flag("--json", json, "print a JSON array, with every row");
  for (const char* const option : {"--sort", "--limit", "--columns", "--markdown"}) {
    no_table->excludes(app.get_option(option));
  }
}

void add_wide_option(CLI::App& app, std::size_t& width) {
  app.add_flag_callback(
      "--wide", [&width] { width = kUnlimited; }, "show every column, whatever the width");
}

void add_winner_filters(CLI::App& app, std::string& device, std::vector<std::string>& lists) {
  app.add_option("--device", device,
                 "only winners of devices with this text in their name, or of this backend "
                 "(host, cuda)");
  app.add_option("--list", lists,
                 "only winners of the layers in this list of shapes (CSV or JSON), with any M; "
                 "may be repeated")
      ->allow_extra_args(false);
}

std::vector<std::string> device_names_of(const std::vector<std::string>& list) {
  std::vector<std::string> names;
  if (list == std::vector<std::string>{"all"}) {
    std::string why_not;
    const Backend& gpus = cuda_backend();
    for (int ordinal = 0; ordinal < gpus.device_count(&why_not); ++ordinal) {
      names.push_back(gpus.device_name(ordinal));
    }
    if (names.empty()) {
      throw DeviceError(DeviceError::Kind::kUnavailable, why_not);
    }
    return names;
  }
  for (const std::string& text : list) {
    const auto device = parse_device(text);
    if (!device || !are_numbered(*device->backend) || text.find(':') == std::string::npos) {
      throw std::invalid_argument("--devices: \"" + text +
                                  "\" is not a GPU; expected all, or a list such as cuda:0,cuda:1");
    }
    const std::string name = device->backend->device_name(device->ordinal);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw std::invalid_argument("--devices: " + name + " stands twice in the list");
    }
    names.push_back(name);
  }
  return names;
}

ContextOptions to_context_options(const ContextChoice& choice) {
  if (const auto wrong = wrong_variables(); !wrong.empty()) {
    throw std::invalid_argument(wrong.front());
  }
  ContextOptions options;
  options.store.path = choice.cache;
  options.device.compile_command = compile_command();
  if (const auto chosen = parse_device(choice.device)) {
    options.backend = chosen->backend;
    options.device.ordinal = chosen->ordinal;
  }
  return options;
}

std::unique_ptr<Context> open_for_reading(const ContextChoice& choice) {
  ContextOptions options = to_context_options(choice);
  options.store.access = StoreOptions::Access::kReadOnly;
  return Context::create(options);
}

std::unique_ptr<Store> open_store_for_reading(const std::string& cache) {
  StoreOptions options;
  options.path = cache;
  options.access = StoreOptions::Access::kReadOnly;
  return Store::open(options);
}

void add_shape_options(CLI::App& app, std::span<const std::string_view> left_out,
                       std::vector<Field>& fields) {
  for (const FieldDescription& field : shape_fields()) {
    if (!contains(left_out, field.name) && !contains(kFieldsWithoutOption, field.name)) {
      std::string option = "--" + std::string(field.name);
      std::replace(option.begin(), option.end(), '_', '-');
      add_field(app, option, field, fields, keep_option);
    }
  }
}

void add_shape_arguments(CLI::App& app, std::vector<Field>& fields, Extents extents) {
  for (const FieldDescription& field : shape_fields()) {
    if (contains(kExtents, field.name)) {
      add_field(app, std::string(field.name), field, fields, keep_argument)
          ->required(extents == Extents::kRequired && field.name == kExtents.front());
    }
  }
  add_shape_options(app, kExtents, fields);
}

NamedProblem shape_of_arguments(std::vector<Field> fields) {
  if (!has_field(fields, "types")) {
    fields.push_back({"types", "f32"});
  }
  return to_named_problem(fields);
}

NamedProblem shape_of_arguments(std::vector<Field> fields, const std::string& cache) {
  const std::string name = value_of(fields, "m");
  if (has_field(fields, "n") || name.find_first_not_of("0123456789") == std::string::npos) {
    return shape_of_arguments(std::move(fields));
  }
  std::map<std::string, std::string> extents;  // by the texts of the problems
  std::vector<std::string> other_names;
  const auto store = open_store_for_reading(cache);
  for (const auto& [record, state, names] : store->winners_with_state()) {
    std::vector<std::string> own{names};
    for (const std::string_view part : split(names, ',')) {
      own.emplace_back(part.substr(std::min(part.size(), part.find_first_not_of(' '))));
    }
    if (std::ranges::find(own, name) != own.end()) {
      extents.emplace(to_text(record.problem), extents_text(record.problem));
    } else {
      other_names.insert(other_names.end(), own.begin(), own.end());
    }
  }
  if (extents.size() == 1) {
    std::erase_if(fields, [](const Field& field) { return field.name == "m"; });
    fields.push_back({"problem", extents.begin()->first});
    return to_named_problem(fields);
  }
  std::string which = "no winner has";
  std::string hint = "; expected M N K, or a name that tunedgemm best shows";
  if (const std::string nearest = nearest_name(name, other_names); !nearest.empty()) {
    hint = "; did you mean \"" + nearest + "\"?";
  }
  if (!extents.empty()) {
    which = counted(extents.size(), "problem") + " have";
    hint = "; write its M N K, as " + extents.begin()->second;
  }
  throw std::invalid_argument(which + " the name \"" + name + "\"" + hint);
}

bool is_extent(const Field& field) {
  return contains(kExtents, field.name);
}

std::vector<NamedProblem> shapes_of(const std::vector<Field>& fields, const std::string& list) {
  if (list.empty()) {
    return {shape_of_arguments(fields)};
  }
  if (!fields.empty()) {
    const Field& first = fields.front();
    throw std::invalid_argument((is_extent(first) ? "" : "--") + first.name + " " + first.value +
                                " cannot be combined with --list, whose lines set it");
  }
  return read_shape_list(list);
}

std::vector<NamedProblem> square_shapes(const std::vector<Field>& fields, std::string_view sizes) {
  std::vector<NamedProblem> shapes;
  for (const std::int64_t size : parse_number_list(sizes, 1)) {
    std::vector<Field> all = fields;
    if (!has_field(fields, "types")) {
      all.push_back({"types", "f16"});
    }
    for (const std::string_view extent : kExtents) {
      all.push_back({std::string(extent), std::to_string(size)});
    }
    shapes.push_back(to_named_problem(all));
  }
  return shapes;
}

}  // namespace tunedgemm::internal
