#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/channel_access.h"
#include "bindings/delta_type.h"
#include "bindings/fast_method.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

using Clock = DeltaChannel::Clock;
using Deadline = DeltaChannel::Deadline;
using Got = DeltaChannel::Got;

// How often a wait looks for Ctrl-C.
constexpr auto kSlice = std::chrono::milliseconds(50);

/// A Python exception on its way through the channel; the object itself comes out.
struct PythonFailure {
  std::shared_ptr<py::object> error;
};

/// Shares a Python object with threads that may let go of it without the GIL.
std::shared_ptr<py::object> share(py::object object) {
  return {new py::object(std::move(object)), [](py::object* held) {
            if (Py_IsInitialized() == 0) {
              held->release();  // the interpreter is gone, and with it the object
            } else {
              py::gil_scoped_acquire acquire;
              held->dec_ref();
              held->release();
            }
            delete held;
          }};
}

Deadline deadline_of(const std::optional<double>& timeout) {
  if (!timeout) return std::nullopt;
  if (!(*timeout >= 0))
    throw ArgumentError("timeout is negative; pass seconds, or None to wait for ever");
  const double seconds = std::min(*timeout, 1e9);
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Calls `attempt(deadline)` until it does not time out or the deadline has passed: first without
// waiting and with the GIL, then in slices without it.
template <typename Attempt, typename Result>
Result wait_in_slices(Attempt&& attempt, const Deadline& deadline, Result timed_out) {
  Result result = attempt(Deadline(Clock::time_point::min()));
  while (result == timed_out) {
    Clock::time_point until = Clock::now() + kSlice;
    const bool is_last = deadline && *deadline <= until;
    if (is_last) until = *deadline;
    {
      py::gil_scoped_release release;  // attempt touches no Python
      result = attempt(Deadline(until));
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (is_last) break;
  }
  return result;
}

[[noreturn]] void raise_failure(const DeltaChannel& channel) {
  try {
    std::rethrow_exception(channel.error());
  } catch (const PythonFailure& failure) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(failure.error->ptr())),
                    failure.error->ptr());
    throw py::error_already_set();
  }
}

