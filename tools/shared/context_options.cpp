#include "tools/shared/context_options.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace tunedgemm {
namespace {

// 0 for "cuda", n for "cuda:n", else empty.
std::optional<int> parse_cuda_ordinal(std::string_view text) {
  if (text == "cuda") {
    return 0;
  }
  constexpr std::string_view kPrefix = "cuda:";
  if (!text.starts_with(kPrefix)) {
    return std::nullopt;
  }
  text.remove_prefix(kPrefix.size());
  int ordinal = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  const bool understood = error == std::errc() && end == text.data() + text.size() && ordinal >= 0;
  return understood ? std::optional(ordinal) : std::nullopt;
}

std::string why_not_device(const std::string& text) {
  if (text == "auto" || text == "host" || parse_cuda_ordinal(text)) {
    return "";
  }
  return '"' + text + "\" is not a device; expected auto, host, cuda or cuda:1 and so on";
}

}  // namespace

void add_context_options(CLI::App& app, ContextChoice& choice) {
  app.add_option("--device", choice.device,
                 "auto (the first GPU, else the host), host, cuda or cuda:N")
      ->check(why_not_device)
      ->capture_default_str();
  app.add_option("--cache", choice.cache,
                 "the cache file; default $TUNEDGEMM_CACHE, else tunedgemm/tunedgemm.db in the "
                 "user's cache folder");
}

ContextOptions to_context_options(const ContextChoice& choice) {
  ContextOptions options;
  options.store.path = choice.cache;
  if (choice.device == "host") {
    options.backend = Backend::kHost;
  } else if (const auto ordinal = parse_cuda_ordinal(choice.device)) {
    options.backend = Backend::kCuda;
    options.ordinal = *ordinal;
  }
  return options;
}

}  // namespace tunedgemm
