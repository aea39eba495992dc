#pragma once

// Rows of the table `winner`. Private to cache.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"

namespace tunedgemm::internal {

/// Whether what was tuned with a family of this fingerprint still counts.
using IsCurrent = std::function<bool(std::string_view family, std::string_view fingerprint)>;

/// Stores the winner, unless the one that is there has to be kept (see Store::put). Returns
/// whether it was stored.
bool put_winner(sqlite::Connection& connection, const Record& record,
                std::optional<std::int64_t> kernel, const IsCurrent& is_current);

// What reads winners leaves out those of which a text is not understood: a later version of the
// library has written them.

/// All winners, with their states.
std::vector<WinnerWithState> read_winners(const sqlite::Connection& connection);
/// What a winner is found by: the fingerprints of its problem and its device.
struct WinnerKey {
  std::string problem, device;
};
/// The winners of one problem on one device, of all toolchains.
std::vector<Record> find_winners(const sqlite::Connection& connection, const WinnerKey& key);

/// The fingerprints of problems with a winner on the device (one for each winner) that have the
/// types, orders, epilogue and numerics of `canonical`: at most `count`, the nearest first. What is
/// near is told by the product of the ratios of M, N, K and batch, each plus one.
std::vector<std::string> find_neighbours(const sqlite::Connection& connection,
                                         const Problem& canonical, const std::string& device,
                                         int count);
/// The same at any distance, told by the ratio of M plus one: of at most `count` configs, each
/// once. Looks at so many of the winners next in M, on either side, that distant kernels are found
/// among many alike, and no more, however many there are.
std::vector<std::string> find_distant_neighbours(const sqlite::Connection& connection,
                                                 const Problem& canonical,
                                                 const std::string& device, int count);

/// Deletes the winners and the trials of a problem, by its fingerprint; returns how many winners.
std::int64_t delete_winners(sqlite::Connection& connection, const std::string& problem);

/// Changes when a winner was stored.
std::int64_t newest_winner(sqlite::Connection& connection);

}  // namespace tunedgemm::internal
