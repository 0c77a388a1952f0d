// DeltaChannel for Python: the native channel moves the deltas, this file waits and holds objects.
//
//   wait      `attempt` never waits. If there is nothing, `wait` runs without the GIL, for at most
//             50 ms; then signals are handled, so that Ctrl-C ends a wait
//   asyncio   an event loop cannot wait. It arms a callback, which is called once when get would
//             return; `channel_async` does the rest in Python
//   errors    the exception of `fail` stays here; the native channel has a placeholder for it
//   fork      a child's copy of a channel has ended. Its locks may be held by threads that the
//             child does not have, so nothing native is touched there
//
// Callbacks and destructors of Python objects may run any code, so none runs under `lock_`.
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>
#ifndef _WIN32
#include <pthread.h>
#endif

#include "bindings/channel_access.h"
#include "bindings/collected.h"
#include "bindings/delta_type.h"
#include "bindings/gil.h"
#include "bindings/native_class.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

using Clock = DeltaChannel::Clock;
using Deadline = DeltaChannel::Deadline;
using Got = DeltaChannel::Got;

// How often a wait checks for Ctrl-C.
constexpr auto kSlice = std::chrono::milliseconds(50);

constexpr Clock::time_point kNow = Clock::time_point::min();  // a deadline that means: do not wait

/// Represents the Python exception in the native channel; the PyChannel holds the exception.
struct PythonFailure {};

// The number of forks since the module was imported that led to this process.
std::atomic<unsigned> fork_count{0};

void count_forks() {
#ifndef _WIN32
  // A process id would be a system call at every use, and may be that of an earlier process.
  static const int is_counted = pthread_atfork(nullptr, nullptr, [] { ++fork_count; });
  if (is_counted != 0) throw std::bad_alloc();  // its only error
#endif
}

