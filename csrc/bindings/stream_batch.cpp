// StreamBatch and BatchResult: an engine's step in one call.
//
// A step is the call that an engine makes for every token of every request, so nothing here grows
// with the number of slots but the native work: ids and slots are read in place from arrays, and
// the result is a set of views of one buffer.
//
// A batch lends its writers (WriterLoan): between two steps Python may ask a writer for keep-alive
// bytes, but only the batch writes deltas with it, until its slot is removed.
#include "stream/stream_batch.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <utility>

#include "bindings/delta_type.h"
#include "bindings/fast_method.h"
#include "bindings/gil.h"
#include "bindings/int_column.h"
#include "bindings/message_type.h"
#include "bindings/native_class.h"
#include "bindings/py_wire_writer.h"
#include "bindings/scoped_flag.h"
#include "bindings/state_lock.h"
#include "bindings/stream_recipe.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

// This many ids take about 100 µs, so that releasing the GIL pays off.
constexpr std::size_t kLongStep = 1 << 10;

struct PyStreamBatch {
  explicit PyStreamBatch(ReasoningField reasoning_field)
      : field(reasoning_field), loan(std::make_shared<WriterLoan>()) {}

  StreamBatch batch;
  ReasoningField field;
  std::shared_ptr<WriterLoan> loan;
  std::vector<py::object> writers = {};  // by slot: Python's writers, or null
  std::vector<Slot> slots = {};          // of one call's arguments
  std::vector<TokenId> ids = {};
  std::vector<std::int64_t> offsets = {};
};

struct PyBatchResult {
  std::shared_ptr<BatchResult> result;
  ReasoningField field;
};

/// Part of a result as a buffer; the buffer keeps the result alive.
struct Column {
  std::shared_ptr<BatchResult> owner;
  const void* data;
  py::ssize_t count;
  py::ssize_t width;
  std::string format;
};

template <typename T>
py::object view_of(const PyBatchResult& self, std::span<const T> items, const char* format) {
  // An empty view still needs an address.
  static const T none{};
  const py::object column =
      py::cast(Column{self.result, items.empty() ? &none : items.data(),
                      static_cast<py::ssize_t>(items.size()), sizeof(T), format});
  return py::memoryview(column);
}

// Requires the batch's lock.
StreamBatch& native_batch(PyStreamBatch& self) {
  if (self.loan->is_stepping)
    throw StreamError("this batch is in a step, in another thread; use it before or after that");
  return self.batch;
}

std::shared_ptr<BatchResult> run_step(PyStreamBatch& self, PyObject* const* args,
                                      Py_ssize_t count) {
  const StateGuard guard(self.loan->lock);
  StreamBatch& batch = native_batch(self);
  if (count < 2 || count > 3) throw py::type_error("step takes slots and ids, and offsets or not");
  // Reading the arguments may run Python code, and the step may release the GIL: no one else may
  // use the batch meanwhile.
  const ScopedFlag stepping(self.loan->is_stepping);
  IntColumn<Slot> slots(args[0], "slots", self.slots);
  IntColumn<TokenId> ids(args[1], "ids", self.ids);
  std::optional<IntColumn<std::int64_t>> offsets;
  if (count == 3 && args[2] != Py_None) offsets.emplace(args[2], "offsets", self.offsets);
  const bool is_long = ids.view().size() >= kLongStep;
  // While the GIL is released, other threads may write to the caller's arrays.
  if (is_long || kFreeThreaded) {
    slots.keep_in(self.slots);
    ids.keep_in(self.ids);
    if (offsets) offsets->keep_in(self.offsets);
  }
  std::optional<std::span<const std::int64_t>> places;
  if (offsets) places = offsets->view();
  std::optional<GilRelease> release;
  // After the arguments: reading them needs Python.
  if (is_long) release.emplace();
  return batch.step(slots.view(), ids.view(), places);
}

PyObject* step(PyObject* object, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    PyStreamBatch& self = native<PyStreamBatch>(object);
    // Creating an object may wait for other threads, so the batch must be free by then.
    std::shared_ptr<BatchResult> result = run_step(self, args, count);
    return py::cast(PyBatchResult{std::move(result), self.field}).release().ptr();
  });
}

