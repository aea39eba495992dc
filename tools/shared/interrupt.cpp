#include "tools/shared/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace tunedgemm::internal {
namespace {

volatile std::sig_atomic_t signal_came = 0;

extern "C" void note_signal(int /*signal*/) {
  signal_came = 1;
}

void note(int signal, int flags) {
  struct sigaction before {};
  sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) {  // as nohup does
    return;
  }
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART | flags;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void note_interrupts() {
  // The handler leaves after its first use, so that the second Ctrl-C ends the process.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    note(signal, static_cast<int>(SA_RESETHAND));
  }
  // Whoever was to read what is written is gone, and each further line says so again.
  note(SIGPIPE, 0);
}

void survive_file_size_limit() {
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() {
  return signal_came != 0;
}

}  // namespace tunedgemm::internal
