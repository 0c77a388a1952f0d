// Vocabulary and Detokenizer. Tokenizers are read in Python
// (unspool.core.vocabulary.vocabulary_sources).
//
// A tokenizer's files have many shapes and are read in Python. What comes here has one: the tokens,
// the added tokens, and the decoder's steps as dicts. Every value in them may come from a damaged
// file, so each is checked, and an error shows it.
//
// A Detokenizer has a lock and one buffer for its text. Its `put` is called for every token, so it
// goes past pybind11 (fast_method.h).
#include "vocabulary/vocabulary.h"

#include <pybind11/stl.h>

#include "bindings/fast_method.h"
#include "bindings/gil.h"
#include "bindings/native_class.h"
#include "bindings/snapshots.h"
#include "bindings/state_lock.h"
#include "text/error.h"
#include "text/scratch.h"
#include "vocabulary/detokenizer.h"
#include "vocabulary/vocabulary_file.h"

namespace unspool::bindings {

namespace {

std::string show(const py::handle& value) {
  try {
    const std::string text = py::repr(value).cast<std::string>();
    // An error message must not contain a whole file.
    if (text.size() <= 60) return text;
  } catch (const py::error_already_set&) {  // an integer of thousands of digits
  }
  return "a value of type " + py::type::of(value).attr("__name__").cast<std::string>();
}

std::uint32_t read_u32(const py::handle& value, const std::string& what) {
  try {
    return value.cast<std::uint32_t>();
  } catch (const py::cast_error&) {
    throw VocabularyError(what + " is " + show(value) +
                          "; it must be an integer from 0 to 4,294,967,295");
  }
}

TokenId read_id(const py::handle& value) { return read_u32(value, "a token's id"); }

std::string read_token_text(const py::handle& value) {
  try {
    return value.cast<std::string>();
  } catch (const py::cast_error&) {
    throw VocabularyError("a token's text is " + show(value) +
                          "; it must be text without lone surrogates, or bytes");
  }
}

DecoderStep read_step(const py::dict& dict) {
  const auto text = [&](const char* key) {
    return dict.contains(key) ? read_token_text(dict[key]) : std::string();
  };
  const auto number = [&](const char* key) {
    return dict.contains(key) ? read_u32(dict[key], key) : 0U;
  };
  constexpr std::pair<const char*, DecoderKind> kKinds[] = {
      {"byte_level", DecoderKind::byte_level},
      {"byte_fallback", DecoderKind::byte_fallback},
      {"fuse", DecoderKind::fuse},
      {"strip", DecoderKind::strip},
      {"replace", DecoderKind::replace},
      {"metaspace", DecoderKind::metaspace},
      {"word_piece", DecoderKind::word_piece},
      {"bpe_suffix", DecoderKind::bpe_suffix},
  };
  DecoderStep step;
  const std::string kind = text("kind");
  bool is_known = false;
  for (const auto& [name, value] : kKinds) {
    if (kind != name) continue;
    step.kind = value;
    is_known = true;
  }
  if (!is_known) throw VocabularyError("unknown decoder step '" + kind + "'");
  step.content = text("content");
  step.replacement = text("replacement");
  step.start = number("start");
  step.stop = number("stop");
  step.prepends = !dict.contains("prepends") || dict["prepends"].cast<bool>();
  step.cleans_up = dict.contains("cleans_up") && dict["cleans_up"].cast<bool>();
  return step;
}

std::shared_ptr<Vocabulary> make_vocabulary(const py::dict& tokens, const py::list& added,
                                            const py::list& steps, bool is_bytes,
                                            bool joins_with_space, bool refuses_unknown,
                                            bool special_breaks_text, bool is_sentencepiece) {
  VocabularySource source;
  source.tokens.reserve(tokens.size());
  // Copies: an id's __index__ may change the container.
  const auto copy = py::reinterpret_steal<py::dict>(PyDict_Copy(tokens.ptr()));
  if (!copy) throw py::error_already_set();
  for (const auto& [text, id] : copy)
    source.tokens.emplace_back(read_id(id), read_token_text(text));
  for (const py::handle& item : py::tuple(added)) {
    const auto entry = item.cast<py::tuple>();
    source.added.push_back({read_id(entry[0]), read_token_text(entry[1]), read_token_text(entry[2]),
                            entry[3].cast<bool>()});
  }
  for (const py::handle& step : py::tuple(steps))
    source.steps.push_back(read_step(step.cast<py::dict>()));
  source.is_bytes = is_bytes;
  source.joins_with_space = joins_with_space;
  source.unknown = refuses_unknown ? UnknownId::refused : UnknownId::ignored;
  source.special_breaks_text = special_breaks_text;
  source.is_sentencepiece = is_sentencepiece;
  const GilRelease release;  // 100,000 tokens take milliseconds; this uses no Python
  return std::make_shared<Vocabulary>(std::move(source));
}

/// A Detokenizer with its Python state: the end of the stream.
struct PyDetokenizer {
  std::shared_ptr<const Vocabulary> vocabulary;
  Detokenizer detokenizer;
  bool has_ended = false;
  std::string out = {};
  std::vector<TokenId> ids = {};
  std::shared_ptr<const void> texts = {};  // owner of texts that a restored state points into
  StateLock lock = {};
};

PyObject* put_ids(PyObject* object, PyObject* argument) {
  return guarded([&]() -> PyObject* {
    PyDetokenizer& self = native<PyDetokenizer>(object);
    const StateGuard guard(self.lock);
    std::vector<TokenId> ids = std::move(self.ids);  // not its own: a caller's Python may come back
    ids.clear();
    read_token_ids(argument, ids);
    if (self.has_ended)
      throw StreamError("this stream has ended; create a new Detokenizer for the next one");
    self.ids = std::move(ids);
    self.out.clear();
    if (self.ids.size() > 1 && self.vocabulary->unknown() == UnknownId::refused) {
      for (const TokenId id : self.ids) {  // refuse before any of them is read
        // It throws, with the message for such an id.
        if (!self.vocabulary->is_known(id)) self.detokenizer.put(id, self.out);
      }
    }
    self.detokenizer.put(self.ids, self.out);
    PyObject* text =
        PyUnicode_DecodeUTF8(self.out.data(), static_cast<Py_ssize_t>(self.out.size()), nullptr);
    self.out.clear();
    self.ids.clear();
    shrink_scratch(self.out);
    shrink_scratch(self.ids);
    return text;
  });
}

PyObject* end_stream(PyObject* object, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyDetokenizer& self = native<PyDetokenizer>(object);
    const StateGuard guard(self.lock);
    if (self.has_ended)
      throw StreamError("this stream has ended; create a new Detokenizer for the next one");
    self.has_ended = true;
    self.out.clear();
    self.detokenizer.end(self.out);
    return PyUnicode_DecodeUTF8(self.out.data(), static_cast<Py_ssize_t>(self.out.size()), nullptr);
  });
}

