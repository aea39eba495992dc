#include "tools/shared/context_options.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "tools/shared/own_processes.h"

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

// A backend's name for its first device, or "cuda:1". Empty if it is none.
std::optional<ChosenDevice> parse_device(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  ChosenDevice chosen{.backend = find_backend(name)};
  if (chosen.backend == nullptr) {
    return std::nullopt;
  }
  if (text.size() > name.size()) {
    const char* const end = text.data() + text.size();
    const auto [stopped, error] =
        std::from_chars(text.data() + name.size() + 1, end, chosen.ordinal);
    if (error != std::errc() || stopped != end || !are_numbered(*chosen.backend) ||
        chosen.ordinal < 0) {
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

}  // namespace

void add_context_options(CLI::App& app, ContextChoice& choice) {
  app.add_option("--device", choice.device,
                 "auto (the first GPU, else the host), " + device_names())
      ->check(why_not_device)
      ->capture_default_str();
  app.add_option("--cache", choice.cache,
                 "the cache file; default $TUNEDGEMM_CACHE, else tunedgemm/tunedgemm.db in the "
                 "user's cache folder");
}

ContextOptions to_context_options(const ContextChoice& choice) {
  ContextOptions options;
  options.store.path = choice.cache;
  options.compile_command = compile_command();
  if (const auto chosen = parse_device(choice.device)) {
    options.backend = chosen->backend;
    options.ordinal = chosen->ordinal;
  }
  return options;
}

}  // namespace tunedgemm::internal
