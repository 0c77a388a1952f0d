// What the GIL does for an object's state, in an interpreter without one.
#pragma once

#include <pybind11/critical_section.h>
#include <pybind11/pybind11.h>

namespace unspool::bindings {

/// Whether several threads may run this module's functions at the same time.
#ifdef Py_GIL_DISABLED
inline constexpr bool kFreeThreaded = true;
#else
inline constexpr bool kFreeThreaded = false;
#endif

/// Part of an object whose methods change it. With the GIL it is empty.
class StateLock {
 public:
#ifdef Py_GIL_DISABLED
  StateLock() : object_(pybind11::handle(reinterpret_cast<PyObject*>(&PyBaseObject_Type))()) {}
  StateLock(const StateLock&) : StateLock() {}  // a copy of the state has a lock of its own
  StateLock& operator=(const StateLock&) { return *this; }
  pybind11::handle object() const { return object_; }

 private:
  pybind11::object object_;
#else
  pybind11::handle object() const { return {}; }
#endif
};

/// Holds the lock of one state or of two while a scope runs. It is CPython's critical section, so
/// it is as the GIL is: a thread that waits or runs without the GIL lets go of it meanwhile. Any
/// call of Python may wait, so what must not be interrupted makes none.
class StateGuard {
 public:
  explicit StateGuard(const StateLock& lock) : section_(lock.object()) {}
  StateGuard(const StateLock& one, const StateLock& two) : section_(one.object(), two.object()) {}

 private:
  pybind11::scoped_critical_section section_;
};

}  // namespace unspool::bindings
