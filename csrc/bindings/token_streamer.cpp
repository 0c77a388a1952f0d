// TokenStreamer: the native base of unspool.Parser and unspool.TokenStreamer.
//
// Two states guard it, because a call may run the caller's code or release the GIL:
//
//   is_busy         a call is under way: another one that changes the stream is refused
//   is_unattended   the call runs without the GIL: even looking at the stream is refused
//
// The methods of a token go past pybind11 (fast_method.h): its dispatch costs more than their work.
#include "stream/token_streamer.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>

#include "bindings/channel_access.h"
#include "bindings/collected.h"
#include "bindings/delta_type.h"
#include "bindings/fast_method.h"
#include "bindings/gil.h"
#include "bindings/message_type.h"
#include "bindings/native_class.h"
#include "bindings/scoped_flag.h"
#include "bindings/state_lock.h"
#include "bindings/stream_recipe.h"
#include "bindings/text_argument.h"
#include "text/error.h"
#include "text/scratch.h"

namespace unspool::bindings {

namespace {

// Reading this much takes about 100 µs, so that releasing the GIL pays off. An id counts as the
// bytes that are read in its time.
constexpr std::size_t kLongBytes = 1 << 18;
constexpr std::size_t kBytesOfId = 1 << 4;

/// A streamer with its Python state.
struct PyTokenStreamer {
  TokenStreamer streamer;
  ReasoningField field;
  py::object channel;             // a PyChannel, or null
  std::vector<TokenId> ids = {};  // of the current call's arguments
  bool is_busy = false;
  bool is_unattended = false;
  StateLock lock = {};  // of all of this; held by every method

  template <typename Use>
  void for_each_object(Use&& use) {
    use(channel);
  }
};

/// Rejects a stream that is in a call, which may have released the GIL or run the caller's code.
bool& free_flag(PyTokenStreamer& self) {
  if (self.is_busy)
    throw StreamError("this stream is in use by another thread; give each stream to one thread");
  return self.is_busy;
}

/// Read access to the native streamer; no one feeds it meanwhile.
class Look {
 public:
  explicit Look(const PyTokenStreamer& self) : guard_(self.lock), streamer_(self.streamer) {
    if (self.is_unattended)
      throw StreamError(
          "another thread feeds this stream a chunk; look at it before or after that");
  }
  const TokenStreamer& operator*() const { return streamer_; }
  const ChunkParser* operator->() const { return &streamer_.stream(); }

 private:
  StateGuard guard_;
  const TokenStreamer& streamer_;
};

// Deltas left unsent by Ctrl-C go first.
void send(PyTokenStreamer& self) {
  // An interrupted call has read its chunk already, so the host must not pass it again.
  if (self.channel && self.streamer.has_unsent())
    send_deltas(self.streamer, *native_or_null<PyChannel>(self.channel.ptr()));
}

// Runs `read`; without the GIL if `size` bytes of input take long.
template <typename Read>
void read_chunk(PyTokenStreamer& self, std::size_t size, Read&& read) {
  // To release the GIL and take it back costs up to a switch of threads, which a token is not
  // worth.
  if (size < kLongBytes) {
    read();
  } else {
    const ScopedFlag unattended(self.is_unattended);  // no other access to the stream meanwhile
    const GilRelease release;  // a text is immutable, and the caller keeps its owner alive
    read();
  }
  self.ids.clear();
  shrink_scratch(self.ids);
}

// Returns the deltas of the last read; or sends them to the channel and returns an empty list.
PyObject* deliver(PyTokenStreamer& self) {
  if (self.channel) {
    PyChannel& channel = *native_or_null<PyChannel>(self.channel.ptr());
    channel.set_field(self.field);
    send(self);
    // While the stream holds text back there is nothing to send, and the producer must still stop.
    if (channel.native().is_cancelled())
      throw ChannelCancelledError("the consumer has cancelled; stop producing");
    return PyList_New(0);
  }
  const std::size_t count = self.streamer.delta_count();
  py::list list(count);
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* delta = take_delta(self.streamer, i, self.field);
    if (delta == nullptr) throw py::error_already_set();
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), delta);
  }
  self.streamer.release();
  return list.release().ptr();
}

bool is_there(PyObject* argument) { return argument != nullptr && argument != Py_None; }

