// WireWriter: writes deltas as the bytes of a response.
//
// A writer has one buffer, `out`, which is used again for each call and emptied into a bytes
// object. A batch may use the writer at the same time, so every method holds a WriterGuard.
#include <pybind11/stl.h>

#include <array>
#include <memory>

#include "bindings/channel_access.h"
#include "bindings/delta_type.h"
#include "bindings/fast_method.h"
#include "bindings/gil.h"
#include "bindings/native_class.h"
#include "bindings/py_wire_writer.h"
#include "bindings/snapshots.h"
#include "delta/wire_writer.h"
#include "text/error.h"
#include "text/scratch.h"

namespace unspool::bindings {

WireWriter& PyWireWriter::native() const {
  const auto lent = loan.lock();
  // A step may have released the GIL, in another thread.
  if (lent && lent->is_stepping)
    throw StreamError("a step of a batch writes with this writer; use it before or after the step");
  return *writer;
}

WireWriter& PyWireWriter::native_for_deltas() const {
  if (!loan.expired())
    throw StreamError("a batch writes this response's deltas; remove its slot first");
  return native();
}

// A writer may change hands before both locks are held; with the GIL there is nothing to wait for.
WriterGuard::WriterGuard(const PyWireWriter& self) {
  if constexpr (kFreeThreaded) {
    for (;;) {
      guard_.emplace(self.lock);
      loan_ = self.loan.lock();
      if (!loan_) return;
      // Both at once, as CPython's critical section for two objects cannot deadlock.
      guard_.emplace(self.lock, loan_->lock);
      // It did not change hands in between.
      if (self.loan.lock() == loan_) return;
    }
  }
}

namespace {

constexpr std::array kProtocols = {WireProtocol::chat_completions, WireProtocol::completions,
                                   WireProtocol::responses,        WireProtocol::messages,
                                   WireProtocol::open_inference,   WireProtocol::google};

WireProtocol parse_protocol(std::string_view name) {
  std::string choices;
  for (const WireProtocol protocol : kProtocols) {
    if (to_string(protocol) == name) return protocol;
    choices.append(choices.empty() ? "" : ", ").append(to_string(protocol));
  }
  throw ArgumentError("protocol is '" + std::string(name) + "'; use one of " + choices);
}

ReasoningEvents parse_reasoning_events(std::string_view name) {
  if (name == "text") return ReasoningEvents::text;
  if (name == "summary") return ReasoningEvents::summary;
  throw ArgumentError("reasoning_events is '" + std::string(name) + "'; use 'summary' or 'text'");
}

std::string to_json(const py::handle& value) {
  // Only for members that only the host knows.
  const py::object dumps = py::module_::import("json").attr("dumps");
  return std::string(read_text(dumps(value, py::arg("allow_nan") = false)));
}

std::string text_of(const py::object& object) {
  return object.is_none() ? std::string() : std::string(read_text(object));
}

std::uint64_t read_count(py::handle object, const std::string& name) {
  // A count that is a float or a bool is a mistake in the host, which the client would see.
  if (!PyLong_Check(object.ptr()) || PyBool_Check(object.ptr())) {
    throw py::type_error(name + " is of type " + Py_TYPE(object.ptr())->tp_name + "; pass an int");
  }
  const long long count = PyLong_AsLongLong(object.ptr());
  if (count == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  if (count < 0) throw ArgumentError(name + " is negative; pass a count from 0");
  return static_cast<std::uint64_t>(count);
}

Usage read_usage(const py::object& object) {
  Usage usage;
  if (object.is_none()) return usage;
  if (!py::hasattr(object, "items")) {
    throw py::type_error(std::string("usage is of type ") + Py_TYPE(object.ptr())->tp_name +
                         "; pass a dict, such as {'completion_tokens': 3}");
  }
  const auto items = py::reinterpret_steal<py::list>(PyMapping_Items(object.ptr()));
  if (!items) throw py::error_already_set();
  for (const py::handle& item : items) {
    const auto pair = py::cast<py::tuple>(item);
    const std::string name(read_text(pair[0]));
    const auto count = [&] { return read_count(pair[1], "usage['" + name + "']"); };
    if (name == "prompt_tokens") {
      usage.prompt_tokens = count();
    } else if (name == "completion_tokens") {
      usage.completion_tokens = count();
    } else if (name == "cached_tokens") {
      usage.cached_tokens = count();
    } else if (name == "reasoning_tokens") {
      usage.reasoning_tokens = count();
    } else if (name == "total_tokens" || name.find("_tokens") != std::string::npos) {
      // The total is computed. Any other count of tokens has a place of its own in each protocol,
      // or none.
      throw ArgumentError("usage has '" + name +
                          "'; pass prompt_tokens, completion_tokens, cached_tokens and "
                          "reasoning_tokens, and measures under other names");
    } else {
      usage.extra.append(",").append(to_json(pair[0])).append(":").append(to_json(pair[1]));
    }
  }
  return usage;
}

Logprob read_logprob(py::handle token, py::handle logprob) {
  Logprob entry;
  // A token may be half a character, which a str cannot hold.
  if (PyBytes_Check(token.ptr())) {
    entry.token = token.cast<std::string>();
  } else {
    entry.token = read_text(token);
  }
  try {
    entry.logprob = logprob.cast<double>();
  } catch (const py::cast_error&) {
    refuse_type("WireWriter.add_logprobs: a log-probability", logprob, "a float");
  }
  return entry;
}

py::sequence read_tuple(py::handle object, const char* name, const char* wanted) {
  if (PySequence_Check(object.ptr()) == 0)
    refuse_type(std::string("WireWriter.add_logprobs: ") + name, object, wanted);
  return py::reinterpret_borrow<py::sequence>(object);
}

// (token, logprob) or (token, logprob, [(token, logprob), …]).
TokenLogprob read_token_logprob(py::handle object) {
  const py::sequence values =
      read_tuple(object, "an entry", "(token, logprob) or (token, logprob, top)");
  if (values.size() != 2 && values.size() != 3) {
    throw ArgumentError("an entry has " + std::to_string(values.size()) +
                        " values; pass (token, logprob) or (token, logprob, top)");
  }
  TokenLogprob entry{read_logprob(values[0], values[1])};
  if (values.size() == 2) return entry;
  for (const py::handle& rival : read_tuple(values[2], "the top", "a list of (token, logprob)")) {
    const py::sequence pair = read_tuple(rival, "an alternative", "(token, logprob)");
    if (pair.size() != 2)
      throw ArgumentError("an alternative is not a pair; pass (token, logprob)");
    entry.top.push_back(read_logprob(pair[0], pair[1]));
  }
  return entry;
}

// Also empties the buffer.
PyObject* to_bytes(std::string& out) {
  PyObject* bytes = PyBytes_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()));
  out.clear();
  shrink_scratch(out);
  return bytes;
}

py::bytes taken(std::string& out) {
  PyObject* bytes = to_bytes(out);
  if (bytes == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(bytes);
}

// Runs `body` on an empty buffer, and returns what it appended.
template <typename Body>
py::bytes written(PyWireWriter& self, Body&& body) {
  const WriterGuard guard(self);
  WireWriter& writer = self.native();
  self.out.clear();
  body(writer, self.out);
  return taken(self.out);
}

const Delta* read_delta(PyObject* object) {
  const Delta* delta = as_delta(object);
  if (delta == nullptr) {
    throw py::type_error(std::string("write takes a Delta or several, not ") +
                         Py_TYPE(object)->tp_name);
  }
  return delta;
}

PyObject* write(PyObject* object, PyObject* value) {
  return guarded([&]() -> PyObject* {
    PyWireWriter& self = native<PyWireWriter>(object);
    // One delta, by far the most common case: no list is made.
    if (const Delta* delta = as_delta(value)) {
      const WriterGuard guard(self);
      WireWriter& writer = self.native_for_deltas();
      self.out.clear();
      writer.write(*delta, self.out);
      return to_bytes(self.out);
    }
    auto list = py::reinterpret_steal<py::object>(call_python(
        [&] { return PySequence_Fast(value, "write takes a Delta or an iterable of them"); }));
    if (!list) throw py::error_already_set();
    if (kFreeThreaded) list = py::tuple(list);  // other threads may change a caller's list
    const WriterGuard guard(self);
    PyObject** items = PySequence_Fast_ITEMS(list.ptr());
    self.deltas.clear();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
      // All are checked before one is written.
      self.deltas.push_back(read_delta(items[i]));
    }
    WireWriter& writer = self.native_for_deltas();
    self.out.clear();  // only now, because an iterable may have used this writer
    writer.write_many(self.deltas, self.out);
    return to_bytes(self.out);
  });
}

PyMethodDef kWrite = {"write", as_method(write), METH_O, nullptr};

using Namespaces = decltype(WireOptions::namespaces);

WireOptions read_wire_options(const py::str& model, const py::object& id, const py::object& created,
                              const py::object& n, bool stream, bool sse, bool include_usage,
                              const std::string& reasoning_field, const py::str& reasoning_events,
                              const py::object& prompt_token_count, const py::object& extra,
                              const py::str& incomplete_calls,
                              const std::vector<std::string>& custom_tools,
                              const Namespaces& namespaces, bool stream_arguments) {
  WireOptions options;
  options.stream_arguments = stream_arguments;
  options.custom_tools = custom_tools;
  options.namespaces = namespaces;
  options.model = read_text(model);
  options.id = text_of(id);
  if (!created.is_none()) {
    options.created = static_cast<std::int64_t>(read_count(created, "created"));
  }
  options.n = read_number(n, "n", "answers");
  options.stream = stream;
  options.sse = sse;
  options.include_usage = include_usage;
  options.reasoning_field = parse_reasoning_field(reasoning_field);
  options.reasoning_events = parse_reasoning_events(read_text(reasoning_events));
  options.prompt_token_count = read_count(prompt_token_count, "prompt_token_count");
  options.incomplete_calls = parse_incomplete_calls(read_text(incomplete_calls));
  if (!extra.is_none()) options.extra = to_json(extra);
  return options;
}

template <typename... Options>
std::unique_ptr<PyWireWriter> make_writer(const py::str& protocol, const Options&... options) {
  const WireProtocol parsed = parse_protocol(read_text(protocol));
  return std::unique_ptr<PyWireWriter>(
      new PyWireWriter{make_wire_writer(parsed, read_wire_options(options...)), parsed});
}

py::bytes snapshot_writer(const PyWireWriter& self, const py::object& key) {
  std::string state;
  {
    const WriterGuard guard(self);
    state = self.native().snapshot();
  }
  return seal_snapshot(to_string(self.protocol).data(), state, key);
}

template <typename... Options>
std::unique_ptr<PyWireWriter> restore(const py::object& snapshot, const py::str& protocol,
                                      const py::object& key, const Options&... options) {
  const WireProtocol parsed = parse_protocol(read_text(protocol));
  const std::string state = open_snapshot(to_string(parsed).data(), snapshot, key);
  return std::unique_ptr<PyWireWriter>(
      new PyWireWriter{restore_wire_writer(state, parsed, read_wire_options(options...)), parsed});
}

// The arguments of `read_wire_options`, in its order.
template <typename Define>
void with_options(Define&& define) {
  define(py::arg("model"), py::arg("id") = py::none(), py::arg("created") = py::none(),
         py::arg("n") = 1, py::arg("stream") = true, py::arg("sse") = true,
         py::arg("include_usage") = false, py::arg("reasoning_field") = "reasoning_content",
         py::arg("reasoning_events") = "summary", py::arg("prompt_token_count") = 0,
         py::arg("extra") = py::none(), py::arg("incomplete_calls") = "forward",
         py::arg("custom_tools") = std::vector<std::string>(), py::arg("namespaces") = Namespaces(),
         py::arg("stream_arguments") = false);
}

template <typename... Options>
constexpr auto maker(WireOptions (*)(Options...)) {
  return &make_writer<std::remove_cvref_t<Options>...>;
}

template <typename... Options>
constexpr auto restorer(WireOptions (*)(Options...)) {
  return &restore<std::remove_cvref_t<Options>...>;
}

py::bytes begin(PyWireWriter& self) {
  return written(self, [](auto& native, auto& out) { native.begin(out); });
}

py::bytes end(PyWireWriter& self, const py::object& usage, const py::object& stop_sequence) {
  const Usage counts = read_usage(usage);
  const std::string stop = text_of(stop_sequence);
  return written(self, [&](auto& native, auto& out) { native.end(counts, stop, out); });
}

py::bytes body(PyWireWriter& self, const py::object& usage, const py::object& stop_sequence) {
  const Usage counts = read_usage(usage);
  const std::string stop = text_of(stop_sequence);
  return written(self, [&](auto& native, auto& out) { native.body(counts, stop, out); });
}

py::bytes fail_answer(PyWireWriter& self, const py::str& message, const py::object& type,
                      const py::object& code) {
  const WireError error{std::string(read_text(message)), text_of(type), text_of(code)};
  return written(self, [&](auto& native, auto& out) { native.fail(error, out); });
}

py::bytes write_drained(PyWireWriter& self, PyChannel& channel) {
  const WriterGuard guard(self);
  WireWriter& writer = self.native_for_deltas();
  self.drained.clear();
  // After the writer was found free: deltas that are taken out of a channel must be written.
  drain_channel(channel, self.drained);
  self.out.clear();
  writer.write_many(std::span<const Delta>(self.drained), self.out);
  self.drained.clear();
  shrink_scratch(self.drained);
  return taken(self.out);
}

py::bytes keep_alive(PyWireWriter& self) {
  return written(self, [](auto& native, auto& out) { native.keep_alive(out); });
}

void add_logprobs(PyWireWriter& self, const py::object& choice, const py::iterable& entries) {
  const std::int32_t number = read_number(choice, "choice", "answers");
  std::vector<TokenLogprob> read;
  for (const py::handle& entry : entries) read.push_back(read_token_logprob(entry));
  const WriterGuard guard(self);
  self.native().add_logprobs(number, std::move(read));
}

std::unique_ptr<PyWireWriter> fork_writer(const PyWireWriter& self) {
  const WriterGuard guard(self);
  return std::unique_ptr<PyWireWriter>(new PyWireWriter{self.native().clone(), self.protocol});
}

}  // namespace

