#include "format/file_words.h"

#include <algorithm>

#include "text/json_value.h"

namespace unspool {

namespace {

using Kind = HoleKind;

constexpr FileKey kFileKeys[] = {
    {"name", KeyType::text, "The format's name."},
    {"models", KeyType::texts, "The models that write it."},
    {"aliases", KeyType::texts, "Other names of the format."},
    {"notes", KeyType::text, "Facts for users that the patterns do not show."},
    {"turn", KeyType::literals,
     "The end of the prompt, after which the model writes. If it ends with an opener of "
     "the reasoning or of a header, the answer starts inside it."},
    {"reasoning",
     KeyType::patterns,
     "The reasoning with the markup around it. A further alternative without a closer, "
     "`\"<think>${reasoning}\"`, says that models leave it out before a call: a call then ends the "
     "reasoning at once. If no alternative has a closer, only a call ends it.",
     {Kind::reasoning},
     {Kind::any},
     true},
    {"content",
     KeyType::patterns,
     "The answer's text, if there is markup around it. If the pattern is `\"${content}\"` alone, "
     "everything is content.",
     {Kind::content},
     {Kind::any},
     true},
    {"calls",
     KeyType::patterns,
     "All calls with the markup around them.",
     {Kind::calls},
     {Kind::any},
     true},
    {"call",
     KeyType::patterns,
     "One call.",
     {Kind::object, Kind::name, Kind::id},
     {Kind::arguments, Kind::parameters, Kind::key, Kind::value, Kind::index, Kind::repeats,
      Kind::any},
     true},
    {"parameter",
     KeyType::patterns,
     "One parameter, if a call has `${parameters}`.",
     {Kind::key},
     {Kind::value, Kind::type}},
    {"object",
     KeyType::patterns,
     "The JSON object of a call, if its keys are not `name` and `arguments`. A hole stands for a "
     "whole JSON value, so it has no quotes: `'{\"tool\": ${name}, \"input\": ${arguments}}'`.",
     {Kind::name},
     {Kind::arguments, Kind::id}},
    {"string",
     KeyType::patterns,
     "A quoted string, if the keys in `${arguments}` are bare: `\"<q>${value}<q>\"`.",
     {Kind::value}},
    {"header",
     KeyType::patterns,
     "A message's header, if its words may change their order: `\"<start>${_}<text>\"`. The words "
     "that other patterns have in a header may then come in any order.",
     {Kind::any}},
    {"id",
     KeyType::patterns,
     "The shape of a call's id: `\"${random:9}\"`, `\"functions.${name}:${index}\"`.",
     {Kind::name, Kind::random},
     {Kind::index}},
    {"end", KeyType::literals, "Texts that end an answer."},
    {"detect", KeyType::detect, "How `detect` recognises a model that writes this format."},
    {"example", KeyType::examples, "An output, and what the parser must return for it."},
};

// Read by Python: recognising a model needs its files, which the core does not open.
constexpr FileKey kDetectKeys[] = {
    {"template", KeyType::alternatives,
     "Texts that the chat template contains: all of them, and one of each inner list."},
    {"template_not", KeyType::texts, "Texts that the chat template does not contain."},
    {"tokens", KeyType::alternatives,
     "Added tokens of the tokenizer: all of them, and one of each inner list."},
    {"model_types", KeyType::texts, "`model_type` in config.json, if no other family has it."},
    {"shared_types", KeyType::texts,
     "`model_type` that several families have. It counts only if nothing else fits."},
    {"names", KeyType::texts, "Words of the checkpoint's name."},
    {"named", KeyType::flag, "The template counts only if the name or the model type fits too."},
};

constexpr FileKey kExampleKeys[] = {
    {"input", KeyType::text, "The output of the model."},
    {"content", KeyType::text, "The content in it. Without this key: none."},
    {"reasoning", KeyType::text, "The reasoning in it. Without this key: none."},
    {"calls", KeyType::list,
     "The calls in it, each with `name`, with `arguments` as JSON text, and with `id` if the model "
     "writes one."},
    {"tools", KeyType::list,
     "The request's tools: names, or tables with `name` and `parameters`. Without this key, the "
     "tools are not known."},
    {"prompt", KeyType::text, "The end of the prompt."},
};

constexpr HoleWord kHoles[] = {
    {"reasoning", Kind::reasoning, "The reasoning's text."},
    {"content", Kind::content, "The answer's text."},
    {"calls", Kind::calls, "All calls."},
    {"name", Kind::name, "The tool's name."},
    {"id", Kind::id, "The call's id."},
    {"index", Kind::index, "The call's number, counted from 0, or with `${index:1}` from 1."},
    {"random", Kind::random, "Random letters and digits. `${random:9}` stands for nine of them."},
    {"arguments", Kind::arguments, "All arguments, as one JSON object."},
    {"object", Kind::object, "Name and arguments, as one JSON object."},
    {"parameters", Kind::parameters, "All parameters, each in the form of `parameter`."},
    {"key", Kind::key, "A parameter's name."},
    {"value", Kind::value, "A parameter's value."},
    {"type", Kind::type,
     "The name of a parameter's JSON type, or `str`, `int`, `num`, `float`, `bool`, `list`, "
     "`dict`. "
     "A value that does not fit it is a string."},
    {"...", Kind::repeats,
     "Repeats what precedes it. The text between is the separator: `[${object}, ${...}]`."},
    {"_", Kind::any, "Any text."},
};

constexpr OptionWord kOptions[] = {
    {"verbatim",
     "Text, even if it looks like JSON: a value is always a string. Reasoning is always read so."},
    {"json", "JSON if it parses as JSON, else text."},
    {"python", "Python literals count too: `True`, `'text'`."},
    {"xml", "`&lt;` stands for `<`."},
};

constexpr std::string_view kTypeNames[] = {"text", "texts", "alternatives", "literals", "patterns",
                                           "flag", "list",  "detect",       "examples"};

JsonValue words_of(std::span<const FileKey> keys) {
  JsonValue list;
  list.kind = JsonValue::Kind::array;
  for (const FileKey& key : keys) {
    JsonValue holes;
    holes.kind = JsonValue::Kind::array;
    for (const HoleWord& hole : kHoles) {
      if (key.must_have_one.has(hole.kind) || key.may_have.has(hole.kind))
        holes.items.push_back(JsonValue::of_string(hole.name));
    }
    JsonValue word = JsonValue::object();
    word.set("name", JsonValue::of_string(key.name));
    word.set("type", JsonValue::of_string(kTypeNames[static_cast<std::size_t>(key.type)]));
    word.set("meaning", JsonValue::of_string(key.meaning));
    word.set("holes", std::move(holes));
    list.items.push_back(std::move(word));
  }
  return list;
}

template <typename Word>
JsonValue words_of(std::span<const Word> words) {
  JsonValue list;
  list.kind = JsonValue::Kind::array;
  for (const Word& each : words) {
    JsonValue word = JsonValue::object();
    word.set("name", JsonValue::of_string(each.name));
    word.set("meaning", JsonValue::of_string(each.meaning));
    list.items.push_back(std::move(word));
  }
  return list;
}

}  // namespace

std::span<const FileKey> file_keys() { return kFileKeys; }
std::span<const FileKey> detect_keys() { return kDetectKeys; }
std::span<const FileKey> example_keys() { return kExampleKeys; }
std::span<const HoleWord> hole_words() { return kHoles; }
std::span<const OptionWord> option_words() { return kOptions; }

std::string_view name_of(HoleKind kind) {
  const auto found = std::find_if(std::begin(kHoles), std::end(kHoles),
                                  [&](const HoleWord& word) { return word.kind == kind; });
  return found->name;
}

const FileKey* find_key(std::span<const FileKey> keys, std::string_view name) {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const FileKey& key) { return key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

std::string file_words_json() {
  JsonValue all = JsonValue::object();
  all.set("keys", words_of(file_keys()));
  all.set("detect", words_of(detect_keys()));
  all.set("example", words_of(example_keys()));
  all.set("holes", words_of(hole_words()));
  all.set("options", words_of(option_words()));
  std::string json;
  append_json(all, json);
  return json;
}

}  // namespace unspool
