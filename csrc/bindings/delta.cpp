// One object per token, so everything here is as CPython does it for its own types: one allocation
// with the native delta inside, attributes that are made when they are asked for, interned words. A
// pybind11 class would need a second allocation, and a look-up of the instance for each attribute.
#include <array>
#include <new>
#include <span>

#include "bindings/delta_type.h"
#include "bindings/docs.h"
#include "bindings/fast_method.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

struct DeltaObject {
  PyObject_HEAD ReasoningField field;
  Delta delta;
};

// Objects that nobody holds any more, with the memory of their texts, for the next ones. Threads
// without a GIL would need a lock for them.
#ifdef Py_GIL_DISABLED
constexpr std::size_t kMaxSpares = 0;
#else
constexpr std::size_t kMaxSpares = 64;
#endif
constexpr std::size_t kMaxSpareBytes = 256;
std::array<DeltaObject*, kMaxSpares> spares;
std::size_t spare_count = 0;

bool is_worth_sparing(const Delta& delta) {
  return delta.text.capacity() <= kMaxSpareBytes &&
         delta.token_ids.capacity() <= kMaxSpareBytes / 4 && delta.id.empty() &&
         delta.name.empty() && delta.reason.empty();
}

PyTypeObject* delta_type = nullptr;

// Interned words, created at import, because kinds, statuses and reasons come with every delta.
struct Words {
  std::array<PyObject*, 8> kinds{};
  std::array<PyObject*, 3> statuses{};
  std::array<PyObject*, 5> reasons{};
};
Words words;

const Delta& delta_of(PyObject* self) { return reinterpret_cast<DeltaObject*>(self)->delta; }

PyObject* word_or_none(bool is_there, PyObject* word) {
  return Py_NewRef(is_there ? word : Py_None);
}

PyObject* get_kind(PyObject* self, void*) {
  return Py_NewRef(words.kinds[static_cast<std::size_t>(delta_of(self).kind)]);
}
PyObject* get_text(PyObject* self, void*) { return new_str(delta_of(self).text); }
PyObject* get_index(PyObject* self, void*) {
  // -1 natively; an index in Python that is a valid list index would be misread.
  if (delta_of(self).index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(delta_of(self).index);
}
PyObject* get_choice(PyObject* self, void*) { return PyLong_FromLong(delta_of(self).choice); }
PyObject* get_id(PyObject* self, void*) {
  if (delta_of(self).kind != EventKind::tool_call_begin) Py_RETURN_NONE;
  return new_str(delta_of(self).id);
}
PyObject* get_name(PyObject* self, void*) {
  if (delta_of(self).kind != EventKind::tool_call_begin) Py_RETURN_NONE;
  return new_str(delta_of(self).name);
}
PyObject* get_is_content(PyObject* self, void*) {
  return PyBool_FromLong(is_wire_content(delta_of(self)) ? 1 : 0);
}
PyObject* get_status(PyObject* self, void*) {
  const Delta& delta = delta_of(self);
  return word_or_none(delta.kind == EventKind::tool_call_end,
                      words.statuses[static_cast<std::size_t>(delta.status)]);
}
PyObject* get_finish_reason(PyObject* self, void*) {
  const Delta& delta = delta_of(self);
  return word_or_none(delta.kind == EventKind::finish,
                      words.reasons[static_cast<std::size_t>(delta.finish_reason)]);
}
PyObject* get_reason(PyObject* self, void*) {
  if (delta_of(self).reason.empty()) Py_RETURN_NONE;
  return new_str(delta_of(self).reason);
}
PyObject* get_token_span(PyObject* self, void*) {
  const TokenSpan& span = delta_of(self).span;
  return Py_BuildValue("(KK)", static_cast<unsigned long long>(span.begin),
                       static_cast<unsigned long long>(span.end));
}
PyObject* get_token_ids(PyObject* self, void*) {
  const auto& ids = delta_of(self).token_ids;
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(ids.size()));
  if (tuple == nullptr) return nullptr;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    PyObject* id = PyLong_FromUnsignedLong(ids[i]);
    if (id == nullptr) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), id);
  }
  return tuple;
}
PyObject* get_json(PyObject* self, void*) {
  return guarded([&] {
    std::string out;
    append_chat_delta(delta_of(self), reinterpret_cast<DeltaObject*>(self)->field, out);
    return PyBytes_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()));
  });
}