PyMethodDef kStep = {"step", as_method(step), METH_FASTCALL, nullptr};

SlotOptions read_slot_options(const py::object& choice, bool deltas) {
  SlotOptions options;
  options.choice = read_number(choice, "choice", "answers");
  options.keeps_deltas = deltas;
  return options;
}

/// Creates a slot by `make(batch, options)`. The batch uses the writer until the slot is free.
template <typename Make>
Slot take_slot(PyStreamBatch& self, SlotOptions options, const py::object& writer, Make&& make) {
  PyWireWriter* lent = nullptr;
  if (!writer.is_none()) {
    if (!py::isinstance<PyWireWriter>(writer)) {
      throw py::type_error(std::string("writer is of type ") + Py_TYPE(writer.ptr())->tp_name +
                           "; pass a WireWriter");
    }
    lent = py::cast<PyWireWriter*>(writer);
  }
  // Only now: reading the arguments may have run Python code, and another thread's step.
  const StateGuard guard(self.loan->lock, lent == nullptr ? self.loan->lock : lent->lock);
  StreamBatch& batch = native_batch(self);
  if (lent != nullptr) {
    const auto loan = lent->loan.lock();
    // Two batches could write into one response at the same time.
    if (loan && loan != self.loan)
      throw StreamError("another batch writes with this writer; create a new WireWriter");
    options.writer = lent->writer;
  }
  const Slot slot = make(batch, std::move(options));
  if (static_cast<std::size_t>(slot) >= self.writers.size())
    self.writers.resize(static_cast<std::size_t>(slot) + 1);
  if (lent != nullptr) {
    // The batch that had it is gone, with its slots.
    if (lent->loan.expired()) lent->slot_count = 0;
    self.writers[static_cast<std::size_t>(slot)] = writer;
    lent->loan = self.loan;
    ++lent->slot_count;
  }
  return slot;
}

Slot add(PyStreamBatch& self, const StreamRecipe& recipe, const py::object& tools,
         const py::object& prompt, const py::object& writer, const py::object& choice, bool deltas,
         const py::object& end_ids) {
  const StreamRecipe asked = for_request(recipe, tools, prompt);
  SlotOptions slot_options = read_slot_options(choice, deltas);
  if (!end_ids.is_none()) read_token_ids(end_ids, slot_options.end_ids);
  return take_slot(self, std::move(slot_options), writer,
                   [&](StreamBatch& batch, SlotOptions options) {
                     return batch.add(asked, std::move(options));
                   });
}

Slot fork_slot(PyStreamBatch& self, Slot slot, const py::object& writer, const py::object& choice,
               bool deltas) {
  return take_slot(self, read_slot_options(choice, deltas), writer,
                   [&](StreamBatch& batch, SlotOptions options) {
                     return batch.fork(slot, std::move(options));
                   });
}

PyBatchResult roll_back_slot(PyStreamBatch& self, Slot slot, const py::object& count) {
  const auto taken = static_cast<std::size_t>(read_number(count, "count", "ids"));
  const StateGuard guard(self.loan->lock);
  return PyBatchResult{native_batch(self).rollback(slot, taken), self.field};
}

py::object remove_stream(PyStreamBatch& self, Slot slot) {
  const StateGuard guard(self.loan->lock);
  native_batch(self).remove(slot);
  // Destroyed by the caller, without the batch's lock.
  return std::exchange(self.writers[static_cast<std::size_t>(slot)], {});
}

void remove(PyStreamBatch& self, Slot slot) {
  const py::object writer = remove_stream(self, slot);
  if (!writer) return;
  auto* lent = py::cast<PyWireWriter*>(writer);
  const StateGuard guard(self.loan->lock, lent->lock);
  // The host may end the response now, or use the writer for itself.
  if (--lent->slot_count == 0) lent->loan.reset();
}

const TokenStreamer& stream(PyStreamBatch& self, Slot slot) {
  return native_batch(self).stream(slot);
}

py::object message_of_slot(PyStreamBatch& self, Slot slot, const py::str& reasoning_field) {
  import_message_types();
  const StateGuard guard(self.loan->lock);
  return make_message(stream(self, slot), py::tuple(), reasoning_field);
}

