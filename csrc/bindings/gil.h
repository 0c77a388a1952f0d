// Releases and acquires the GIL, also in threads that outlive the interpreter.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <thread>
#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

namespace unspool::bindings {

/// Parks a thread while the interpreter finalizes, until the process ends. Before 3.14, CPython
/// ends a thread that acquires the GIL then with a forced unwind, which would destroy Python
/// objects without the GIL. CPython 3.14 parks it as well.
[[noreturn]] inline void sleep_for_ever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Runs `take`, which acquires the GIL.
template <typename Take>
void take_gil(Take&& take) noexcept {
  try {
    take();
  } catch (...) {
    sleep_for_ever();
  }
}

/// Runs `call`, a function of CPython's C API that may run Python code, which may release and
/// reacquire the GIL.
template <typename Call>
PyObject* call_python(Call&& call) {
#ifdef __GLIBCXX__
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    sleep_for_ever();
  }
#else
  return call();
#endif
}

/// Runs a scope without the GIL; the scope must not use Python.
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