// The shapes of append_chat_delta as Python objects; a test compares the two.
PyObject* to_openai(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Delta& delta = delta_of(self);
    if (is_wire_content(delta)) return Py_BuildValue("{s:N}", "content", new_str(delta.text));
    switch (delta.kind) {
      case EventKind::reasoning: {
        const bool is_short =
            reinterpret_cast<DeltaObject*>(self)->field == ReasoningField::reasoning;
        return Py_BuildValue("{s:N}", is_short ? "reasoning" : "reasoning_content",
                             new_str(delta.text));
      }
      case EventKind::tool_call_begin:
        return Py_BuildValue("{s:[{s:i,s:N,s:s,s:{s:N,s:s}}]}", "tool_calls", "index", delta.index,
                             "id", new_str(delta.id), "type", "function", "function", "name",
                             new_str(delta.name), "arguments", "");
      case EventKind::tool_call_arguments:
        return Py_BuildValue("{s:[{s:i,s:{s:N}}]}", "tool_calls", "index", delta.index, "function",
                             "arguments", new_str(delta.text));
      default: return PyDict_New();
    }
  });
}

PyObject* allocate(PyTypeObject* type) { return type->tp_alloc(type, 0); }

void free_memory(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  // An instance of a heap type holds a reference to its type.
  Py_DECREF(type);
}

void dealloc(PyObject* self) {
  if (spare_count < kMaxSpares && is_worth_sparing(delta_of(self))) {
    spares[spare_count++] = reinterpret_cast<DeltaObject*>(self);
    Py_DECREF(delta_type);
    return;
  }
  // Python's allocator knows no destructors.
  reinterpret_cast<DeltaObject*>(self)->delta.~Delta();
  free_memory(self);
}

/// A new Python object with the delta that `make` returns, which is constructed in place; null with
/// an error set.
template <typename Make>
PyObject* emplace_delta(ReasoningField field, Make&& make) {
  PyObject* self = allocate(delta_type);
  if (self == nullptr) return nullptr;
  reinterpret_cast<DeltaObject*>(self)->field = field;
  try {
    // Into the object's memory, so that a text is moved once and not copied.
    new (&reinterpret_cast<DeltaObject*>(self)->delta) Delta(make());
  } catch (...) {
    free_memory(self);
    throw;
  }
  return self;
}

template <typename Enum, std::size_t Size>
Enum find_word(const std::array<PyObject*, Size>&, std::string_view name, const char* what) {
  std::string choices;
  for (std::size_t i = 0; i < Size; ++i) {
    const std::string_view word = to_string(static_cast<Enum>(i));
    if (word == name) return static_cast<Enum>(i);
    choices.append(choices.empty() ? "" : ", ").append(word);
  }
  throw ArgumentError(std::string(what) + " is '" + std::string(name) + "'; use one of " + choices);
}

