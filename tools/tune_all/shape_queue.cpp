#include "tools/tune_all/shape_queue.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace tunedgemm::internal {

std::vector<std::size_t> tuning_order(std::span<const NamedProblem> shapes, bool time_is_limited) {
  std::vector<std::size_t> order(shapes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!time_is_limited) {
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::size_t shape) { return flops(shapes[shape].problem); });
  }
  return order;
}

ShapeQueue::ShapeQueue(std::vector<std::size_t> order, const std::vector<bool>& is_tuned,
                       std::size_t devices)
    : order_(std::move(order)), states_(order_.size(), State::kWaits), expected_(devices) {
  is_tuned_.reserve(order_.size());
  for (const std::size_t shape : order_) {
    is_tuned_.push_back(shape < is_tuned.size() && is_tuned[shape]);
  }
  to_tune_ = static_cast<std::size_t>(std::count(is_tuned_.begin(), is_tuned_.end(), false));
}

std::optional<ShapeQueue::Turn> ShapeQueue::take(std::size_t device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::optional<std::size_t>& mine = expected_[device];
  std::optional<std::size_t> place = first_waiting();
  if (mine && (!place || *mine < *place)) {
    place = mine;
  }
  if (!place) {
    // The one that its device would begin last.
    const auto last = std::max_element(expected_.begin(), expected_.end());
    if (last == expected_.end() || !*last) {
      return std::nullopt;
    }
    place = *last;
  }
  std::replace(expected_.begin(), expected_.end(), place, std::optional<std::size_t>());
  states_[*place] = State::kTaken;
  if (!is_tuned_[*place] && !mine) {
    mine = expect_next();
  }
  return Turn{order_[*place], mine ? std::optional(order_[*mine]) : std::nullopt};
}

std::optional<std::size_t> ShapeQueue::first_waiting() {
  while (first_waiting_ < states_.size() && states_[first_waiting_] != State::kWaits) {
    ++first_waiting_;
  }
  return first_waiting_ < states_.size() ? std::optional(first_waiting_) : std::nullopt;
}

std::optional<std::size_t> ShapeQueue::expect_next() {
  while (first_to_tune_ < states_.size() &&
         (states_[first_to_tune_] != State::kWaits || is_tuned_[first_to_tune_])) {
    ++first_to_tune_;
  }
  if (first_to_tune_ == states_.size()) {
    return std::nullopt;
  }
  states_[first_to_tune_] = State::kExpected;
  return first_to_tune_;
}

}  // namespace tunedgemm::internal