Deadline deadline_of(const std::optional<double>& timeout) {
  if (!timeout) return std::nullopt;
  // Written so that NaN is refused too.
  if (!(*timeout >= 0))
    throw ArgumentError("timeout is negative; pass seconds, or None to wait for ever");
  // The clock's number overflows at about 292 years. Thirty are long enough.
  const double seconds = std::min(*timeout, 1e9);
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Calls `attempt`, which never waits, until it does not time out or the deadline has passed. In
// between it calls `wait` without the GIL, in slices. Signals are handled after a wait and before
// the next attempt, so an interrupted call has no effect.
template <typename Attempt, typename Wait, typename Result>
Result wait_in_slices(Attempt&& attempt, Wait&& wait, const Deadline& deadline, Result timed_out) {
  for (;;) {
    const Result result = attempt();
    // Most calls end here, with the GIL held: to hand it over and back costs more than the call.
    if (result != timed_out) return result;
    const Clock::time_point now = Clock::now();
    // After an attempt in any case: a timeout of 0 asks once.
    if (deadline && *deadline <= now) return result;
    const Clock::time_point until = now + kSlice;
    {
      const GilRelease release;
      wait(Deadline(deadline ? std::min(until, *deadline) : until));
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

py::object to_python(Delta&& delta, const PyChannel& self) {
  PyObject* object = wrap_delta(std::move(delta), self.field());
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

Delta to_native(PyChannel& self, py::handle object) {
  const Delta* delta = as_delta(object.ptr());
  if (delta == nullptr) {
    throw py::type_error(std::string("a channel holds Delta objects, not ") +
                         Py_TYPE(object.ptr())->tp_name);
  }
  // The native delta has no such field; the channel remembers it for what comes out.
  self.set_field(reasoning_field_of(object.ptr()));
  return *delta;
}

[[noreturn]] void refuse_put(DeltaChannel::Put put) {
  switch (put) {
    case DeltaChannel::Put::closed:
      throw ChannelClosedError("the channel is closed; nothing may be put after close or fail");
    case DeltaChannel::Put::cancelled:
      throw ChannelCancelledError("the consumer has cancelled; stop producing");
    default: throw ChannelTimeoutError("the channel stayed full; is its consumer still reading?");
  }
}

// Converts the result of get; null means the end.
py::object take(PyChannel& self, Got got, Delta& delta) {
  switch (got) {
    case Got::item: return to_python(std::move(delta), self);
    case Got::finished: return py::none();
    case Got::failed: self.raise_failure();
    case Got::cancelled:
      throw ChannelCancelledError("the channel was cancelled; nothing more comes");
    case Got::timed_out:
      throw ChannelTimeoutError("no delta came in time; is the model still running?");
  }
  return py::none();
}

Got wait_for_delta(PyChannel& self, Delta& delta, const Deadline& deadline) {
  DeltaChannel& channel = self.native();
  return wait_in_slices([&] { return channel.get(delta, kNow); },
                        [&](const Deadline& until) { channel.wait(until); }, deadline,
                        Got::timed_out);
}

py::object get(PyChannel& self, const std::optional<double>& timeout) {
  Delta delta;
  const Got got = wait_for_delta(self, delta, deadline_of(timeout));
  return take(self, got, delta);
}

// Like `get(0)`, but returns NotImplemented if nothing is ready, or if another that waits comes
// first.
py::object get_ready(PyChannel& self, std::uint64_t ticket, bool cancelled_is_end) {
  if (!self.has_turn(ticket)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  Delta delta;
  const Got got = self.native().get(delta, kNow);
  if (got == Got::cancelled && cancelled_is_end) return py::none();
  // None is the end, and a ChannelTimeoutError may be the error that the producer passed to fail.
  if (got == Got::timed_out) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  return take(self, got, delta);
}

py::object next(PyChannel& self) {
  Delta delta;
  const Got got = wait_for_delta(self, delta, std::nullopt);
  // A `for` loop over a channel that was cancelled just ends.
  if (got == Got::finished || got == Got::cancelled) throw py::stop_iteration();
  return take(self, got, delta);
}

py::list drain(PyChannel& self) {
  std::vector<Delta> deltas;
  drain_channel(self, deltas);
  py::list list;
  for (Delta& delta : deltas) list.append(to_python(std::move(delta), self));
  return list;
}

bool wait(PyChannel& self, const std::optional<double>& timeout) {
  DeltaChannel& channel = self.native();
  return wait_in_slices([&] { return channel.wait(kNow); },
                        [&](const Deadline& until) { channel.wait(until); }, deadline_of(timeout),
                        false);
}

// Releases the GIL only while it has to wait; moves from `delta` only if it was put.
void put_native(DeltaChannel& channel, Delta& delta, const Deadline& deadline, bool is_last) {
  using Put = DeltaChannel::Put;
  const Put put = wait_in_slices(
      [&] { return is_last ? channel.put_final(delta, kNow) : channel.put(delta, kNow); },
      [&](const Deadline& until) { channel.wait_for_room(until); }, deadline, Put::timed_out);
  if (put != Put::accepted) refuse_put(put);
}

void put(PyChannel& self, py::handle delta, const std::optional<double>& timeout, bool is_last) {
  Delta copy = to_native(self, delta);
  put_native(self.native(), copy, deadline_of(timeout), is_last);
}

// Waits for room before it takes a delta from the iterable, so that after an interrupt or a timeout
// an iterator still has all deltas that were not put.
void put_many(PyChannel& self, const py::iterable& deltas, const std::optional<double>& timeout) {
  const Deadline deadline = deadline_of(timeout);
  DeltaChannel& channel = self.native();
  const py::iterator iterator = py::iter(deltas);
  for (;;) {
    const bool has_room = wait_in_slices(
        [&] { return channel.wait_for_room(kNow); },
        [&](const Deadline& until) { channel.wait_for_room(until); }, deadline, false);
    if (!has_room) refuse_put(DeltaChannel::Put::timed_out);
    const auto delta =
        py::reinterpret_steal<py::object>(call_python([&] { return PyIter_Next(iterator.ptr()); }));
    if (!delta && PyErr_Occurred() != nullptr) throw py::error_already_set();
    if (!delta) return;
    Delta copy = to_native(self, delta);
    put_native(channel, copy, deadline, false);
  }
}

// False: the waiter's event loop does not run.
bool reaches(const py::object& callback) {
  try {
    return !callback().is(py::bool_(false));
  } catch (py::error_already_set& error) {
    // The producer's thread called it, and has nothing to do with the error.
    error.discard_as_unraisable("an unspool channel's waker");
    return false;
  }
}

}  // namespace

// A forked child leaks its parent's native channel: destroying a condition variable would wait for
// threads that do not exist.
PyChannel::PyChannel(std::size_t maxsize)
    : fork_(fork_count), channel_(new DeltaChannel(maxsize), [fork = fork_](DeltaChannel* channel) {
        if (fork == fork_count) delete channel;
      }) {}

// A streamer may keep the native channel, whose waker has a pointer to this object.
PyChannel::~PyChannel() {
  if (DeltaChannel* channel = native_or_null()) channel->disarm();
}

DeltaChannel* PyChannel::native_or_null() const {
  return fork_ == fork_count ? channel_.get() : nullptr;
}

DeltaChannel& PyChannel::native() {
  if (DeltaChannel* channel = native_or_null()) return *channel;
  throw ChannelCancelledError(
      "this channel was made before the process forked, and its threads are in the parent; create "
      "channels and streams in the process that uses them");
}

void PyChannel::fail(py::object error) {
  DeltaChannel* channel = native_or_null();
  if (channel == nullptr) return;
  const StateGuard guard(lock_);
  std::swap(failure_, error);  // before a consumer can read it
  // Ended before: the earlier error stays, and the new one is destroyed after the lock.
  if (!channel->fail(std::make_exception_ptr(PythonFailure{}))) std::swap(failure_, error);
}

void PyChannel::raise_failure() {
  const py::object failure = [this] {
    const StateGuard guard(lock_);
    return failure_;
  }();
  // The garbage collector clears the error of an unreachable channel.
  if (!failure) throw ChannelClosedError("the channel has failed, and its error is gone");
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(failure.ptr())), failure.ptr());
  throw py::error_already_set();
}

bool PyChannel::has_turn(std::uint64_t ticket) {
  const StateGuard guard(lock_);
  return is_first(ticket);
}

bool PyChannel::is_first(std::uint64_t ticket) const {
  return waiters_.empty() || (ticket != 0 && ticket <= waiters_.begin()->first);
}

std::uint64_t PyChannel::arm(py::object callback, std::uint64_t ticket, bool until_begin) {
  const StateGuard guard(lock_);  // a waker that is called now waits for its callback
  // The caller of the waker holds a reference to this object.
  const auto waker = [this] {
    const GilAcquire acquire;
    wake();
  };
  if (is_first(ticket) && !native().arm(waker, until_begin)) return 0;
  if (ticket == 0) ticket = ++last_ticket_;
  // What was there is destroyed with the argument, after the lock.
  std::swap(waiters_[ticket], callback);
  return ticket;
}

void PyChannel::disarm(std::uint64_t ticket) {
  DeltaChannel* channel = native_or_null();
  std::map<std::uint64_t, py::object>::node_type waiter;  // destroyed after the map is updated
  {
    const StateGuard guard(lock_);
    const bool was_first = is_first(ticket);
    waiter = waiters_.extract(ticket);
    if (channel == nullptr || !was_first) return;
    if (waiters_.empty()) return channel->disarm();
  }
  wake();  // the next one looks for itself
}

// Wakes the first one alone. It keeps its place until it leaves: another that looks earlier takes
// nothing.
void PyChannel::wake() {
  for (;;) {
    std::uint64_t ticket = 0;
    py::object callback;
    {
      const StateGuard guard(lock_);
      if (waiters_.empty()) return;
      ticket = waiters_.begin()->first;
      callback = waiters_.begin()->second;
    }
    // Called without the lock: a callback may arm again at once. The garbage collector may have
    // taken it.
    if (callback && reaches(callback)) return;
    std::map<std::uint64_t, py::object>::node_type lost;
    const StateGuard guard(lock_);
    lost = waiters_.extract(ticket);
  }
}

void drain_channel(PyChannel& self, std::vector<Delta>& deltas) {
  const Got got = self.native().drain(deltas);
  if (got == Got::failed) self.raise_failure();
  if (got == Got::cancelled)
    throw ChannelCancelledError("the channel was cancelled; nothing more comes");
}

void send_deltas(TokenStreamer& streamer, PyChannel& self) {
  using Put = DeltaChannel::Put;
  // Otherwise every later call would try to send them again, and fail again.
  if (self.native_or_null() == nullptr) streamer.drop_unsent();
  DeltaChannel& channel = self.native();
  const Put put = wait_in_slices([&] { return streamer.send(kNow); },
                                 [&](const Deadline& until) { channel.wait_for_room(until); },
                                 std::nullopt, Put::timed_out);
  if (put != Put::accepted) refuse_put(put);
}

namespace {

std::unique_ptr<PyChannel> make_channel(py::ssize_t maxsize) {
  if (maxsize < 0)
    throw ArgumentError("maxsize is " + std::to_string(maxsize) +
                        "; pass 0 for an unbounded channel, or more");
  return std::make_unique<PyChannel>(static_cast<std::size_t>(maxsize));
}

void fail(PyChannel& self, py::object error) {
  if (PyExceptionInstance_Check(error.ptr()) == 0) {
    throw py::type_error("fail takes an exception instance, not " +
                         std::string(Py_TYPE(error.ptr())->tp_name));
  }
  self.fail(std::move(error));
}

template <void (DeltaChannel::*Method)()>
void call(PyChannel& self) {
  if (DeltaChannel* channel = self.native_or_null()) (channel->*Method)();
}

/// After a fork, the child's copy of a channel has ended.
template <bool (DeltaChannel::*Method)() const>
bool is(const PyChannel& self) {
  const DeltaChannel* channel = self.native_or_null();
  return channel == nullptr || (channel->*Method)();
}

std::size_t size(const PyChannel& self) {
  const DeltaChannel* channel = self.native_or_null();
  return channel == nullptr ? 0 : channel->size();
}

template <bool IsFinal>
void put_delta(PyChannel& self, const py::object& delta, const std::optional<double>& timeout) {
  put(self, delta, timeout, IsFinal);
}

}  // namespace

void register_channel(py::module_& module) {
  count_forks();
  NativeClass<PyChannel> channel(module, "DeltaChannel", py::is_final(), is_collected<PyChannel>());
  channel.def_init(py::init(&make_channel), py::arg("maxsize") = 0)
      .def("put", &put_delta<false>, py::arg("delta"), py::arg("timeout") = py::none())
      .def("put_many", &put_many, py::arg("deltas"), py::arg("timeout") = py::none())
      .def("put_final", &put_delta<true>, py::arg("delta"), py::arg("timeout") = py::none())
      .def("close", &call<&DeltaChannel::close>)
      .def("fail", &fail, py::arg("error"))
      .def("cancel", &call<&DeltaChannel::cancel>)
      .def("get", &get, py::arg("timeout") = py::none())
      .def("_get_ready", &get_ready, py::arg("ticket") = 0, py::arg("cancelled_is_end") = false)
      .def("drain", &drain)
      .def("wait", &wait, py::arg("timeout") = py::none())
      .def("_arm", &PyChannel::arm, py::arg("callback"), py::arg("ticket") = 0,
           py::arg("until_begin") = false)
      .def("_disarm", &PyChannel::disarm, py::arg("ticket"))
      .def(
          "aget",
          [](const py::object& self, const py::object& timeout) {
            return py::module_::import("unspool.core.stream.channel_async")
                .attr("get")(self, timeout);
          },
          py::arg("timeout") = py::none())
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &next)
      .def("__aiter__",
           [](const py::object& self) {
             return py::module_::import("unspool.core.stream.channel_async").attr("Iterator")(self);
           })
      .def("__len__", &size)
      .def("__bool__", [](const PyChannel&) { return true; })
      .def_property_readonly("maxsize", [](PyChannel& self) { return self.native().maxsize(); })
      .def_property_readonly("has_begun", &is<&DeltaChannel::has_begun>)
      .def_property_readonly("is_closed", &is<&DeltaChannel::is_closed>)
      .def_property_readonly("is_cancelled", &is<&DeltaChannel::is_cancelled>)
      .def_property_readonly("is_finished", &is<&DeltaChannel::is_finished>);
  describe_by(channel, "maxsize", "is_closed", "is_cancelled", "is_finished");
  refuse_pickle(channel, "a DeltaChannel");
}

}  // namespace unspool::bindings
