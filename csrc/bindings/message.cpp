// Message and its parts are Python dataclasses. Their __init__ sets each attribute in Python, which
// takes about 3 µs per message, more than the parsing in a batch. So this code bypasses it.
#include <pybind11/gil_safe_call_once.h>

#include <array>
#include <initializer_list>
#include <vector>

#include "bindings/gil.h"
#include "bindings/message_type.h"
#include "bindings/native_class.h"
#include "bindings/state_lock.h"
#include "body/repairs.h"

namespace unspool::bindings {

namespace {

py::object to_str(std::string_view text) {
  PyObject* str = new_str(text);
  if (str == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(str);
}

py::object interned(std::string_view text) {
  PyObject* str = to_str(text).release().ptr();
  PyUnicode_InternInPlace(&str);
  return py::reinterpret_steal<py::object>(str);
}

/// One of the dataclasses, with the names of its fields.
class Record {
 public:
  Record(const py::module_& module, const char* name, std::initializer_list<const char*> fields)
      : type_(module.attr(name)) {
    for (const char* field : fields) fields_.push_back(interned(field));
  }

  /// An instance with these values, in the order of the fields.
  py::object make(std::initializer_list<py::handle> values) const {
    auto* type = reinterpret_cast<PyTypeObject*>(type_.ptr());
    // As `object.__new__`: the dataclass's `__init__` does not run.
    auto instance = py::reinterpret_steal<py::object>(type->tp_new(type, empty_.ptr(), nullptr));
    if (!instance) throw py::error_already_set();
    const py::handle* value = values.begin();
    for (const py::object& field : fields_) {
      // Past the dataclass's own `__setattr__`, which refuses since it is frozen.
      if (PyObject_GenericSetAttr(instance.ptr(), field.ptr(), (value++)->ptr()) != 0)
        throw py::error_already_set();
    }
    return instance;
  }

 private:
  py::object type_;
  py::tuple empty_;
  std::vector<py::object> fields_;
};

struct Records {
  py::module_ module = py::module_::import("unspool.core.stream.message");
  Record message{module,
                 "Message",
                 {"content", "reasoning", "tool_calls", "finish_reason", "malformed", "dropped",
                  "token_counts", "deltas", "audit", "reasoning_field", "extra", "labels", "hint"}};
  Record tool_call{
      module, "ToolCall", {"id", "name", "arguments", "status", "repairs", "written_as", "schema"}};
  Record malformed{module, "MalformedText", {"text", "reason", "index"}};
  Record token_counts{module, "TokenCounts", {"content", "reasoning", "tool_calls"}};
  py::object no_counts = module.attr("TokenCounts")();
  std::array<py::object, kRepairNames.size()> repairs{};
  py::tuple nothing{};
  std::array<py::object, 3> statuses{};
  std::array<py::object, 5> reasons{};

  Records() {
    for (std::size_t i = 0; i < statuses.size(); ++i)
      statuses[i] = interned(to_string(static_cast<CallStatus>(i)));
    for (std::size_t i = 0; i < repairs.size(); ++i) repairs[i] = interned(kRepairNames[i]);
    for (std::size_t i = 0; i < reasons.size(); ++i)
      reasons[i] = interned(to_string(static_cast<FinishReason>(i)));
  }
};

const Records& records() {
  // Never destroyed: at the exit of the process, Python objects cannot be released any more.
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<Records> storage;
  return storage.call_once_and_store_result([] { return Records(); }).get_stored();
}

py::object call_with(const py::object& function, const py::object& argument) {
  auto result = py::reinterpret_steal<py::object>(
      call_python([&] { return PyObject_CallOneArg(function.ptr(), argument.ptr()); }));
  if (!result) throw py::error_already_set();
  return result;
}

template <typename Item, typename Make>
py::object to_tuple(const std::vector<Item>& items, Make&& make) {
  // The one empty tuple, for most messages several times.
  if (items.empty()) return records().nothing;
  py::tuple tuple(items.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), make(items[i]).release().ptr());
  return tuple;
}

py::object make_call(const ToolCall& call, py::handle tools) {
  const Records& types = records();
  std::vector<py::object> repairs;
  for_each_repair(call.repairs, [&](std::size_t i) { repairs.push_back(types.repairs[i]); });
  const py::object written_as =
      call.written_as == nullptr ? py::object(py::none()) : to_str(*call.written_as);
  return types.tool_call.make({to_str(call.id), to_str(call.name), to_str(call.arguments),
                               types.statuses[static_cast<std::size_t>(call.status)],
                               to_tuple(repairs, [](const py::object& name) { return name; }),
                               written_as, tools});
}

py::object make_malformed(const Malformed& item) {
  const py::object index = item.index < 0 ? py::object(py::none()) : py::int_(item.index);
  return records().malformed.make({to_str(item.text), to_str(item.reason), index});
}

py::object make_counts(const TokenCounts& counts) {
  // Text without ids has no counts; all such messages share one object.
  if (counts.content == 0 && counts.reasoning == 0 && counts.tool_calls == 0)
    return records().no_counts;
  return records().token_counts.make(
      {py::int_(counts.content), py::int_(counts.reasoning), py::int_(counts.tool_calls)});
}

/// Whether Python code creates parts of the message.
bool needs_python(const TokenStreamer& streamer) {
  const ChunkParser& stream = streamer.stream();
  return stream.labels() != nullptr || !stream.extra().empty();
}

}  // namespace

void import_message_types() {
  records();
  labels_type();
}

py::object make_message(const Message& message, const TokenCounts& counts, std::string_view extra,
                        const std::vector<Events::Audited>& audit,
                        const std::shared_ptr<const ToolSchemas>& tools, py::handle labels,
                        py::handle deltas, py::handle reasoning_field) {
  const Records& types = records();
  const py::object reason = message.is_finished
                                ? types.reasons[static_cast<std::size_t>(message.finish_reason)]
                                : py::object(py::none());
  const py::object fates = to_tuple(audit, [](const Events::Audited& item) {
    return py::make_tuple(to_str(to_string(item.fate)), to_str(item.text));
  });
  const py::object fields =
      extra.empty() ? py::object(py::dict())
                    : call_with(py::module_::import("json").attr("loads"), to_str(extra));
  // The object that the request was made with, shared by all its calls.
  const py::object schemas = message.tool_calls.empty() || !tools
                                 ? py::object(py::none())
                                 : py::cast(std::const_pointer_cast<ToolSchemas>(tools));
  const py::object calls =
      to_tuple(message.tool_calls, [&](const ToolCall& call) { return make_call(call, schemas); });
  return types.message.make({to_str(message.content), to_str(message.reasoning), calls, reason,
                             to_tuple(message.malformed, make_malformed),
                             to_tuple(message.dropped, make_malformed), make_counts(counts), deltas,
                             fates, reasoning_field, fields, labels, py::none()});
}

py::object make_message(const TokenStreamer& streamer, py::handle deltas,
                        py::handle reasoning_field) {
  const ChunkParser& stream = streamer.stream();
  const TokenCounts counts = stream.token_counts();
  // Nothing below runs Python code, so no other thread can touch the stream, and nothing is copied.
  if (!kFreeThreaded && !needs_python(streamer)) {
    return make_message(streamer.message(), counts, stream.extra(), streamer.audit(),
                        stream.tools(), py::none(), deltas, reasoning_field);
  }
  // While Python code runs, another thread may feed or free the stream.
  const Message message = streamer.message();
  const std::string extra(stream.extra());
  const std::vector<Events::Audited> audit = streamer.audit();
  const std::shared_ptr<const ToolSchemas> tools = stream.tools();
  const py::object labels = make_labels(stream.labels(), message);
  return make_message(message, counts, extra, audit, tools, labels, deltas, reasoning_field);
}

}  // namespace unspool::bindings
