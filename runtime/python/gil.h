#pragma once

// The GIL, taken so that a thread survives the end of the interpreter.
//
// Up to Python 3.13, the ending interpreter ends each other thread that wants the GIL back, by
// pthread_exit(). That unwinds the thread's stack, but not through noexcept functions, such as
// destructors and nanobind's dispatcher: std::terminate() then ends the process, and its exit
// status is lost. Here such a thread waits until the process has ended, as from Python 3.14 on.

#include <nanobind/nanobind.h>

#include <cxxabi.h>
#include <unistd.h>

namespace tunedgemm::python {

[[noreturn]] inline void wait_for_exit() {
  for (;;) {
    pause();
  }
}

/// Calls `act`, in which Python code may run, and with it other threads. Keep what has a destructor
/// outside: objects of Python must not be released without the GIL.
template <class Act>
decltype(auto) run_python(Act&& act) {
  try {
    return act();
  } catch (abi::__forced_unwind&) {
    wait_for_exit();
  }
}

class GilRelease {
 public:
  [[nodiscard]] GilRelease() : thread_(PyEval_SaveThread()) {}
  ~GilRelease() {
    run_python([this] { PyEval_RestoreThread(thread_); });
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* thread_;
};

/// For threads that may have no Python state yet, and for those that have the GIL already.
class GilAcquire {
 public:
  [[nodiscard]] GilAcquire() : state_(run_python([] { return PyGILState_Ensure(); })) {}
  ~GilAcquire() { PyGILState_Release(state_); }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace tunedgemm::python