PyObject* sse(PyObject* object, PyObject* value) {
  return guarded([&] {
    const PyBatchResult& self = native<PyBatchResult>(object);
    const std::string_view bytes = self.result->bytes_of(read_number(value, "slot", "slots"));
    return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
  });
}

PyMethodDef kSse = {"sse", as_method(sse), METH_O, nullptr};

py::list deltas(const PyBatchResult& self, const py::object& slot) {
  py::list list;
  for (const Delta& delta : self.result->deltas_of(read_number(slot, "slot", "slots"))) {
    PyObject* object = wrap_delta(Delta(delta), self.field);
    if (object == nullptr) throw py::error_already_set();
    list.append(py::reinterpret_steal<py::object>(object));
  }
  return list;
}

void register_result(py::module_& module) {
  NativeClass<Column>(module, "_BatchColumn", py::buffer_protocol())
      .def_buffer([](const Column& self) {
        return py::buffer_info(const_cast<void*>(self.data), self.width, self.format, 1,
                               {self.count}, {self.width}, true);
      });
  NativeClass<PyBatchResult> result(module, "BatchResult", py::is_final());
  result
      .def_property_readonly(
          "slots",
          [](const PyBatchResult& self) { return view_of(self, self.result->slots(), "i"); })
      .def_property_readonly(
          "ended",
          [](const PyBatchResult& self) { return view_of(self, self.result->ended(), "i"); })
      .def_property_readonly(
          "offsets",
          [](const PyBatchResult& self) { return view_of(self, self.result->offsets(), "q"); })
      .def_property_readonly("data",
                             [](const PyBatchResult& self) {
                               return view_of(self, std::span(self.result->bytes()), "B");
                             })
      .def("deltas", &deltas, py::arg("slot"))
      .def("__contains__",
           [](const PyBatchResult& self, Slot slot) { return self.result->has(slot); })
      .def("__len__", [](const PyBatchResult& self) { return self.result->slots().size(); });
  result.def_fast(kSse);
  refuse_pickle(result, "a batch's result");
}

}  // namespace

void register_stream_batch(py::module_& module) {
  register_result(module);
  NativeClass<PyStreamBatch> batch(module, "StreamBatch");
  batch
      .def_init(py::init([](const std::string& reasoning_field) {
                  return std::make_unique<PyStreamBatch>(parse_reasoning_field(reasoning_field));
                }),
                py::arg("reasoning_field"))
      .def("_add", &add, py::arg("recipe"), py::arg("tools"), py::arg("prompt"), py::arg("writer"),
           py::arg("choice"), py::arg("deltas"), py::arg("end_ids"))
      .def(
          "finish",
          [](PyStreamBatch& self, Slot slot, const py::str& reason) {
            const StateGuard guard(self.loan->lock);
            StreamBatch& native = native_batch(self);
            return PyBatchResult{native.finish(slot, parse_finish_reason(read_text(reason))),
                                 self.field};
          },
          py::arg("slot"), py::arg("finish_reason") = "stop")
      .def("fork", &fork_slot, py::arg("slot"), py::kw_only(), py::arg("writer") = py::none(),
           py::arg("choice") = 0, py::arg("deltas") = false)
      .def("rollback", &roll_back_slot, py::arg("slot"), py::arg("count"))
      .def("remove", &remove, py::arg("slot"))
      .def("_message", &message_of_slot, py::arg("slot"), py::arg("reasoning_field"))
      .def(
          "stop_reason",
          [](PyStreamBatch& self, Slot slot) {
            const StateGuard guard(self.loan->lock);
            return text_or_none(stream(self, slot).stream().stop_reason());
          },
          py::arg("slot"))
      .def(
          "token_count",
          [](PyStreamBatch& self, Slot slot) {
            const StateGuard guard(self.loan->lock);
            return stream(self, slot).stream().token_count();
          },
          py::arg("slot"))
      .def("__len__", [](PyStreamBatch& self) {
        const StateGuard guard(self.loan->lock);
        return native_batch(self).size();
      });
  batch.def_fast(kStep);
  refuse_pickle(batch, "a batch of live streams");
}

}  // namespace unspool::bindings
