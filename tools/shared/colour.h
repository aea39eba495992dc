#pragma once

// Colours on a terminal. Control sequences are text like any other to a stream, so a stream has to
// be told that its reader understands them.

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace tunedgemm::internal {

enum class Colour { kNone, kBold, kGreen, kYellow, kRed };

/// Whether a reader of the file descriptor sees colours: it is a terminal, and neither is $NO_COLOR
/// set to a text (no-color.org) nor $TERM "dumb".
bool shows_colours(int descriptor);

/// Turns colours of the stream on or off; they are off at first.
void set_colours(std::ostream& out, bool on);
bool has_colours(std::ostream& out);

/// The text in the colour, if the stream has colours.
std::string coloured(std::ostream& out, std::string_view text, Colour colour);

/// The colour of a state, if the text is one of those that tools/README.md lists.
Colour colour_of_state(std::string_view text);

/// The bytes of a control sequence that coloured() writes, at the start of the text; else 0.
std::size_t sequence_bytes(std::string_view text);

/// printable() with Lines::kMany, but the control sequences of coloured() stay.
std::string printable_coloured(std::string_view text);

}  // namespace tunedgemm::internal
