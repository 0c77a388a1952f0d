// ChunkParser: the native base of unspool.Parser and unspool.TokenStreamer.
#include <pybind11/stl.h>

#include <cstring>

#include "bindings/channel_access.h"
#include "bindings/delta_type.h"
#include "bindings/fast_method.h"
#include "bindings/gil.h"
#include "bindings/message_type.h"
#include "bindings/native_class.h"
#include "bindings/text_argument.h"
#include "stream/stream_batch.h"
#include "stream/token_streamer.h"
#include "text/error.h"
#include "text/scratch.h"

namespace unspool::bindings {

namespace {

// Above this, reading takes long enough (some 100 µs) that handing over the GIL pays.
constexpr std::size_t kLongTextBytes = 1 << 18;
constexpr std::size_t kLongIdCount = 1 << 14;

/// Whether the first put of a streamer is the prompt, as transformers' generate does it.
enum class FirstPut : std::uint8_t { output, prompt, tensor_is_prompt };

struct PyChunkParser {
  ChunkParser parser;
  ReasoningField field;
  FirstPut first_put;
  py::object channel;  // a PyChannel, or null
  std::int32_t choice = 0;
  bool closes_channel = true;
  bool audits = false;
  bool keeps_audit = true;                  // false: only the last chunk's
  std::vector<Events::Audited> audit = {};  // as far as it is kept
  std::vector<Delta> unsent = {};           // on their way into the channel
  std::size_t sent_count = 0;               // of those, which have arrived
  Events events = {};
  std::optional<WholeCalls> whole_calls = std::nullopt;
  std::vector<Delta> deltas = {};  // of one put
  std::vector<TokenId> ids = {};
  bool is_busy = false;
  bool is_unattended = false;
  bool was_long = false;                           // the last chunk
  std::shared_ptr<StreamRecipe> recipe = nullptr;  // where a batch is to be read with it

  template <typename Use>
  void for_each_object(Use&& use) {
    use(channel);
  }
};

/// A call that may let go of the GIL, or run a caller's Python, must not be entered twice.
class Busy {
 public:
  explicit Busy(PyChunkParser& self) : self_(self) {
    if (self.is_busy) {
      throw StreamError("this stream is in use by another thread; give each stream to one thread");
    }
    self.is_busy = true;
  }
  ~Busy() { self_.is_busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  PyChunkParser& self_;
};

/// While native work runs without the GIL, other threads must not look at the stream.
class Unattended {
 public:
  explicit Unattended(PyChunkParser& self) : self_(self) { self.is_unattended = true; }
  ~Unattended() { self_.is_unattended = false; }
  Unattended(const Unattended&) = delete;
  Unattended& operator=(const Unattended&) = delete;

