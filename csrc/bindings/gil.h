// The GIL, given up and taken again; also by threads that outlive the interpreter.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <thread>

namespace unspool::bindings {

/// Runs `take`, which takes the GIL. While the interpreter finalizes, CPython ends the thread there
/// (a forced unwind before 3.14), which C++ answers with `abort`: the thread sleeps instead, and
/// the end of the process ends it. CPython 3.14 does the same.
template <typename Take>
void take_gil(Take&& take) noexcept {
  try {
    take();
  } catch (...) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

/// Runs a scope without the GIL; the scope touches no Python.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    take_gil([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

/// Runs a scope with the GIL, in any thread.
class GilAcquire {
 public:
  GilAcquire() {
    take_gil([this] { state_ = PyGILState_Ensure(); });
  }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;
  ~GilAcquire() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

}  // namespace unspool::bindings
