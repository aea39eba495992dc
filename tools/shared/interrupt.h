#pragma once

// Ctrl-C and its like: the first one asks the run to end and keep what is done, the second one ends
// it at once.

namespace tunedgemm::internal {

/// From now on SIGINT, SIGTERM and SIGHUP are noted once, unless they are ignored; a second signal
/// has its usual effect. SIGPIPE is noted, too: nobody reads any more what the run writes.
void note_interrupts();
/// From now on a file that grows past the limit (ulimit -f) is an error of the write, as a full disk
/// is, and not the end of the process.
void survive_file_size_limit();
bool interrupted();

}  // namespace tunedgemm::internal