 private:
  PyChunkParser& self_;
};

/// The native stream, for a look at it.
const ChunkParser& look(const PyChunkParser& self) {
  if (self.is_unattended)
    throw StreamError("another thread feeds this stream a chunk; look at it before or after that");
  return self.parser;
}

Delta to_delta(const Event& event, PyChunkParser& self) {
  return make_delta(event, self.events, self.parser, self.choice);
}

// Ctrl-C ends the wait for a full channel: what was not put by then stays, and goes first next
// time.
void send(PyChunkParser& self) {
  PyChannel& channel = *native_or_null<PyChannel>(self.channel.ptr());
  try {
    for (; self.sent_count < self.unsent.size(); ++self.sent_count) {
      Delta& delta = self.unsent[self.sent_count];
      const bool is_last = self.closes_channel && delta.kind == EventKind::finish;
      put_to_channel(channel.native(), delta, std::nullopt, is_last);
    }
  } catch (const StreamError&) {  // it has ended: no one waits for them
    self.unsent.clear();
    self.sent_count = 0;
    throw;
  }
  self.unsent.clear();
  self.sent_count = 0;
  shrink_scratch(self.unsent);
}

// The events of one put, as a list of deltas; or into the channel, and an empty list.
PyObject* deliver(PyChunkParser& self) {
  if (self.audits) {
    if (!self.keeps_audit) self.audit.clear();
    const auto& audit = self.events.audit();
    self.audit.insert(self.audit.end(), audit.begin(), audit.end());
  }
  const bool is_plain = !self.whole_calls && !self.channel;
  if (!is_plain) {
    self.deltas.clear();
    for (const Event& event : self.events.list()) {
      if (self.whole_calls) {
        self.whole_calls->put(to_delta(event, self), self.deltas);
      } else {
        self.deltas.push_back(to_delta(event, self));
      }
    }
  }
  const std::size_t count = is_plain ? self.events.list().size() : self.deltas.size();
  py::list list(self.channel ? 0 : count);
  if (self.channel) {
    native_or_null<PyChannel>(self.channel.ptr())->field = self.field;
    for (Delta& delta : self.deltas) self.unsent.push_back(std::move(delta));
  }
  for (std::size_t i = 0; !self.channel && i < count; ++i) {
    PyObject* delta = is_plain ? make_delta(self.events.list()[i], self.events, self.parser,
                                            self.choice, self.field)
                               : make_delta(std::move(self.deltas[i]), self.field);
    if (delta == nullptr) throw py::error_already_set();
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), delta);
  }
  if (self.was_long) {  // what a long chunk took is given back now, not by the next one
    self.events.clear();
    self.ids.clear();
    shrink_scratch(self.ids);
    self.parser.forget_told();
  }
  if (self.channel) send(self);
  return list.release().ptr();
}

void read_chunk(PyChunkParser& self, PyObject* text, PyObject* tokens, PyObject* finish_reason) {
  const bool has_text = text != nullptr && text != Py_None;
  const bool has_tokens = tokens != nullptr && tokens != Py_None;
  std::optional<TextArgument> argument;
  if (has_text) argument.emplace(text);
  self.events.clear();
  if (!self.unsent.empty()) {
    send(self);
    if (self.parser.is_finished() && !has_text && !has_tokens) return;  // the end, called again
  }
  self.ids.clear();
  if (has_tokens) read_token_ids(tokens, self.ids);
  std::optional<FinishReason> reason;
  if (finish_reason != nullptr && finish_reason != Py_None)
    reason = parse_finish_reason(read_text(finish_reason));
  self.parser.check_ids(self.ids);
  const std::string_view view = argument ? argument->view() : std::string_view{};
  self.was_long = view.size() + self.ids.size() * sizeof(TokenId) > kKeptBytes;
  const auto work = [&] {
    if (has_text && has_tokens) {
      self.parser.put_text_and_ids(view, self.ids, self.events);
    } else if (has_tokens) {
      self.parser.put_ids(self.ids, self.events);
    } else {
      self.parser.put_text(view, self.events);
    }
    if (reason) self.parser.finish(*reason, self.events);
  };
  if (view.size() < kLongTextBytes && self.ids.size() < kLongIdCount) return work();
  const Unattended unattended(self);
  const GilRelease release;  // the text is immutable, and its owner is in the caller's hands
  work();
}

PyObject* parse_chunk(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    PyChunkParser& self = native<PyChunkParser>(object);
    const Busy busy(self);
    PyObject* values[3] = {nullptr, nullptr, nullptr};
    constexpr const char* kNames[3] = {"text", "tokens", "finish_reason"};
    if (count > 3) throw py::type_error("parse_chunk takes text, tokens and finish_reason");
    std::copy_n(args, count, values);
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
      PyObject* name = PyTuple_GET_ITEM(names, i);
      int at = -1;
      for (int k = 0; k < 3; ++k) {
        if (PyUnicode_CompareWithASCIIString(name, kNames[k]) == 0) at = k;
      }
      if (at < 0 || values[at] != nullptr) {
        throw py::type_error("parse_chunk takes text, tokens and finish_reason once each, not '" +
                             std::string(read_text(name)) + "'");
      }
      values[at] = args[count + i];
    }
    read_chunk(self, values[0], values[1], values[2]);
    return deliver(self);
  });
}

bool is_prompt(const PyChunkParser& self, PyObject* value) {
  if (self.first_put != FirstPut::tensor_is_prompt) return self.first_put == FirstPut::prompt;
  if (PyLong_Check(value) || PyList_Check(value) || PyTuple_Check(value)) return false;
  const py::handle object(value);
  return py::hasattr(object, "dim") && object.attr("dim")().cast<int>() >= 2;
}

PyObject* put(PyObject* object, PyObject* value) {
  return guarded([&]() -> PyObject* {
    PyChunkParser& self = native<PyChunkParser>(object);
    const Busy busy(self);
    if (self.first_put != FirstPut::output && is_prompt(self, value)) {
      self.ids.clear();
      read_token_ids(value, self.ids);
      if (!self.ids.empty()) self.parser.put_prompt(self.ids);
      self.first_put = FirstPut::output;
      return PyList_New(0);
    }
    read_chunk(self, nullptr, value, nullptr);
    self.first_put = FirstPut::output;  // a refused put was none
    return deliver(self);
  });
}

