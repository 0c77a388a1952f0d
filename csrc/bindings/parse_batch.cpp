// StreamRecipe: the native part of unspool.streams.parse_batch.
#include "stream/parse_batch.h"

#include <pybind11/eval.h>

#include <chrono>
#include <exception>
#include <optional>

#include "bindings/delta_type.h"
#include "bindings/fast_method.h"
#include "bindings/gil.h"
#include "bindings/message_type.h"
#include "bindings/state_lock.h"
#include "bindings/stream_recipe.h"
#include "bindings/text_argument.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

// Reading this much takes about 100 µs, so that releasing the GIL pays off. An output's stream
// counts as the bytes that are read in the time of its creation.
constexpr std::size_t kLongWork = 1 << 15;
constexpr std::size_t kStreamWork = 1 << 7;

/// Lets other threads and signals run during a long loop that needs the GIL, as often as the
/// interpreter does. A Python statement does it: releasing and reacquiring the GIL wakes waiting
/// threads, but gives them no time to take it.
class Turns {
 public:
  bool is_due() const { return Clock::now() - last_ >= std::chrono::milliseconds(5); }

  void pass_if_due() {
    if (!is_due()) return;
    py::exec("pass");
    last_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

/// Pauses garbage collection, which would go through all live messages again and again. It must
/// only live while the GIL is held and no Python code runs, so that it is not observable. Without
/// the GIL it would be; there, garbage is collected only while Python code runs.
class CollectorPause {
 public:
  CollectorPause() = default;
  CollectorPause(const CollectorPause&) = delete;
  CollectorPause& operator=(const CollectorPause&) = delete;
  ~CollectorPause() {
    if (was_enabled_) PyGC_Enable();
  }

 private:
  bool was_enabled_ = !kFreeThreaded && PyGC_Disable() != 0;
};

/// Whether Python code creates parts of its message: a template's further fields, or labels.
bool needs_python(const ParsedOutput& output) {
  return output.labels != nullptr || !output.extra.empty();
}

/// Outputs read from Python, which keeps the texts alive.
class Outputs {
 public:
  Outputs(const py::tuple& objects, const py::object& finish_reasons) {
    // All sizes first: the views below point into these lists.
    list_.resize(objects.size());
    places_.resize(objects.size());
    texts_.reserve(objects.size());
    std::size_t i = 0;
    Turns turns;
    try {
      for (; i < objects.size(); ++i) {
        read(objects[i].ptr(), i);
        turns.pass_if_due();
      }
    } catch (const std::exception&) {
      rethrow_at(i);
    }
    for (i = 0; i < list_.size(); ++i) {
      if (list_[i].has_ids)
        list_[i].ids = {ids_.data() + places_[i].begin, places_[i].end - places_[i].begin};
    }
    read_reasons(finish_reasons);
  }

  std::span<const Output> list() const { return list_; }
  std::size_t work() const {
    return text_bytes_ + ids_.size() * sizeof(TokenId) + list_.size() * kStreamWork;
  }

 private:
  struct Place {
    std::size_t begin = 0, end = 0;
  };

  // A view of bytes is text; a view of integers is ids.
  static bool is_text(PyObject* object) {
    if (PyMemoryView_Check(object)) return PyMemoryView_GET_BUFFER(object)->itemsize == 1;
    return PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object);
  }

  void read(PyObject* object, std::size_t i) {
    if (is_text(object)) {
      list_[i].text = texts_.emplace_back(object).view();
      text_bytes_ += list_[i].text.size();
      return;
    }
    // A single id would be read as an output of one token, which is never meant.
    if (PyLong_Check(object) || PyFloat_Check(object) || object == Py_None) {
      throw py::type_error(std::string("it is of type ") + Py_TYPE(object)->tp_name +
                           "; pass a text, or the token ids of a whole output");
    }
    list_[i].has_ids = true;
    places_[i].begin = ids_.size();
    read_token_ids(object, ids_);
    places_[i].end = ids_.size();
  }

  void read_reasons(const py::object& reasons) {
    if (py::isinstance<py::str>(reasons)) {
      const FinishReason reason = parse_finish_reason(read_text(reasons));
      for (Output& output : list_) output.finish_reason = reason;
      return;
    }
    const py::tuple tuple(reasons);
    if (tuple.size() != list_.size()) {
      throw ArgumentError("finish_reason has " + std::to_string(tuple.size()) + " items for " +
                          std::to_string(list_.size()) +
                          " outputs; pass one for each, or one for all");
    }
    for (std::size_t i = 0; i < list_.size(); ++i)
      list_[i].finish_reason = parse_finish_reason(read_text(tuple[i]));
  }

  // Rethrows the error with the output's index.
  [[noreturn]] static void rethrow_at(std::size_t i) {
    const std::string where = "outputs[" + std::to_string(i) + "]: ";
    try {
      throw;
    } catch (const py::type_error& error) {
      throw py::type_error(where + error.what());
    } catch (const ArgumentError& error) {
      throw ArgumentError(where + error.what());
    }
  }

  std::vector<Output> list_;
  std::vector<Place> places_;  // in ids_, which moves while it grows
  std::vector<TextArgument> texts_;
  std::vector<TokenId> ids_;
  std::size_t text_bytes_ = 0;
};

py::list parse(const StreamRecipe& recipe, const py::tuple& outputs,
               const py::object& finish_reasons, unsigned threads, const py::str& reasoning_field) {
  import_message_types();
  const Outputs read(outputs, finish_reasons);
  check_ids(recipe, read.list());
  std::vector<ParsedOutput> parsed;
  {
    // The tuple keeps each str and bytes alive, and both are immutable.
    std::optional<GilRelease> release;
    // Worker threads need no Python, but another thread of Python may want the GIL meanwhile.
    if (threads > 1 || read.work() >= kLongWork) release.emplace();
    parsed = parse_batch(recipe, read.list(), threads);
  }
  const py::tuple no_deltas;
  py::list messages;
  Turns turns;
  for (ParsedOutput& item : parsed) {
    const ParsedOutput output = std::move(item);  // frees it afterwards
    {
      std::optional<CollectorPause> pause;
      // With Python code, the pause would be seen by it.
      if (!needs_python(output)) pause.emplace();
      const py::object labels = make_labels(output.labels.get(), output.message);
      messages.append(make_message(output.message, output.token_counts, output.extra, output.audit,
                                   recipe.options.stream.parser.tools, labels, no_deltas,
                                   reasoning_field));
    }
    turns.pass_if_due();
  }
  return messages;
}

}  // namespace

void register_parse_batch(py::module_& module) {
  NativeClass<StreamRecipe, std::shared_ptr<StreamRecipe>> recipe(module, "StreamRecipe");
  add_recipe_options(module, recipe);
  recipe.def("for_request", &for_request, py::arg("tools"), py::arg("prompt"));
  recipe.def("parse", &parse, py::arg("outputs"), py::arg("finish_reasons"), py::arg("threads"),
             py::arg("reasoning_field"));
  refuse_pickle(recipe, "a stream's recipe");
}

}  // namespace unspool::bindings