PyMethodDef kPutIds = {"put", as_method(put_ids), METH_O, nullptr};
PyMethodDef kEnd = {"end", as_method(end_stream), METH_NOARGS, nullptr};

py::object load(const char* function, const py::args& args, const py::kwargs& kwargs) {
  return py::module_::import("unspool.core.vocabulary.vocabulary_sources")
      .attr(function)(*args, **kwargs);
}

py::bytes to_bytes(const Vocabulary& self) {
  std::string bytes;
  write_vocabulary(self, bytes);
  return py::bytes(bytes);
}

std::shared_ptr<Vocabulary> from_bytes(const py::bytes& data) {
  return std::const_pointer_cast<Vocabulary>(read_vocabulary(std::string_view(data)));
}

py::object content(const Vocabulary& self, TokenId id) {
  if (!self.is_added(id)) return py::none();
  return py::str(std::string(self.content(id)));
}

py::dict added_tokens(const Vocabulary& self) {
  py::dict tokens;
  for (const AddedToken& token : self.added_tokens())
    tokens[py::int_(token.id)] = py::str(token.content);
  return tokens;
}

std::unique_ptr<PyDetokenizer> make_detokenizer(const py::object& source, bool skip_special_tokens,
                                                const py::object& stop, bool include_stop,
                                                bool exact, bool clean_up_tokenization_spaces,
                                                const py::object& context) {
  const py::object object = py::module_::import("unspool.core.vocabulary.vocabulary_sources")
                                .attr("from_tokenizer")(source);
  std::shared_ptr<const Vocabulary> shared = object.cast<std::shared_ptr<Vocabulary>>();
  DetokenizerOptions options;
  options.skip_special_tokens = skip_special_tokens;
  options.include_stop = include_stop;
  options.exact = exact;
  options.clean_up_spaces = clean_up_tokenization_spaces;
  // For `spans`; at most the last 4,096 pieces are kept.
  options.tracks_pieces = true;
  if (py::isinstance<py::str>(stop)) {
    options.stop.push_back(stop.cast<std::string>());
  } else if (!stop.is_none()) {
    try {
      options.stop = stop.cast<std::vector<std::string>>();
    } catch (const py::cast_error&) {
      refuse_type("stop", stop, "a str, or a list of str");
    }
  }
  read_token_ids(context, options.context);
  return std::make_unique<PyDetokenizer>(
      PyDetokenizer{shared, Detokenizer(shared, std::move(options))});
}

