#pragma once

#include <string>
#include <utility>

#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

/// Options of a context on a GPU with this policy, with its cache in memory and with a small tuning
/// budget.
inline tunedgemm_context_options c_options(tunedgemm_policy policy, int ordinal = 0) {
  return {.backend = TUNEDGEMM_BACKEND_CUDA,
          .ordinal = ordinal,
          .cache_path = "",
          .policy = policy,
          .rigor = TUNEDGEMM_RIGOR_QUICK,
          .tune_candidates = 2};
}

/// A program that uses the C interface: it opens a context and multiplies.
class CProgram {
 public:
  /// An empty cache path means a cache in memory.
  explicit CProgram(const tunedgemm_context_options& options, std::string cache = "")
      : cache_(std::move(cache)), options_(options) {
    options_.cache_path = cache_.c_str();
  }
  ~CProgram() { tunedgemm_context_destroy(context_); }
  CProgram(const CProgram&) = delete;
  CProgram& operator=(const CProgram&) = delete;

  /// Opens the context, unless it is open, and multiplies.
  template <class Product>
  tunedgemm_status multiply(const Product& product) {
    tunedgemm_status status = TUNEDGEMM_STATUS_OK;
    if (context_ == nullptr) {
      status = tunedgemm_context_create(&options_, &context_);
    }
    const tunedgemm_buffers buffers = product.buffers();
    return status == TUNEDGEMM_STATUS_OK
               ? tunedgemm_matmul(context_, &product.problem(), &buffers, nullptr)
               : status;
  }

  /// Multiplies. Returns "" if the product is right, or if `may_be_refused` and the call fails with
  /// a message and a status other than INTERNAL. Otherwise returns what went wrong.
  template <class Product>
  std::string why_not(const Product& product, bool may_be_refused) {
    product.erase();
    const tunedgemm_status status = multiply(product);
    was_refused_ = status != TUNEDGEMM_STATUS_OK;
    if (!was_refused_) {
      return product.is_right() ? "" : "wrong without an error";
    }
    const std::string sentence = tunedgemm_error_message();
    if (status == TUNEDGEMM_STATUS_INTERNAL || sentence.empty()) {
      return std::string(tunedgemm_status_name(status)) + ": " + sentence;
    }
    return may_be_refused ? "" : sentence;
  }
  /// Whether the last call of why_not() got a status other than OK.
  bool was_refused() const { return was_refused_; }

 private:
  const std::string cache_;
  tunedgemm_context_options options_;
  tunedgemm_context* context_ = nullptr;
  bool was_refused_ = false;
};

}  // namespace tunedgemm::internal
