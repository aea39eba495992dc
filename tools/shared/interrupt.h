#pragma once

// Ctrl-C: the first one asks the run to end and keep what is done, the second one ends it at once.

namespace tunedgemm {

/// From now on SIGINT and SIGTERM are noted once; a second signal has its usual effect.
void note_interrupts();
bool interrupted();

}  // namespace tunedgemm