PyMethodDef kParseChunk = {
    "parse_chunk", as_method(parse_chunk), METH_FASTCALL | METH_KEYWORDS,
    "parse_chunk($self, text=None, tokens=None, finish_reason=None)\n--\n\nFeed a chunk, get the "
    "deltas that became certain."};
PyMethodDef kPut = {
    "put", as_method(put), METH_O,
    "put($self, ids, /)\n--\n\nFeed token ids, get the deltas that became certain."};

const char* region_name(Region region) {
  switch (region) {
    case Region::content: return "content";
    case Region::reasoning: return "reasoning";
    case Region::tool_call: return "tool_call";
  }
  return "";
}

py::object message(const PyChunkParser& self, const py::tuple& deltas,
                   const py::str& reasoning_field) {
  return make_message(look(self).message(), self.parser.token_counts(), self.parser.extra(),
                      self.audit, deltas, reasoning_field);
}

// A bound on what one answer may hold.
std::size_t read_limit(const py::object& value, const char* name, std::size_t highest) {
  if (PyBool_Check(value.ptr()) || PyIndex_Check(value.ptr()) == 0) {
    throw py::type_error(std::string(name) + " is of type " + Py_TYPE(value.ptr())->tp_name +
                         "; pass an int");
  }
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) throw py::error_already_set();
  int overflow = 0;
  const long long limit = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || limit < 1 || static_cast<unsigned long long>(limit) > highest) {
    throw ArgumentError(std::string(name) + " must be from 1 to " + std::to_string(highest) +
                        "; got " + std::string(py::str(number)));
  }
  return static_cast<std::size_t>(limit);
}

StopIn parse_stop_in(const std::string& name) {
  if (name == "content") return StopIn::content;
  if (name == "everywhere") return StopIn::everywhere;
  throw ArgumentError("stop_in is '" + name + "'; use 'content' or 'everywhere'");
}

std::unique_ptr<PyChunkParser> make_parser(
    const std::shared_ptr<Format>& format, const std::shared_ptr<ToolSchemas>& tools,
    const std::shared_ptr<Vocabulary>& vocabulary, const py::object& prompt,
    const std::optional<bool>& starts_in_reasoning, const std::string& reasoning_field,
    bool skip_special_tokens, const std::vector<std::string>& stop, bool include_stop,
    const std::string& first_put, PyChannel* channel, const py::object& choice, bool closes_channel,
    std::uint64_t id_seed, bool keeps_message, bool audit, const std::string& unknown_tools,
    bool parallel_tool_calls, bool repair, bool only_reasoning, const py::object& max_calls,
    const py::object& max_argument_bytes, const py::object& max_depth,
    const py::object& max_held_bytes, bool keeps_recipe, const std::string& incomplete_calls,
    const std::string& stop_in, const std::shared_ptr<Format>& kept_reasoning) {
  StreamRecipe recipe;
  recipe.format = format;
  ChunkParserOptions& options = recipe.options;
  options.parser.tools = tools;
  options.parser.id_seed = id_seed;
  options.parser.choice = read_number(choice, "choice", "answers");
  options.parser.audit = audit;
  options.parser.unknown_tools = unknown_tools == "content"            ? UnknownTools::content
                                 : unknown_tools == "drop-with-report" ? UnknownTools::drop
                                                                       : UnknownTools::forward;
  options.parser.parallel_calls = parallel_tool_calls;
  options.parser.repair = repair;
  options.parser.only_reasoning = only_reasoning;
  constexpr std::size_t kHighest = std::size_t{1} << 30;
  ParserLimits& limits = options.parser.limits;
  limits.max_calls = read_limit(max_calls, "max_calls", kHighest);
  limits.max_argument_bytes = read_limit(max_argument_bytes, "max_argument_bytes", kHighest);
  limits.max_depth = read_limit(max_depth, "max_depth", ParserLimits::kMaxDepth);
  limits.max_held_bytes = read_limit(max_held_bytes, "max_held_bytes", kHighest);
  const IncompleteCalls incomplete = parse_incomplete_calls(incomplete_calls);
  options.kept_reasoning = kept_reasoning;
  options.stop_in = parse_stop_in(stop_in);
  options.keeps_message = keeps_message;
  options.vocabulary = vocabulary;
  options.detokenizer.skip_special_tokens = skip_special_tokens;
  options.detokenizer.stop = stop;
  options.detokenizer.include_stop = include_stop;
  if (starts_in_reasoning) options.parser.start = Format::Start{*starts_in_reasoning, {}, -1};
  const FirstPut first = first_put == "prompt"   ? FirstPut::prompt
                         : first_put == "output" ? FirstPut::output
                                                 : FirstPut::tensor_is_prompt;
  const std::int32_t number = options.parser.choice;
  if (py::isinstance<py::str>(prompt)) {
    if (!starts_in_reasoning) recipe.prompt = read_text(prompt);
  } else if (!prompt.is_none()) {
    read_token_ids(prompt, recipe.prompt_ids.emplace());
  }
  std::unique_ptr<PyChunkParser> self(new PyChunkParser{
      ChunkParser(recipe.format, recipe.options), parse_reasoning_field(reasoning_field), first,
      channel == nullptr ? py::object() : py::cast(channel, py::return_value_policy::reference),
      number, closes_channel, audit, keeps_message});
  if (incomplete == IncompleteCalls::withhold) self->whole_calls.emplace();
  put_prompt(recipe, self->parser);
  if (keeps_recipe) self->recipe = std::make_shared<StreamRecipe>(std::move(recipe));
  return self;
}

}  // namespace

