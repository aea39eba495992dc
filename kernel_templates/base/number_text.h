#pragma once

// Numbers in texts: the same in every locale, whichever the program has set.

#include <string>

namespace tunedgemm::internal {

/// "365.60" for 365.6 and 2 decimals.
std::string fixed(double value, int decimals);

/// At most four significant digits: "365.6", "0.0125", "1.235e+06".
std::string four_digits(double value);

}  // namespace tunedgemm::internal
