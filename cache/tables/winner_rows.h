#pragma once

// Rows of the table `winner`. Private to cache.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cache/record.h"
#include "cache/sqlite/sqlite.h"

namespace tunedgemm {

/// A winner as it lies in a file. Thousands are read at once and few are asked for, so the texts
/// are parsed when one is: until then `record.problem`, `record.config` and `record.ties` are
/// empty.
struct StoredWinner {
  Record record;
  std::string problem_text, knobs, ties;
  std::string state;  ///< as the view has it; empty if it was not asked for
};
StoredWinner stored(const Record& record);
/// Empty if a text is not understood: a later version of the library has written it.
std::optional<Record> parsed(const StoredWinner& winner);

/// Whether what was tuned with a family of this fingerprint still counts.
using IsCurrent = std::function<bool(std::string_view family, std::string_view fingerprint)>;

/// Stores the winner, unless the one that is there has to be kept (see Store::put). Returns
/// whether it was stored.
bool put_winner(sqlite::Connection& connection, const Record& record,
                std::optional<std::int64_t> kernel, const IsCurrent& is_current);

/// Whether the state of a winner is computed.
enum class WithState { kNo, kYes };
/// Calls `take` with the fingerprints of problem and device for each winner.
void read_winners(const sqlite::Connection& connection, WithState with_state,
                  const std::function<void(const std::string& problem, const std::string& device,
                                           StoredWinner)>& take);

/// Deletes the winners and the trials of a problem, by its fingerprint; returns how many winners.
std::int64_t delete_winners(sqlite::Connection& connection, const std::string& problem);

/// Changes when a winner was stored or deleted.
struct WinnersStamp {
  std::int64_t newest = 0, count = 0;
  friend bool operator==(const WinnersStamp&, const WinnersStamp&) = default;
};
WinnersStamp winners_stamp(sqlite::Connection& connection);

}  // namespace tunedgemm
