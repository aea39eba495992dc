#pragma once

// PrintableOutput: while it lives, a stream shows all text as printable() does, so that nothing
// that a program prints can act on the terminal, wherever the text is from.

#include <ostream>
#include <streambuf>
#include <string>

namespace tunedgemm::internal {

/// Used by one thread. The stream must outlive it.
class PrintableOutput final : private std::streambuf {
 public:
  [[nodiscard]] explicit PrintableOutput(std::ostream& stream)
      : stream_(stream), destination_(stream.rdbuf(this)) {}
  ~PrintableOutput() override;
  PrintableOutput(const PrintableOutput&) = delete;
  PrintableOutput& operator=(const PrintableOutput&) = delete;

  /// Where the text goes: for those who move the cursor themselves.
  std::streambuf* destination() const { return destination_; }

 private:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  bool pass_on();

  std::ostream& stream_;
  std::streambuf* destination_;
  std::string waiting_;  ///< for the end of its line, since a character may come in pieces
};

}  // namespace tunedgemm::internal