PyObject* create(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    const char* kind = nullptr;
    PyObject *text = nullptr, *index = Py_None, *id = Py_None, *name = Py_None, *status = Py_None;
    PyObject *finish_reason = Py_None, *reason = Py_None, *span = Py_None, *ids = Py_None;
    PyObject* choice = nullptr;
    const char* field = "reasoning_content";
    static const char* const kNames[] = {"kind",       "text",      "index",           "id",
                                         "name",       "status",    "finish_reason",   "reason",
                                         "token_span", "token_ids", "reasoning_field", "choice",
                                         nullptr};
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "s|$OOOOOOOOOsO:Delta", const_cast<char**>(kNames), &kind, &text, &index,
            &id, &name, &status, &finish_reason, &reason, &span, &ids, &field, &choice) == 0) {
      return nullptr;
    }
    const auto read = [](PyObject* object) {
      return object == nullptr || object == Py_None ? std::string()
                                                    : std::string(read_text(object));
    };
    Delta delta;
    delta.kind = find_word<EventKind>(words.kinds, kind, "kind");
    delta.text = read(text);
    if (index != Py_None) delta.index = read_number(index, "index", "calls");
    if (choice != nullptr) delta.choice = read_number(choice, "choice", "answers");
    const bool is_call = delta.kind == EventKind::tool_call_begin ||
                         delta.kind == EventKind::tool_call_arguments ||
                         delta.kind == EventKind::tool_call_end;
    // Every wire sends it.
    if (is_call && delta.index < 0) throw ArgumentError("a delta of a tool call needs its index");
    delta.id = read(id);
    delta.name = read(name);
    delta.reason = read(reason);
    if (status != Py_None)
      delta.status = find_word<CallStatus>(words.statuses, read_text(status), "status");
    if (finish_reason != Py_None)
      delta.finish_reason = parse_finish_reason(read_text(finish_reason));
    if (span != Py_None) {
      try {
        const auto pair = py::handle(span).cast<std::pair<std::uint64_t, std::uint64_t>>();
        delta.span = {pair.first, pair.second};
      } catch (const py::cast_error&) {
        refuse_type("token_span", span, "(begin, end)");
      }
    }
    if (ids != Py_None) read_token_ids(ids, delta.token_ids);
    const ReasoningField parsed = parse_reasoning_field(field);
    return wrap_delta(std::move(delta), parsed);
  });
}

// All attributes, in the order of the constructor.
py::tuple values_of(PyObject* self) {
  const auto own = [](PyObject* object) {
    if (object == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(object);
  };
  return py::make_tuple(
      own(get_kind(self, nullptr)), own(get_text(self, nullptr)), own(get_index(self, nullptr)),
      own(get_id(self, nullptr)), own(get_name(self, nullptr)), own(get_status(self, nullptr)),
      own(get_finish_reason(self, nullptr)), own(get_reason(self, nullptr)),
      own(get_token_span(self, nullptr)), own(get_token_ids(self, nullptr)),
      py::str(reasoning_field_of(self) == ReasoningField::reasoning ? "reasoning"
                                                                    : "reasoning_content"),
      own(get_choice(self, nullptr)));
}

PyObject* repr(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const py::tuple values = values_of(self);
    std::string text = "Delta(" + std::string(py::repr(values[0]));
    constexpr const char* kNames[] = {"",     "text",   "index",         "id",
                                      "name", "status", "finish_reason", "reason"};
    for (std::size_t i = 1; i < std::size(kNames); ++i) {
      if (values[i].is_none() || (i == 1 && py::len(values[i]) == 0)) continue;
      text.append(", ").append(kNames[i]).append("=").append(short_repr(values[i]));
    }
    if (delta_of(self).choice != 0)
      text.append(", choice=").append(std::to_string(delta_of(self).choice));
    return py::str(text + ")").release().ptr();
  });
}

PyObject* compare(PyObject* a, PyObject* b, int operation) {
  // Python then asks the other object.
  if (as_delta(b) == nullptr || (operation != Py_EQ && operation != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] {
    return Py_NewRef((values_of(a).equal(values_of(b)) == (operation == Py_EQ)) ? Py_True
                                                                                : Py_False);
  });
}

Py_hash_t hash(PyObject* self) {
  PyObject* result = guarded([&] { return PyLong_FromSsize_t(py::hash(values_of(self))); });
  if (result == nullptr) return -1;
  const Py_hash_t value = PyLong_AsSsize_t(result);
  Py_DECREF(result);
  return value;
}

PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    return py::make_tuple(py::module_::import("unspool.core.stream.message").attr("_restore_delta"),
                          values_of(self))
        .release()
        .ptr();
  });
}