PyObject* parse_arguments(PyTokenStreamer& self, PyObject* text, PyObject* tokens,
                          PyObject* finish_reason) {
  std::optional<TextArgument> argument;
  // All arguments are read before the stream changes: reading them may raise, or run Python code.
  if (is_there(text)) argument.emplace(text);
  const bool only_sends = self.streamer.has_unsent_end() && !argument && !is_there(tokens);
  send(self);
  if (only_sends) return PyList_New(0);
  std::optional<std::string_view> view;
  if (argument) view = argument->view();
  self.ids.clear();
  if (is_there(tokens)) read_token_ids(tokens, self.ids);
  std::optional<std::span<const TokenId>> ids;
  if (is_there(tokens)) ids = self.ids;
  std::optional<FinishReason> reason;
  if (is_there(finish_reason)) {
    if (!PyUnicode_Check(finish_reason))
      throw py::type_error(std::string("finish_reason is of type ") +
                           Py_TYPE(finish_reason)->tp_name + "; pass a str, such as 'stop'");
    reason = parse_finish_reason(read_text(finish_reason));
  }
  read_chunk(self, (view ? view->size() : 0) + self.ids.size() * kBytesOfId,
             [&] { self.streamer.read(view, ids, reason); });
  return deliver(self);
}

// The keyword arguments; `takes`: the arguments that the method accepts.
template <std::size_t kCount>
void read_named(PyObject* const* args, PyObject* names, const char* takes,
                const std::array<const char*, kCount>& known,
                std::array<PyObject*, kCount>& values) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    const auto at = std::find_if(known.begin(), known.end(), [&](const char* option) {
      // No str is made for the comparison.
      return PyUnicode_CompareWithASCIIString(name, option) == 0;
    });
    PyObject** value = at == known.end() ? nullptr : &values[at - known.begin()];
    // Unknown, or given twice: by position and by name.
    if (value == nullptr || *value != nullptr) {
      throw py::type_error(takes + std::string(" once each, not '") + std::string(read_text(name)) +
                           "'");
    }
    *value = args[i];
  }
}

PyObject* parse_chunk(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    PyTokenStreamer& self = native<PyTokenStreamer>(object);
    const StateGuard guard(self.lock);
    const ScopedFlag busy(free_flag(self));
    std::array<PyObject*, 3> values = {nullptr, nullptr, nullptr};
    constexpr std::array kNames = {"text", "tokens", "finish_reason"};
    if (count > 3) throw py::type_error("parse_chunk takes text, tokens and finish_reason");
    std::copy_n(args, count, values.begin());
    if (names != nullptr) {
      read_named(args + count, names, "parse_chunk takes text, tokens and finish_reason", kNames,
                 values);
    }
    return parse_arguments(self, values[0], values[1], values[2]);
  });
}

// Whether it is a two-dimensional tensor; a list never is.
bool is_row(PyObject* value) {
  if (PyLong_Check(value) || PyList_Check(value) || PyTuple_Check(value)) return false;
  // Recognized without importing torch.
  const py::object dim = attribute_or_null(value, "dim");
  return dim && dim().cast<int>() >= 2;
}

PyObject* put_plain(PyTokenStreamer& self, TokenId id) {
  const TextFragment fragment = self.streamer.put_plain(id);
  if (fragment.text.empty()) return PyList_New(0);
  auto delta = py::reinterpret_steal<py::object>(
      wrap_fragment(fragment, self.streamer.stream().ids_of(fragment, id), self.field));
  PyObject* list = delta ? PyList_New(1) : nullptr;
  if (list == nullptr) throw py::error_already_set();
  PyList_SET_ITEM(list, 0, delta.release().ptr());
  return list;
}

PyObject* put_tokens(PyObject* object, PyObject* value) {
  return guarded([&]() -> PyObject* {
    PyTokenStreamer& self = native<PyTokenStreamer>(object);
    const StateGuard guard(self.lock);
    const ScopedFlag busy(free_flag(self));
    if (PyLong_CheckExact(value)) {
      const TokenId id = read_token_id(value);
      if (self.streamer.is_plain(id)) return put_plain(self, id);
    }
    send(self);
    const bool row = self.streamer.first_put() == FirstPut::row_is_prompt && is_row(value);
    self.ids.clear();
    read_token_ids(value, self.ids);
    read_chunk(self, self.ids.size() * kBytesOfId, [&] { self.streamer.read_put(self.ids, row); });
    return deliver(self);
  });
}

