#include "tools/shared/printable_output.h"

#include <utility>

#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {

PrintableOutput::~PrintableOutput() {
  stream_.flush();
  stream_.rdbuf(destination_);
}

PrintableOutput::int_type PrintableOutput::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) {
    return traits_type::not_eof(character);
  }
  const char letter = traits_type::to_char_type(character);
  return xsputn(&letter, 1) == 1 ? character : traits_type::eof();
}

std::streamsize PrintableOutput::xsputn(const char* text, std::streamsize size) {
  waiting_.append(text, static_cast<std::size_t>(size));
  const bool ends_line = waiting_.find('\n') != std::string::npos;
  return !ends_line || pass_on() ? size : 0;
}

int PrintableOutput::sync() {
  return pass_on() && destination_->pubsync() == 0 ? 0 : -1;
}

bool PrintableOutput::pass_on() {
  const std::string text = printable(std::exchange(waiting_, ""), Lines::kMany);
  const auto size = static_cast<std::streamsize>(text.size());
  return destination_->sputn(text.data(), size) == size;
}

}  // namespace tunedgemm::internal
