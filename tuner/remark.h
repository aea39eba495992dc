#pragma once

// The text of Record::remark: says if the choice or the measurement of the winner was unusual.

#include <string>
#include <string_view>

#include "cache/record.h"
#include "tuner/decision.h"
#include "tuner/finals.h"

namespace tunedgemm::internal {

/// A larger relative_spread() of the winner's samples means that the machine was busy. On an idle
/// machine the spread is at most 1 %.
inline constexpr double kBusySpread = 0.05;

enum class Winner { kDefault, kChallenger, kTunedLaunch };

/// "kept: default, too few rounds to tell (another measured 1.12x, +-8.3 %)": why another contender
/// that was measured faster did not win. Empty if none was measured faster by more than kTieMargin.
std::string why_kept(const Decision& decision, Winner winner);

/// REASON, such as "too few rounds to tell", if a record's remark says that the default was kept:
/// "kept: default, REASON (numbers); further remarks". Else "".
std::string why_default_was_kept(std::string_view remark);

/// The processes that ran or waited in the last minute, on average; 0 if it is not known.
double load_of_machine();

/// "busy machine: samples within +-9.1 %, load 3.2". Empty if the spread is at most kBusySpread and
/// few rounds of the finals were repeated because the clock had dropped.
std::string why_noisy(const Measurement& winner, const FinalsReport& finals, double load = 0);

/// "busy device: process 1650 (python3) used it, so tune again". Empty if `neighbour` is.
std::string why_shared(const std::string& neighbour);

/// The two remarks, joined by "; "; an empty one is left out.
std::string joined_remarks(std::string_view first, std::string_view second);

}  // namespace tunedgemm::internal