py::bytes snapshot(const PyDetokenizer& self, const py::object& key) {
  std::string state;
  {
    const StateGuard guard(self.lock);
    Archive archive(state);
    Detokenizer copy = self.detokenizer;  // one visit both writes and reads
    bool has_ended = self.has_ended;
    archive(has_ended, copy);
  }
  return seal_snapshot("Detokenizer", state, key);
}

std::unique_ptr<PyDetokenizer> restore(const py::object& snapshot, const py::object& source,
                                       const py::object& key, const py::kwargs& options) {
  // First: nothing is made of bytes whose tag is wrong.
  const std::string state = open_snapshot("Detokenizer", snapshot, key);
  // By the class itself, so that the options are read by the same code as always.
  const py::object instance = py::type::of<PyDetokenizer>()(source, **options);
  auto restored = std::make_unique<PyDetokenizer>(instance.cast<PyDetokenizer&>());
  Archive archive{std::string_view(state)};
  archive(restored->has_ended, restored->detokenizer);
  archive.end();
  restored->texts = archive.texts();
  return restored;
}

py::list spans(PyDetokenizer& self) {
  const StateGuard guard(self.lock);
  py::list pieces;
  for (const Piece& piece : self.detokenizer.take_pieces())
    pieces.append(py::make_tuple(py::str(piece.text), py::cast(piece.ids)));
  return pieces;
}

void register_detokenizer(py::module_& module) {
  NativeClass<PyDetokenizer> detokenizer(module, "Detokenizer", py::is_final());
  detokenizer
      .def_init(py::init(&make_detokenizer), py::arg("vocabulary"),
                py::arg("skip_special_tokens") = true, py::arg("stop") = py::tuple(), py::kw_only(),
                py::arg("include_stop") = false, py::arg("exact") = false,
                py::arg("clean_up_tokenization_spaces") = false, py::arg("context") = py::tuple())
      .def("spans", &spans)
      .def("snapshot", &snapshot, py::kw_only(), py::arg("key") = py::bytes())
      .def_static("restore", &restore, py::arg("snapshot"), py::arg("vocabulary"), py::kw_only(),
                  py::arg("key") = py::bytes())
      .def("fork",
           [](const PyDetokenizer& self) {
             const StateGuard guard(self.lock);
             return std::make_unique<PyDetokenizer>(self);
           })
      .def_property_readonly("is_stopped",
                             [](const PyDetokenizer& self) {
                               const StateGuard guard(self.lock);
                               return self.detokenizer.is_stopped();
                             })
      .def_property_readonly("stop_reason", [](const PyDetokenizer& self) {
        const StateGuard guard(self.lock);
        return text_or_none(self.detokenizer.stop_reason());
      });
  detokenizer.def_fast(kPutIds);
  detokenizer.def_fast(kEnd);
  refuse_pickle(detokenizer, "a Detokenizer", true);
}

}  // namespace

void register_vocabulary(py::module_& module) {
  NativeClass<Vocabulary, std::shared_ptr<Vocabulary>> vocabulary(module, "Vocabulary",
                                                                  py::is_final());
  vocabulary
      .def_init(py::init(&make_vocabulary), py::arg("tokens"), py::arg("added"),
                py::arg("steps") = py::list(), py::kw_only(), py::arg("is_bytes") = false,
                py::arg("joins_with_space") = false, py::arg("refuses_unknown") = false,
                py::arg("special_breaks_text") = false, py::arg("is_sentencepiece") = false)
      .def("to_bytes", &to_bytes)
      .def_static("from_bytes", &from_bytes, py::arg("data"))
      .def("__len__", &Vocabulary::size)
      .def("is_special", &Vocabulary::is_special, py::arg("id"))
      .def("is_added", &Vocabulary::is_added, py::arg("id"))
      .def("content", &content, py::arg("id"))
      .def(
          "find_added",
          [](const Vocabulary& self, const std::string& text) { return self.find_added(text); },
          py::arg("content"))
      .def(
          "token_bytes",
          [](const Vocabulary& self, TokenId id) { return py::bytes(std::string(self.bytes(id))); },
          py::arg("id"))
      .def_property_readonly("added_tokens", &added_tokens)
      .def("__repr__", [](const Vocabulary& self) {
        return "Vocabulary(" + std::to_string(self.size()) + " ids)";
      });
  // Tokenizers are read in Python, but belong to this class for the user.
  for (const char* source : {"from_file", "from_tokenizer", "from_tiktoken"}) {
    vocabulary.def_static(source, [source](const py::args& args, const py::kwargs& kwargs) {
      return load(source, args, kwargs);
    });
  }
  refuse_pickle(vocabulary, "a Vocabulary");
  register_detokenizer(module);
}

}  // namespace unspool::bindings