PyMethodDef methods[] = {
    {"to_openai", to_openai, METH_NOARGS, nullptr},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef attributes[] = {
    {"kind", get_kind, nullptr, nullptr, nullptr},
    {"text", get_text, nullptr, nullptr, nullptr},
    {"index", get_index, nullptr, nullptr, nullptr},
    {"choice", get_choice, nullptr, nullptr, nullptr},
    {"id", get_id, nullptr, nullptr, nullptr},
    {"name", get_name, nullptr, nullptr, nullptr},
    {"status", get_status, nullptr, nullptr, nullptr},
    {"is_content", get_is_content, nullptr, nullptr, nullptr},
    {"finish_reason", get_finish_reason, nullptr, nullptr, nullptr},
    {"reason", get_reason, nullptr, nullptr, nullptr},
    {"token_span", get_token_span, nullptr, nullptr, nullptr},
    {"token_ids", get_token_ids, nullptr, nullptr, nullptr},
    {"json", get_json, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, nullptr},
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, nullptr},
};

PyType_Spec spec = {"unspool._core.Delta", sizeof(DeltaObject), 0, Py_TPFLAGS_DEFAULT, slots};

// As in the stub; before the type is made.
void document() {
  slots[0].pfunc = const_cast<char*>(doc_of("Delta"));  // CPython copies it
  const auto of_member = [](const char* name) { return doc_of(std::string("Delta.") + name); };
  for (PyMethodDef& each : std::span(methods, std::size(methods) - 1))
    each.ml_doc = of_member(each.ml_name);
  for (PyGetSetDef& each : std::span(attributes, std::size(attributes) - 1))
    each.doc = of_member(each.name);
}

template <typename Enum, std::size_t Size>
void intern(std::array<PyObject*, Size>& list) {
  for (std::size_t i = 0; i < Size; ++i) {
    list[i] = PyUnicode_InternFromString(std::string(to_string(static_cast<Enum>(i))).c_str());
  }
}

}  // namespace

PyObject* wrap_delta(Delta&& delta, ReasoningField field) {
  return emplace_delta(field, [&] { return std::move(delta); });
}

PyObject* take_delta(TokenStreamer& streamer, std::size_t i, ReasoningField field) {
  return emplace_delta(field, [&] { return streamer.take(i); });
}

PyObject* wrap_fragment(const TextFragment& fragment, std::span<const TokenId> ids,
                        ReasoningField field) {
  PyObject* self = nullptr;
  if (spare_count > 0) {
    self = reinterpret_cast<PyObject*>(spares[--spare_count]);
    PyObject_Init(self, delta_type);
    reinterpret_cast<DeltaObject*>(self)->field = field;
  } else {
    self = emplace_delta(field, [] { return Delta(); });
  }
  if (self != nullptr) fill(reinterpret_cast<DeltaObject*>(self)->delta, fragment, ids);
  return self;
}

const Delta* as_delta(PyObject* object) {
  // The type cannot be subclassed, so one comparison is enough.
  return Py_TYPE(object) == delta_type ? &reinterpret_cast<DeltaObject*>(object)->delta : nullptr;
}

ReasoningField reasoning_field_of(PyObject* delta) {
  return reinterpret_cast<DeltaObject*>(delta)->field;
}

ReasoningField parse_reasoning_field(const std::string& name) {
  if (name == "reasoning_content") return ReasoningField::reasoning_content;
  if (name == "reasoning") return ReasoningField::reasoning;
  throw ArgumentError("reasoning_field is '" + name + "'; use 'reasoning_content' or 'reasoning'");
}

FinishReason parse_finish_reason(std::string_view name) {
  return find_word<FinishReason>(words.reasons, name, "finish_reason");
}

void register_delta(py::module_& module) {
  intern<EventKind>(words.kinds);
  intern<CallStatus>(words.statuses);
  intern<FinishReason>(words.reasons);
  document();
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  delta_type = reinterpret_cast<PyTypeObject*>(type);
  module.attr("Delta") = py::reinterpret_borrow<py::object>(type);
}

}  // namespace unspool::bindings
