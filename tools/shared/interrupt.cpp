#include "tools/shared/interrupt.h"

#include <csignal>

namespace tunedgemm {
namespace {

volatile std::sig_atomic_t signal_came = 0;

extern "C" void note_signal(int /*signal*/) {
  signal_came = 1;
}

}  // namespace

void note_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  // The handler leaves after its first use, so that the second Ctrl-C ends the process.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
  return signal_came != 0;
}

}  // namespace tunedgemm