void register_wire(py::module_& module) {
  NativeClass<PyWireWriter> writer(module, "WireWriter", py::is_final());
  with_options([&](const auto&... options) {
    writer
        .def_init(py::init(maker(&read_wire_options)), py::arg("protocol"), py::kw_only(),
                  options...)
        .def_static("restore", restorer(&read_wire_options), py::arg("snapshot"),
                    py::arg("protocol"), py::kw_only(), py::arg("key") = py::bytes(), options...);
  });
  writer.def("snapshot", &snapshot_writer, py::kw_only(), py::arg("key") = py::bytes())
      .def("begin", &begin)
      .def("end", &end, py::arg("usage") = py::none(), py::kw_only(),
           py::arg("stop_sequence") = py::none())
      .def("body", &body, py::arg("usage") = py::none(), py::kw_only(),
           py::arg("stop_sequence") = py::none())
      .def("fail", &fail_answer, py::arg("message"), py::kw_only(), py::arg("type") = py::none(),
           py::arg("code") = py::none())
      .def("drain", &write_drained, py::arg("channel"))
      .def("keep_alive", &keep_alive)
      .def("fork", &fork_writer)
      .def("add_logprobs", &add_logprobs, py::arg("choice"), py::arg("entries"))
      .def_property_readonly(
          "protocol",
          [](const PyWireWriter& self) { return std::string(to_string(self.protocol)); })
      .def_property_readonly("id",
                             [](const PyWireWriter& self) { return self.writer->options().id; })
      .def_property_readonly(
          "created", [](const PyWireWriter& self) { return self.writer->options().created; })
      .def_property_readonly("has_begun",
                             [](const PyWireWriter& self) {
                               const WriterGuard guard(self);
                               return self.native().has_begun();
                             })
      .def_property_readonly("has_ended", [](const PyWireWriter& self) {
        const WriterGuard guard(self);
        return self.native().has_ended();
      });
  writer.def_fast(kWrite);
  describe_by(writer, "protocol", "id", "has_begun", "has_ended");
  refuse_pickle(writer, "a WireWriter", true);
  module.def(
      "sign_thought", [](const py::str& text) { return ThoughtSignature::of(read_text(text)); },
      py::arg("text"), py::doc(doc_of("sign_thought")));
}

}  // namespace unspool::bindings