// Copies attributes that Python code has set on the object.
void copy_attributes(PyObject* from, PyObject* to) {
  const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(from, nullptr));
  if (!attributes) return PyErr_Clear();  // the native class itself has none
  const auto copy = py::reinterpret_steal<py::object>(PyDict_Copy(attributes.ptr()));
  if (!copy || PyObject_GenericSetDict(to, copy.ptr(), nullptr) != 0) throw py::error_already_set();
}

std::unique_ptr<PyTokenStreamer> copy_of(PyTokenStreamer& self, py::object held,
                                         std::optional<std::int32_t> choice) {
  std::shared_ptr<DeltaChannel> channel;
  if (held) channel = native<PyChannel>(held.ptr()).shared();
  const StateGuard guard(self.lock);
  const ScopedFlag busy(free_flag(self));
  return std::unique_ptr<PyTokenStreamer>(new PyTokenStreamer{
      self.streamer.fork(std::move(channel), choice), self.field, std::move(held)});
}

py::object read_channel(py::handle value) {
  if (!py::isinstance<PyChannel>(value)) {
    throw py::type_error(std::string("channel is of type ") + Py_TYPE(value.ptr())->tp_name +
                         "; pass a DeltaChannel");
  }
  return py::reinterpret_borrow<py::object>(value);
}

PyObject* fork(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    PyTokenStreamer& self = native<PyTokenStreamer>(object);
    std::array<PyObject*, 2> values = {nullptr, nullptr};
    constexpr std::array kNames = {"channel", "choice"};
    constexpr const char* kTakes = "fork takes channel= and choice=";
    if (count > 0) throw py::type_error(std::string(kTakes) + ", by name");
    if (names != nullptr) read_named(args, names, kTakes, kNames, values);
    py::object held;
    if (is_there(values[0])) held = read_channel(values[0]);
    std::optional<std::int32_t> choice;
    if (is_there(values[1])) choice = read_number(values[1], "choice", "answers");
    // Creating an object may wait for other threads, so the stream must be free by then.
    py::object copy = make_instance(Py_TYPE(object), copy_of(self, std::move(held), choice));
    copy_attributes(object, copy.ptr());
    return copy.release().ptr();
  });
}

PyObject* rollback(PyObject* object, PyObject* count) {
  return guarded([&]() -> PyObject* {
    PyTokenStreamer& self = native<PyTokenStreamer>(object);
    const StateGuard guard(self.lock);
    const ScopedFlag busy(free_flag(self));
    self.streamer.read_rollback(static_cast<std::size_t>(read_number(count, "count", "ids")));
    return deliver(self);
  });
}

PyMethodDef kRollback = {"rollback", as_method(rollback), METH_O, nullptr};
PyMethodDef kFork = {"fork", as_method(fork), METH_FASTCALL | METH_KEYWORDS, nullptr};
PyMethodDef kParseChunk = {"parse_chunk", as_method(parse_chunk), METH_FASTCALL | METH_KEYWORDS,
                           nullptr};
PyMethodDef kPut = {"put", as_method(put_tokens), METH_O, nullptr};

const char* region_name(Region region) {
  switch (region) {
    case Region::content: return "content";
    case Region::reasoning: return "reasoning";
    case Region::tool_call: return "tool_call";
  }
  return "";
}

py::object message(const PyTokenStreamer& self, const py::list& deltas,
                   const py::str& reasoning_field) {
  import_message_types();
  return make_message(*Look(self), py::tuple(deltas), reasoning_field);
}

FirstPut parse_first_put(std::string_view name) {
  if (name == "output") return FirstPut::output;
  if (name == "prompt") return FirstPut::prompt;
  if (name == "row_is_prompt") return FirstPut::row_is_prompt;
  throw ArgumentError("first_put is '" + std::string(name) +
                      "'; use 'output', 'prompt' or 'row_is_prompt'");
}

