#pragma once

// The meaning of the views for people and of their columns: the rows of the view `help`.

#include <string>
#include <string_view>

namespace tunedgemm::internal {

/// An SQL comment that says what a row of the view for people is, for the head of its text.
std::string head_comment(std::string_view view);
/// The SQL that creates the view `help`.
std::string help_view();

}  // namespace tunedgemm::internal
