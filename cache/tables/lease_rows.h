#pragma once

// Rows of the table `lease`: who tunes which problem now, and with which candidate in flight.
// Private to cache.

#include <optional>
#include <string>
#include <string_view>

#include "cache/file/process_identity.h"
#include "cache/record.h"
#include "cache/sqlite/sqlite.h"
#include "cache/tables/dimension_rows.h"

namespace tunedgemm::internal {

/// A process and, since it may tune on several threads, which of its leases.
struct LeaseHolder {
  ProcessIdentity process;
  std::string token;
};

/// Whether another process or thread that still lives holds the lease. Only reads.
bool is_held(sqlite::Connection& connection, const TuningKey& key);

/// Takes the lease if nobody else holds it; call it in a transaction. A candidate that a dead
/// holder left in flight becomes a trial rejected as kCrashed.
bool claim_lease(sqlite::Connection& connection, const TuningKey& key, const LeaseHolder& holder);
void release_lease(sqlite::Connection& connection, const TuningKey& key, const LeaseHolder& holder);

struct CandidateInFlight {
  std::string family;
  Config config;
  std::string family_fingerprint;
};
/// What the process is about to run, or that it has come back; with a lease or without.
void set_in_flight(sqlite::Connection& connection, const TuningKey& key,
                   const ProcessIdentity& process, const CandidateInFlight& candidate);
void clear_in_flight(sqlite::Connection& connection, const TuningKey& key,
                     const ProcessIdentity& process);

}  // namespace tunedgemm::internal