void register_parser(py::module_& module) {
  py::class_<PyChunkParser> parser(module, "ChunkParser", is_collected<PyChunkParser>());
  parser
      .def(py::init(&make_parser), py::arg("format"), py::kw_only(), py::arg("tools") = py::none(),
           py::arg("vocabulary") = py::none(), py::arg("prompt") = py::none(),
           py::arg("starts_in_reasoning") = py::none(),
           py::arg("reasoning_field") = "reasoning_content", py::arg("skip_special_tokens") = true,
           py::arg("stop") = std::vector<std::string>{}, py::arg("include_stop") = false,
           py::arg("first_put") = "output", py::arg("channel") = py::none(), py::arg("choice") = 0,
           py::arg("closes_channel") = true, py::arg("id_seed") = 0,
           py::arg("keeps_message") = true, py::arg("audit") = false,
           py::arg("unknown_tools") = "forward", py::arg("parallel_tool_calls") = true,
           py::arg("repair") = false, py::arg("only_reasoning") = false,
           py::arg("max_calls") = ParserLimits{}.max_calls,
           py::arg("max_argument_bytes") = ParserLimits{}.max_argument_bytes,
           py::arg("max_depth") = ParserLimits{}.max_depth,
           py::arg("max_held_bytes") = ParserLimits{}.max_held_bytes,
           py::arg("keeps_recipe") = false, py::arg("incomplete_calls") = "forward",
           py::arg("stop_in") = "content", py::arg("kept_reasoning") = py::none())
      .def_property_readonly(
          "region", [](const PyChunkParser& self) { return region_name(look(self).region()); })
      .def_property_readonly("held_bytes",
                             [](const PyChunkParser& self) { return look(self).held().bytes(); })
      .def_property_readonly("held",
                             [](const PyChunkParser& self) {
                               const Held held = look(self).held();
                               return py::make_tuple(py::bytes(held.text()),
                                                     std::string(to_string(held.reason())));
                             })
      .def_property_readonly("held_markers",
                             [](const PyChunkParser& self) {
                               py::list list;
                               for (const std::string_view marker : look(self).held().markers()) {
                                 list.append(std::string(marker));
                               }
                               return list;
                             })
      .def_property_readonly("is_finished",
                             [](const PyChunkParser& self) { return look(self).is_finished(); })
      .def_property_readonly("_has_prompt",
                             [](const PyChunkParser& self) { return look(self).has_prompt(); })
      .def_property_readonly("is_stopped",
                             [](const PyChunkParser& self) { return look(self).is_stopped(); })
      .def_property_readonly(
          "stop_reason",
          [](const PyChunkParser& self) { return text_or_none(look(self).stop_reason()); })
      .def_property_readonly("token_count",
                             [](const PyChunkParser& self) { return look(self).token_count(); })
      .def("_message", &message, py::arg("deltas"), py::arg("reasoning_field"))
      .def_property_readonly("_recipe", [](const PyChunkParser& self) { return self.recipe; })
      .def("_audit", [](const PyChunkParser& self) {
        look(self);
        py::list list;
        for (const Events::Audited& item : self.audit) {
          list.append(py::make_tuple(std::string(to_string(item.fate)), item.text));
        }
        return list;
      });
  add_fast_method(parser, &kParseChunk);
  add_fast_method(parser, &kPut);
  refuse_pickle(parser, "a live stream");
}

}  // namespace unspool::bindings