py::object to_python(Delta&& delta, const PyChannel& self) {
  PyObject* object = make_delta(std::move(delta), self.field);
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

Delta to_native(PyChannel& self, py::handle object) {
  const Delta* delta = as_delta(object.ptr());
  if (delta == nullptr) {
    throw py::type_error(std::string("a channel holds Delta objects, not ") +
                         Py_TYPE(object.ptr())->tp_name);
  }
  self.field = reasoning_field_of(object.ptr());
  return *delta;
}

// What get gives for how it went; null stands for the end.
py::object take(PyChannel& self, Got got, Delta& delta) {
  switch (got) {
    case Got::item: return to_python(std::move(delta), self);
    case Got::finished: return py::none();
    case Got::failed: raise_failure(self.channel);
    case Got::cancelled:
      throw ChannelCancelledError("the channel was cancelled; nothing more comes");
    case Got::timed_out:
      throw ChannelTimeoutError("no delta came in time; is the model still running?");
  }
  return py::none();
}

py::object get(PyChannel& self, const std::optional<double>& timeout) {
  const Deadline deadline = deadline_of(timeout);
  Delta delta;
  const Got got =
      wait_in_slices([&](const Deadline& until) { return self.channel.get(delta, until); },
                     deadline, Got::timed_out);
  return take(self, got, delta);
}

py::object next(PyChannel& self) {
  Delta delta;
  const Got got =
      wait_in_slices([&](const Deadline& until) { return self.channel.get(delta, until); },
                     std::nullopt, Got::timed_out);
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

bool arm(PyChannel& self, py::function callback) {
  const std::shared_ptr<py::object> shared = share(std::move(callback));
  return self.channel.arm([shared] {
    py::gil_scoped_acquire acquire;
    try {
      (*shared)();
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("an unspool channel's waker");
    }
  });
}

}  // namespace

void drain_channel(PyChannel& self, std::vector<Delta>& deltas) {
  const Got got = self.channel.drain(deltas);
  if (got == Got::failed) raise_failure(self.channel);
  if (got == Got::cancelled)
    throw ChannelCancelledError("the channel was cancelled; nothing more comes");
}

void put_to_channel(DeltaChannel& channel, Delta& delta, const Deadline& deadline, bool is_last) {
  using Put = DeltaChannel::Put;
  const Put put = wait_in_slices(
      [&](const Deadline& until) {
        return is_last ? channel.put_final(delta, until) : channel.put(delta, until);
      },
      deadline, Put::timed_out);
  switch (put) {
    case Put::accepted: return;
    case Put::timed_out:
      throw ChannelTimeoutError("the channel stayed full; is its consumer still reading?");
    case Put::closed:
      throw ChannelClosedError("the channel is closed; nothing may be put after close or fail");
    case Put::cancelled: throw ChannelCancelledError("the consumer has cancelled; stop producing");
  }
}

void register_channel(py::module_& module) {
  py::class_<PyChannel, std::shared_ptr<PyChannel>> channel(module, "DeltaChannel", py::is_final());
  channel
      .def(py::init([](py::ssize_t maxsize) {
             if (maxsize < 0)
               throw ArgumentError("maxsize is negative; pass 0 for an unbounded channel");
             return std::make_shared<PyChannel>(static_cast<std::size_t>(maxsize));
           }),
           py::arg("maxsize") = 0)
      .def(
          "put",
          [](PyChannel& self, const py::object& delta, const std::optional<double>& timeout) {
            Delta copy = to_native(self, delta);
            put_to_channel(self.channel, copy, deadline_of(timeout), false);
          },
          py::arg("delta"), py::arg("timeout") = py::none())
      .def(
          "put_many",
          [](PyChannel& self, const py::iterable& deltas, const std::optional<double>& timeout) {
            const Deadline deadline = deadline_of(timeout);
            for (const py::handle& delta : deltas) {
              Delta copy = to_native(self, delta);
              put_to_channel(self.channel, copy, deadline, false);
            }
          },
          py::arg("deltas"), py::arg("timeout") = py::none())
      .def(
          "put_final",
          [](PyChannel& self, const py::object& delta, const std::optional<double>& timeout) {
            Delta copy = to_native(self, delta);
            put_to_channel(self.channel, copy, deadline_of(timeout), true);
          },
          py::arg("delta"), py::arg("timeout") = py::none())
      .def("close", [](PyChannel& self) { self.channel.close(); })
      .def(
          "fail",
          [](PyChannel& self, py::object error) {
            if (PyExceptionInstance_Check(error.ptr()) == 0) {
              throw py::type_error("fail takes an exception instance, not " +
                                   std::string(Py_TYPE(error.ptr())->tp_name));
            }
            self.channel.fail(std::make_exception_ptr(PythonFailure{share(std::move(error))}));
          },
          py::arg("error"))
      .def("cancel", [](PyChannel& self) { self.channel.cancel(); })
      .def("get", &get, py::arg("timeout") = py::none())
      .def("drain", &drain)
      .def(
          "wait",
          [](PyChannel& self, const std::optional<double>& timeout) {
            return wait_in_slices([&](const Deadline& until) { return self.channel.wait(until); },
                                  deadline_of(timeout), false);
          },
          py::arg("timeout") = py::none())
      .def("_arm", &arm, py::arg("callback"))
      .def("_disarm", [](PyChannel& self) { self.channel.disarm(); })
      .def(
          "aget",
          [](const py::object& self, const py::object& timeout) {
            return py::module_::import("unspool.channel_async").attr("get")(self, timeout);
          },
          py::arg("timeout") = py::none())
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &next)
      .def("__aiter__",
           [](const py::object& self) {
             return py::module_::import("unspool.channel_async").attr("Iterator")(self);
           })
      .def("__len__", [](const PyChannel& self) { return self.channel.size(); })
      .def("__bool__", [](const PyChannel&) { return true; })
      .def_property_readonly("maxsize",
                             [](const PyChannel& self) { return self.channel.maxsize(); })
      .def_property_readonly("is_closed",
                             [](const PyChannel& self) { return self.channel.is_closed(); })
      .def_property_readonly("is_cancelled",
                             [](const PyChannel& self) { return self.channel.is_cancelled(); })
      .def_property_readonly("is_finished",
                             [](const PyChannel& self) { return self.channel.is_finished(); });
  refuse_pickle(channel, "a DeltaChannel");
}

}  // namespace unspool::bindings
