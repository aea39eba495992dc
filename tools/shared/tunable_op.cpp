#include "tools/shared/tunable_op.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::string_view kOperation = "TunableOp_";
constexpr std::string_view kAny = "*";  // an extent that varies, and what depends on it

// PyTorch's names and ours. For f32 the name implies the numerics.
constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"float", "f32"}, {"tf32", "tf32"},     {"bfx9", "f32"},           {"double", "f64"},
    {"Half", "f16"},  {"BFloat16", "bf16"}, {"Float8_e4m3fn", "e4m3"}, {"Float8_e5m2", "e5m2"}};

// Takes a type and the "_" after it from the left.
std::string take_type(std::string_view& text) {
  for (const auto& [theirs, ours] : kTypes) {
    if (text.starts_with(std::string(theirs) + "_")) {
      text.remove_prefix(theirs.size() + 1);
      return std::string(ours);
    }
  }
  // Without the layout, so that lines of all layouts have one reason.
  throw NotComputable("the element type " + std::string(text.substr(0, text.rfind('_'))) +
                      " is not supported");
}

// The types of A, B and D, of BLAS's A and B exchanged.
std::string types_of(std::string_view operation) {
  const std::size_t name = operation.find(kOperation);
  std::string_view types = operation.substr(name + kOperation.size());
  std::string b = take_type(types);
  if (!operation.starts_with("ScaledGemm")) {
    return b;
  }
  const std::string a = take_type(types), d = take_type(types);
  return a + "x" + b + "->" + d;
}

// Whether the rows of all matrices of a batch lie side by side within the leading dimension, as the
// heads of attention do.
bool holds_batch(std::string_view leading_dimension, std::string_view row,
                 std::span<const Field> fields) {
  const auto number = [](std::string_view text) {
    return static_cast<double>(whole_number<std::int64_t>(text).value_or(0));
  };
  const double batch = number(value_of(fields, "batch"));
  return number(row) > 0 && batch > 1 && number(leading_dimension) >= batch * number(row);
}

// The end of a scaled product's text: words that alternate between a name and a value, which may
// have a "_" of its own.
class ScaledOptions {
 public:
  explicit ScaledOptions(std::span<const std::string_view> words) : words_(words) {}

  std::string_view value(std::string_view name, std::string_view otherwise) const {
    const auto found = std::find(words_.begin(), words_.end(), name);
    return found == words_.end() || found + 1 == words_.end() ? otherwise : *(found + 1);
  }

  bool has_row_scales(std::string_view kind) const {
    return value("rw", "0") != "0" || value(kind, "0") == "1";
  }

  // Throws NotComputable. "rw" and "swz" describe ROCm's scales, "ast" and "bst" the kinds
  // of NVIDIA's.
  void check() const {
    const auto is_block = [&](std::string_view kind) {
      return value(kind, "0") != "0" && value(kind, "0") != "1";
    };
    if (is_block("ast") || is_block("bst") || value("swz", "0") != "0") {
      throw NotComputable("scales for each block are not supported");
    }
    if (value("as", "Float") != "Float" || value("bs", "Float") != "Float") {
      throw NotComputable("scales that are not of type float are not supported");
    }
    if (value("dscale", "0") != "0") {
      throw NotComputable("a scale of the result is not supported");
    }
  }

 private:
  std::span<const std::string_view> words_;
};

}  // namespace

bool is_tunable_op(std::span<const std::string> cells) {
  return cells.size() >= 2 && cells[0].find(kOperation) != std::string::npos;
}

std::vector<Field> fields_of_tunable_op(std::span<const std::string> cells) {
  const std::string_view operation = cells[0];
  std::vector<std::string_view> words = split(cells[1], '_');
  std::vector<Field> fields{{"types", types_of(operation)}};
  std::size_t at = 0;
  const auto take = [&] {
    if (at == words.size()) {
      throw std::invalid_argument("\"" + cells[1] + "\" ends too early; expected a text like " +
                                  "tn_M_N_K_ld_LDA_LDB_LDC");
    }
    return std::string(words[at++]);
  };
  const auto skip = [&](std::string_view expected) {
    if (const std::string word = take(); word != expected) {
      throw std::invalid_argument("\"" + cells[1] + "\" has \"" + word + "\"; expected \"" +
                                  std::string(expected) + "\"");
    }
  };
  std::string transpositions = take();
  if (transpositions.size() != 2 || transpositions.find_first_not_of("ntNT") != std::string::npos) {
    throw std::invalid_argument("\"" + cells[1] + "\" begins with \"" + transpositions +
                                "\"; expected nn, nt, tn or tt");
  }
  std::ranges::reverse(transpositions);
  std::ranges::transform(transpositions, transpositions.begin(), [](char letter) {
    return letter == 'N' ? 'n' : letter == 'T' ? 't' : letter;
  });
  fields.push_back({"layout", transpositions});
  const std::string n = take(), m = take(), k = take();
  if (n == kAny || k == kAny) {
    throw NotComputable(
        "an extent that varies (*) is not supported, except for the tokens of a "
        "call");
  }
  fields.insert(fields.end(), {{"n", n}, {"m", m}, {"k", k}});
  if (operation.starts_with("GemmStridedBatched")) {
    skip("B");
    fields.push_back({"batch", take()});
  }
  const bool is_batched = has_field(fields, "batch");
  // For each of BLAS's A, B and C: our names, and the elements of a row or column in memory.
  const std::tuple<std::vector<const char*>, std::vector<const char*>, std::string> matrices[] = {
      {{"ldb"}, {"batch_stride_b"}, transpositions[1] == 'n' ? n : k},
      {{"lda"}, {"batch_stride_a"}, transpositions[0] == 'n' ? k : m},
      {{"ldc", "ldd"}, {"batch_stride_c", "batch_stride_d"}, n}};
  if (at < words.size() && words[at] != "rw") {  // PyTorch 2.4 and 2.5 wrote none
    skip("ld");
    for (const auto& [leading_dimensions, batch_strides, packed] : matrices) {
      const std::string value = take();
      if (value == packed || value == kAny) {
        continue;
      }
      for (const char* name : leading_dimensions) {
        fields.push_back({name, value});
      }
      for (const char* name : batch_strides) {
        if (is_batched && holds_batch(value, packed, fields)) {
          fields.push_back({name, packed});
        }
      }
    }
  }
  std::erase_if(fields,
                [](const Field& field) { return field.value == kAny && field.name == "m"; });
  bool has_bias = operation.starts_with("GemmAndBias");
  if (operation.starts_with("ScaledGemm") && at < words.size()) {
    if (words[at] != "rw" && words[at] != "a") {
      throw std::invalid_argument("\"" + cells[1] + "\" has \"" + take() +
                                  "\"; expected \"rw\" or \"a\"");
    }
    const ScaledOptions options{std::span<const std::string_view>(words).subspan(at)};
    options.check();
    has_bias = options.value("bias", "None") != "None";
    fields.push_back({"scaling_a", options.has_row_scales("bst") ? "row" : "tensor"});
    fields.push_back({"scaling_b", options.has_row_scales("ast") ? "row" : "tensor"});
    if (const std::string_view fast = options.value("fast", ""); !fast.empty()) {
      fields.push_back({"numerics", fast == "1" ? "fast" : "promoted"});
    }
  }
  if (operation.find("_bfx9_") != std::string_view::npos) {
    fields.push_back({"numerics", "emulated"});
  }
  fields.push_back({"bias", has_bias ? "col" : "none"});
  return fields;
}

}  // namespace tunedgemm::internal
