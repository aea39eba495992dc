#include "tools/tune_all/shape_queue.h"

#include <algorithm>

namespace tunedgemm::internal {

ShapeQueue::ShapeQueue(std::size_t shapes, const std::vector<bool>& is_tuned, std::size_t devices)
    : states_(shapes, State::kWaits), is_tuned_(is_tuned), expected_(devices) {
  is_tuned_.resize(shapes, false);
  to_tune_ = static_cast<std::size_t>(std::count(is_tuned_.begin(), is_tuned_.end(), false));
}

std::optional<ShapeQueue::Turn> ShapeQueue::take(std::size_t device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::optional<std::size_t>& mine = expected_[device];
  std::optional<std::size_t> shape = first_waiting();
  if (mine && (!shape || *mine < *shape)) {
    shape = mine;
  }
  if (!shape) {
    // The one that its device would begin last.
    const auto last = std::max_element(expected_.begin(), expected_.end());
    if (last == expected_.end() || !*last) {
      return std::nullopt;
    }
    shape = *last;
  }
  std::replace(expected_.begin(), expected_.end(), shape, std::optional<std::size_t>());
  states_[*shape] = State::kTaken;
  if (!is_tuned_[*shape] && !mine) {
    mine = expect_next();
  }
  return Turn{*shape, mine};
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
