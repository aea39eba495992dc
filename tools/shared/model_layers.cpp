#include "tools/shared/model_layers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernel_templates/source.h"

namespace tunedgemm::internal {

// Written by kernel_templates/embed.cmake.
extern const SourceFile kModelLists[];
extern const std::size_t kModelListsCount;

namespace {

std::span<const SourceFile> all_lists() {
  return {kModelLists, kModelListsCount};
}

std::string_view name_of(const SourceFile& list) {
  return list.name.substr(0, list.name.rfind('.'));
}

// What the config does not tell: which layers have a bias, and how the feed-forward layers are.
struct Architecture {
  std::string_view model_type;
  bool has_gate = true;            ///< silu(gate(x)) * up(x), else act(up(x))
  bool has_qkv_bias = false;       ///< unless the config says it
  bool has_other_bias = false;     ///< of the other layers
  bool is_fused = false;           ///< the checkpoint has no query, key, value, gate apart
  std::string_view layout = "nt";  ///< nn: one row of the weights per input
};
constexpr std::array<Architecture, 17> kArchitectures{
    {{.model_type = "llama"},
     {.model_type = "mistral"},
     {.model_type = "qwen2", .has_qkv_bias = true},
     {.model_type = "qwen3"},
     {.model_type = "gemma"},
     {.model_type = "gemma2"},
     {.model_type = "gemma3_text"},
     {.model_type = "olmo2"},
     {.model_type = "granite"},
     {.model_type = "smollm3"},
     {.model_type = "cohere"},
     {.model_type = "phi3", .is_fused = true},
     {.model_type = "gpt2",
      .has_gate = false,
      .has_qkv_bias = true,
      .has_other_bias = true,
      .is_fused = true,
      .layout = "nn"},
     {.model_type = "bert", .has_gate = false, .has_qkv_bias = true, .has_other_bias = true},
     {.model_type = "roberta", .has_gate = false, .has_qkv_bias = true, .has_other_bias = true},
     {.model_type = "vit", .has_gate = false, .has_qkv_bias = true, .has_other_bias = true},
     {.model_type = "starcoder2",
      .has_gate = false,
      .has_qkv_bias = true,
      .has_other_bias = true}}};

// A text or a truth that a config may have under this name.
template <class Value>
Value value_of(const Json& config, const char* name, Value unless_given) {
  const auto found = config.find(name);
  const bool has_type = found != config.end() &&
                        (std::is_same_v<Value, bool> ? found->is_boolean() : found->is_string());
  return has_type ? found->get<Value>() : unless_given;
}

const Architecture& architecture_of(const Json& config) {
  const std::string model_type = value_of<std::string>(config, "model_type", "");
  const auto* const found =
      std::ranges::find(kArchitectures, model_type, &Architecture::model_type);
  if (found == kArchitectures.end()) {
    std::string known;
    for (const Architecture& architecture : kArchitectures) {
      known.append(known.empty() ? "" : ", ").append(architecture.model_type);
    }
    throw std::invalid_argument("the layers of a model of type \"" + model_type +
                                "\" are not known; known are " + known +
                                "; write a list of the others (docs/lists.md)");
  }
  return *found;
}

// Far above the sizes of any model, and small enough that no product below overflows.
constexpr std::int64_t kLargestNumber = 1 << 30;

// A number that configs have under one of these names.
std::int64_t number_of(const Json& config, std::initializer_list<const char*> names,
                       std::int64_t unless_given = 0) {
  for (const char* const name : names) {
    if (const auto found = config.find(name); found != config.end() && !found->is_null()) {
      const auto number = found->is_number_integer() ? found->get<std::int64_t>() : 0;
      if (number < 1 || number > kLargestNumber) {
        throw std::invalid_argument(std::string(name) + " is " + found->dump() +
                                    "; expected a number from 1 to " +
                                    std::to_string(kLargestNumber));
      }
      return number;
    }
  }
  if (unless_given == 0) {
    throw std::invalid_argument("the config has no " + std::string(*names.begin()));
  }
  return unless_given;
}

std::string types_of(const Json& config) {
  const auto dtype =
      value_of<std::string>(config, "torch_dtype", value_of<std::string>(config, "dtype", ""));
  return std::string(name(parse_data_type(dtype).value_or(DataType::kBF16)));
}

}  // namespace

std::string_view built_in_list(std::string_view name) {
  const auto lists = all_lists();
  const auto found = std::ranges::find(lists, name, name_of);
  return found == lists.end() ? "" : found->text;
}

std::string built_in_lists() {
  std::string names;
  for (const SourceFile& list : all_lists()) {
    names.append(names.empty() ? "" : ", ").append(name_of(list));
  }
  return names;
}

bool is_model_config(const Json& document) {
  return document.is_object() && document.contains("model_type");
}

std::vector<std::vector<Field>> layers_of_model(const Json& document) {
  // The language model of one with images.
  const Json& config = document.contains("text_config") ? document["text_config"] : document;
  const Architecture& architecture = architecture_of(config);
  const std::int64_t hidden = number_of(config, {"hidden_size", "n_embd"});
  const std::int64_t inner = number_of(config, {"intermediate_size", "n_inner"}, 4 * hidden);
  const std::int64_t heads = number_of(config, {"num_attention_heads", "n_head"});
  const std::int64_t kv_heads = number_of(config, {"num_key_value_heads"}, heads);
  const std::int64_t head = number_of(config, {"head_dim"}, hidden / heads);
  const std::int64_t query = heads * head, key = kv_heads * head;
  const bool has_attention_bias = value_of(config, "attention_bias", false);
  const bool has_qkv_bias = architecture.has_qkv_bias || has_attention_bias;
  const bool has_mlp_bias = architecture.has_other_bias || value_of(config, "mlp_bias", false);

  std::vector<std::vector<Field>> layers;
  const auto add = [&](const std::string& name, std::int64_t n, std::int64_t k, bool has_bias,
                       const std::string& parallel, std::int64_t kv = 0) {
    layers.push_back({{"name", name},
                      {"types", types_of(config)},
                      {"layout", std::string(architecture.layout)},
                      {"n", std::to_string(n)},
                      {"k", std::to_string(k)},
                      {"bias", has_bias ? "col" : "none"},
                      {"parallel", parallel}});
    if (kv > 0) {
      layers.back().push_back({"kv_heads", std::to_string(kv)});
    }
  };
  add("query key value", query + 2 * key, hidden, has_qkv_bias, "column", kv_heads);
  if (!architecture.is_fused) {
    add("query", query, hidden, has_qkv_bias, "column");
    add("key or value", key, hidden, has_qkv_bias, "column", kv_heads);
  }
  add("attention output", hidden, query, architecture.has_other_bias || has_attention_bias, "row");
  if (architecture.has_gate) {
    add("gate and up", 2 * inner, hidden, has_mlp_bias, "column");
  }
  if (!architecture.is_fused || !architecture.has_gate) {
    add(architecture.has_gate ? "gate or up" : "feed-forward up", inner, hidden, has_mlp_bias,
        "column");
  }
  add(architecture.has_gate ? "down" : "feed-forward down", hidden, inner, has_mlp_bias, "row");
  if (config.contains("vocab_size")) {
    add("vocabulary", number_of(config, {"vocab_size"}), hidden, false, "column");
    layers.back()[2].value = "nt";  // the embedding has one row per token
  }
  return layers;
}

}  // namespace tunedgemm::internal
