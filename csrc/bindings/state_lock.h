// Protects an object's state in an interpreter without the GIL.
#pragma once

#include <pybind11/critical_section.h>
#include <pybind11/pybind11.h>

namespace unspool::bindings {

/// Whether several threads can run this module's functions at the same time.
#ifdef Py_GIL_DISABLED
inline constexpr bool kFreeThreaded = true;
#else
inline constexpr bool kFreeThreaded = false;
#endif

/// A member of an object whose methods change it. Empty if there is a GIL.
class StateLock {
 public:
#ifdef Py_GIL_DISABLED
  // An `object()` of its own: a critical section needs a Python object to lock.
  StateLock() : object_(pybind11::handle(reinterpret_cast<PyObject*>(&PyBaseObject_Type))()) {}
  StateLock(const StateLock&) : StateLock() {}  // a copy of the state has its own lock
  StateLock& operator=(const StateLock&) { return *this; }
  pybind11::handle object() const { return object_; }

 private:
  pybind11::object object_;
#else
  pybind11::handle object() const { return {}; }
#endif
};

/// Holds the lock of one or two states during a scope. It is CPython's critical section, which
/// behaves like the GIL: a thread releases it while it waits or runs detached. Any call into Python
/// may wait, so code that must not be interrupted makes none.
class StateGuard {
 public:
  explicit StateGuard(const StateLock& lock) : section_(lock.object()) {}
  StateGuard(const StateLock& one, const StateLock& two) : section_(one.object(), two.object()) {}

 private:
  pybind11::scoped_critical_section section_;
};

}  // namespace unspool::bindings
