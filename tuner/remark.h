#pragma once

// What a reader of the result must know about how it was decided and measured: Record::remark.

#include <string>
#include <string_view>

#include "cache/record.h"
#include "tuner/decision.h"
#include "tuner/finals.h"

namespace tunedgemm::internal {

/// A machine on which the winner's samples scatter by more than this (relative_spread) was busy
/// with something else: on an idle one it is a hundredth or less.
inline constexpr double kBusySpread = 0.05;

enum class Winner { kDefault, kChallenger, kTunedLaunch };

/// "kept: default, too few rounds to tell (another measured 1.12x, +-8.3 %)": why the winner is not
/// the one that was measured fastest. Empty if it is.
std::string why_kept(const Decision& decision, Winner winner);

/// "busy machine: samples within +-9.1 %": empty if the winner's samples scatter as usual and the
/// clock of the finals was steady.
std::string why_noisy(const Measurement& winner, const FinalsReport& finals);

/// One of them, or both with "; " between them, or none.
std::string joined_remarks(std::string_view first, std::string_view second);

}  // namespace tunedgemm::internal
