#include "tools/shared/tunable_op.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::string_view kOperation = "TunableOp_";

// PyTorch's names and ours.
constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"float", "f32"},     {"double", "f64"},         {"Half", "f16"},
    {"BFloat16", "bf16"}, {"Float8_e4m3fn", "e4m3"}, {"Float8_e5m2", "e5m2"}};

// Takes a type and the "_" after it from the left.
std::string take_type(std::string_view& text) {
  for (const auto& [theirs, ours] : kTypes) {
    if (text.starts_with(std::string(theirs) + "_")) {
      text.remove_prefix(theirs.size() + 1);
      return std::string(ours);
    }
  }
  throw std::invalid_argument("the element type of \"" + std::string(text) +
                              "\" is not supported; expected float, double, Half, BFloat16, "
                              "Float8_e4m3fn or Float8_e5m2");
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
  fields.insert(fields.end(), {{"n", n}, {"m", m}, {"k", k}});
  if (operation.starts_with("GemmStridedBatched")) {
    skip("B");
    fields.push_back({"batch", take()});
  }
  skip("ld");
  const auto take_leading_dimension = [&](std::initializer_list<const char*> names,
                                          const std::string& packed) {
    const std::string value = take();
    for (const char* name : names) {
      if (value != packed) {
        fields.push_back({name, value});
      }
    }
  };
  take_leading_dimension({"ldb"}, transpositions[1] == 'n' ? n : k);
  take_leading_dimension({"lda"}, transpositions[0] == 'n' ? k : m);
  take_leading_dimension({"ldc", "ldd"}, n);
  bool has_bias = operation.starts_with("GemmAndBias");
  if (operation.starts_with("ScaledGemm") && at < words.size()) {
    skip("rw");
    if (take() != "0") {
      throw std::invalid_argument("scales for each row are not supported; remove the line");
    }
    skip("bias");
    has_bias = take() != "None";
  }
  fields.push_back({"bias", has_bias ? "col" : "none"});
  return fields;
}

}  // namespace tunedgemm::internal