std::unique_ptr<PyTokenStreamer> make_streamer(const StreamRecipe& recipe,
                                               const std::string& reasoning_field,
                                               const py::object& tools, const py::object& prompt,
                                               const py::object& channel, const py::object& choice,
                                               bool closes_channel, const std::string& first_put) {
  StreamRecipe asked = for_request(recipe, tools, prompt);
  TokenStreamerOptions& options = asked.options;
  options.stream.parser.choice = read_number(choice, "choice", "answers");
  options.closes_channel = closes_channel;
  options.first_put = parse_first_put(first_put);
  py::object held;
  if (!channel.is_none()) {
    // The Python object, so that the channel lives as long as the streamer that puts into it.
    held = read_channel(channel);
    options.channel = native<PyChannel>(held.ptr()).shared();
  }
  std::unique_ptr<PyTokenStreamer> self(
      new PyTokenStreamer{TokenStreamer(asked.format, std::move(options)),
                          parse_reasoning_field(reasoning_field), std::move(held)});
  // Before the object exists for anyone else.
  put_prompt(asked, self->streamer);
  return self;
}

}  // namespace

void register_token_streamer(py::module_& module) {
  NativeClass<PyTokenStreamer> streamer(module, "TokenStreamer", is_collected<PyTokenStreamer>());
  streamer
      .def_init(py::init(&make_streamer), py::arg("recipe"),
                py::arg("reasoning_field") = "reasoning_content", py::arg("tools") = py::none(),
                py::arg("prompt") = py::none(), py::kw_only(), py::arg("channel") = py::none(),
                py::arg("choice") = 0, py::arg("closes_channel") = true,
                py::arg("first_put") = "output")
      .def_property_readonly(
          "region", [](const PyTokenStreamer& self) { return region_name(Look(self)->region()); })
      .def_property_readonly("held_bytes",
                             [](const PyTokenStreamer& self) { return Look(self)->held().bytes(); })
      .def_property_readonly("held",
                             [](const PyTokenStreamer& self) {
                               const Look look(self);
                               const Held held = look->held();
                               return py::make_tuple(py::bytes(held.text()),
                                                     std::string(to_string(held.reason())));
                             })
      .def_property_readonly("held_markers",
                             [](const PyTokenStreamer& self) {
                               py::list list;
                               const Look look(self);
                               for (const std::string_view marker : look->held().markers()) {
                                 list.append(std::string(marker));
                               }
                               return list;
                             })
      .def_property_readonly("is_finished",
                             [](const PyTokenStreamer& self) { return Look(self)->is_finished(); })
      .def_property_readonly(
          "_format",
          [](const PyTokenStreamer& self) { return Look(self)->format().program().name; })
      .def_property_readonly("_has_prompt",
                             [](const PyTokenStreamer& self) { return Look(self)->has_prompt(); })
      .def_property_readonly("is_stopped",
                             [](const PyTokenStreamer& self) { return Look(self)->is_stopped(); })
      .def_property_readonly(
          "stop_reason",
          [](const PyTokenStreamer& self) { return text_or_none(Look(self)->stop_reason()); })
      .def_property_readonly("token_count",
                             [](const PyTokenStreamer& self) { return Look(self)->token_count(); })
      .def(
          "_passes_by",
          [](const PyTokenStreamer& self, TokenId id) { return (*Look(self)).is_plain(id); },
          py::arg("id"))
      .def("_state",
           [](const PyTokenStreamer& self) { return py::bytes((*Look(self)).snapshot()); })
      .def(
          "_restore_state",
          [](PyTokenStreamer& self, const py::bytes& state) {
            const StateGuard guard(self.lock);
            const ScopedFlag busy(free_flag(self));
            self.streamer.restore(std::string_view(state));
          },
          py::arg("state"))
      .def("_message", &message, py::arg("deltas"), py::arg("reasoning_field"))
      .def("labels",
           [](const PyTokenStreamer& self) {
             import_message_types();
             const Look look(self);
             if (look->labels() == nullptr) {
               throw ArgumentError("this stream keeps no labels; pass labels=True");
             }
             return make_labels(look->labels(), (*look).message());
           })
      .def("_audit", [](const PyTokenStreamer& self) {
        py::list list;
        const Look look(self);
        for (const Events::Audited& item : (*look).audit()) {
          list.append(py::make_tuple(std::string(to_string(item.fate)), item.text));
        }
        return list;
      });
  streamer.def_fast(kParseChunk);
  streamer.def_fast(kPut);
  streamer.def_fast(kFork);
  streamer.def_fast(kRollback);
  describe_by(streamer, "_format", "region", "held_bytes", "is_finished");
  refuse_pickle(streamer, "a live stream", true);
}

}  // namespace unspool::bindings
