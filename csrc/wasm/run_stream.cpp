// A C interface to one stream for WebAssembly. JSON in and out, so that JavaScript needs no layout
// of structs. Every function leaves its answer in `unspool_answer`.
//
//   stream = unspool_begin(request)      0: unspool_answer has {"error": …}
//   unspool_put(stream, bytes)           a step: deltas, what is held, and why
//   unspool_finish(stream, reason)       the last step, with the message
//   unspool_end(stream)
//
// One answer at a time is enough: JavaScript has one thread, and copies the answer before its next
// call. The playground shows every byte's fate, so the audit is always on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body/repairs.h"
#include "delta/argument_reader.h"
#include "delta/chat_writer.h"
#include "format/lower_shape.h"
#include "format/named_values.h"
#include "format/other_families.h"
#include "format/pattern_file.h"
#include "format/read_shape.h"
#include "format/tool_schemas.h"
#include "stream/chunk_parser.h"
#include "template/read_format.h"
#include "text/error.h"
#include "text/json_escape.h"
#include "text/json_value.h"

namespace unspool {

namespace {

/// A stream, and what its steps add up to.
struct Stream {
  Stream(std::shared_ptr<const Format> format, ChunkParserOptions options)
      : parser(std::move(format), std::move(options)) {}

  ChunkParser parser;
  ReasoningField field = ReasoningField::reasoning_content;
  ArgumentReader arguments;
  Events events;
  std::vector<Events::Audited> audit;
};

// A global, since its memory must outlive the call; JavaScript reads it by address.
std::string answer;

/// Writes the members of a JSON object.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  ~ObjectWriter() { out_ += '}'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  /// Begins a member, whose value the caller appends.
  std::string& key(std::string_view name) {
    if (!std::exchange(is_first_, false)) out_ += ',';
    append_json_string(name, out_);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name, std::string_view value) { append_json_string(value, key(name)); }
  void number(std::string_view name, std::int64_t value) { key(name) += std::to_string(value); }
  void flag(std::string_view name, bool value) { key(name) += value ? "true" : "false"; }

 private:
  std::string& out_;
  bool is_first_ = true;
};

template <typename List, typename Append>
void append_list(const List& list, std::string& out, Append&& append) {
  out += '[';
  bool is_first = true;
  for (const auto& item : list) {
    if (!std::exchange(is_first, false)) out += ',';
    append(item);
  }
  out += ']';
}

// ---- the request

std::string_view text_of(const JsonValue& request, std::string_view name) {
  const JsonValue* value = request.find(name);
  return value != nullptr && value->is(JsonValue::Kind::string) ? std::string_view(value->text)
                                                                : std::string_view();
}

bool flag_of(const JsonValue& request, std::string_view name, bool initial) {
  const JsonValue* value = request.find(name);
  return value != nullptr && value->is(JsonValue::Kind::boolean) ? value->is_true : initial;
}

Program program_of(const JsonValue& request) {
  const JsonValue* patterns = request.find("format");
  if (patterns == nullptr) throw ArgumentError("format is missing");
  ReasoningUse use;
  use.is_on = flag_of(request, "has_reasoning", true);
  const JsonValue* other = request.find("reasoning");
  if (other != nullptr && other->is(JsonValue::Kind::object))
    use.other = lower_shape(read_shape(PatternFile::read(*other)));
  if (const auto* word =
          find_word(kCallsInReasoning, text_of(request, "tool_calls_in_reasoning"))) {
    use.calls = word->value;
  }
  return with_reasoning(lower_shape(read_shape(PatternFile::read(*patterns))), use);
}

std::shared_ptr<const ToolSchemas> tools_of(const JsonValue& request) {
  const JsonValue* tools = request.find("tools");
  if (tools == nullptr || tools->is(JsonValue::Kind::null)) return nullptr;
  std::string json;
  append_json(*tools, json);
  return read_tools(json);
}

ToolUse tool_use_of(const JsonValue& request, const ToolSchemas* tools) {
  ToolUse use;
  const std::string_view choice = text_of(request, "tool_choice");
  // An empty list of tools means that there are none to call.
  use.is_on = choice != "none" && (tools == nullptr || !tools->tools.empty());
  use.is_required = choice == "required" || choice == "any";
  const bool is_word = choice.empty() || choice == "auto" || choice == "none";
  // Any other word is the name of a tool.
  if (is_word || use.is_required) return use;
  use.name = choice;
  if (tools != nullptr && tools->find(use.name) == nullptr) {
    throw ArgumentError("tool_choice is '" + use.name +
                        "'; use 'auto', 'none', 'required' or the name of one of the tools");
  }
  return use;
}

/// The families of `also`, a list of their patterns. The last set is kept: a run begins its stream
/// twice, and the page begins one for each change of its text.
std::shared_ptr<const OtherFamilies> others_of(const JsonValue& request) {
  static std::string kept_json;
  static std::shared_ptr<const OtherFamilies> kept;
  const JsonValue* also = request.find("also");
  if (also == nullptr || !also->is(JsonValue::Kind::array)) return nullptr;
  std::string json;
  append_json(*also, json);
  if (json != kept_json) {
    std::vector<Program> programs;
    for (const JsonValue& patterns : also->items)
      programs.push_back(lower_shape(read_shape(PatternFile::read(patterns))));
    kept = std::make_shared<OtherFamilies>(programs);
    kept_json = std::move(json);
  }
  return kept;
}

std::unique_ptr<Stream> stream_of(const JsonValue& request) {
  ChunkParserOptions options;
  ParserOptions& parser = options.parser;
  parser.tools = tools_of(request);
  parser.audit = true;
  // The page shows the same ids every time.
  parser.id_seed = 1;
  parser.repair = flag_of(request, "repair", false);
  parser.parallel_calls = flag_of(request, "parallel_tool_calls", true);
  const std::string_view unknown = text_of(request, "unknown_tools");
  if (unknown == "content") parser.unknown_tools = UnknownTools::content;
  if (unknown == "drop-with-report") parser.unknown_tools = UnknownTools::drop;
  const std::string_view fences = text_of(request, "calls_in_fences");
  if (fences == "keep") parser.calls_in_fences = CallsInFences::keep;
  if (fences == "call") parser.calls_in_fences = CallsInFences::call;
  if (text_of(request, "white_space") == "trim") parser.white_space = WhiteSpace::trim;
  const std::string_view start = text_of(request, "start_in");
  if (start == "content" || start == "reasoning") parser.starts_in_reasoning = start == "reasoning";
  const ToolUse use = tool_use_of(request, parser.tools.get());
  auto stream = std::make_unique<Stream>(
      Format::compile(for_tools(program_of(request), use), {}, MarkerTrust::by_id,
                      use.is_on ? others_of(request) : nullptr),
      std::move(options));
  if (text_of(request, "reasoning_field") == "reasoning") stream->field = ReasoningField::reasoning;
  const JsonValue* prompt = request.find("prompt");
  if (prompt != nullptr && prompt->is(JsonValue::Kind::string))
    stream->parser.put_prompt(std::string_view(prompt->text));
  return stream;
}

// ---- the answer

Delta delta_of(const Events& events, const Event& event) {
  Delta delta;
  delta.kind = event.kind;
  delta.index = event.index;
  delta.status = event.status;
  delta.finish_reason = event.finish_reason;
  // A begin's text is the family in whose way the call is written.
  if (event.kind != EventKind::tool_call_begin) delta.text = events.text(event);
  delta.id = events.id(event);
  delta.name = events.name(event);
  delta.reason = event.reason;
  return delta;
}

void append_delta(const Delta& delta, ReasoningField field, std::string& out) {
  ObjectWriter object(out);
  object.text("kind", to_string(delta.kind));
  object.text("text", delta.text);
  object.flag("is_content", is_wire_content(delta));
  append_chat_delta(delta, field, object.key("wire"));
  if (delta.index >= 0) object.number("index", delta.index);
  if (delta.kind == EventKind::tool_call_begin) {
    if (!delta.id.empty()) object.text("id", delta.id);
    if (!delta.name.empty()) object.text("name", delta.name);
  }
  if (delta.kind == EventKind::tool_call_end) object.text("status", to_string(delta.status));
  if (!delta.reason.empty()) object.text("reason", delta.reason);
  if (delta.kind == EventKind::finish) object.text("finish_reason", to_string(delta.finish_reason));
}

void append_path(const ArgumentPath* path, std::string& out) {
  if (path == nullptr) return;
  if (path->parent) {
    append_path(path->parent.get(), out);
    out += ',';
  }
  if (path->index >= 0) {
    out += std::to_string(path->index);
  } else {
    append_json_string(path->key, out);
  }
}

void append_argument(const ArgumentEvent& event, std::string& out) {
  ObjectWriter object(out);
  object.number("call", event.call);
  object.key("path") += '[';
  append_path(event.path.get(), out);
  out += ']';
  object.text("kind", to_string(event.kind));
  object.text("text", event.text);
  object.flag("is_final", event.is_final);
}

void append_hex(std::string_view bytes, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  out += '"';
}

std::string_view region_name(Region region) {
  switch (region) {
    case Region::content: return "content";
    case Region::reasoning: return "reasoning";
    case Region::tool_call: return "tool_call";
  }
  return {};
}

/// The deltas of the last put, the values of calls that they make known, and what is held back: its
/// bytes in hexadecimal, since they may end inside a character.
void append_step(Stream& stream, ObjectWriter& object) {
  std::vector<Delta> deltas;
  std::vector<ArgumentEvent> arguments;
  for (const Event& event : stream.events.list()) {
    deltas.push_back(delta_of(stream.events, event));
    stream.arguments.put(deltas.back(), arguments);
  }
  std::string& out = object.key("deltas");
  append_list(deltas, out, [&](const Delta& delta) { append_delta(delta, stream.field, out); });
  append_list(arguments, object.key("arguments"),
              [&](const ArgumentEvent& event) { append_argument(event, out); });
  object.text("region", region_name(stream.parser.region()));
  const Held held = stream.parser.held();
  append_hex(held.text(), object.key("held"));
  object.text("reason", to_string(held.reason()));
  append_list(held.markers(), object.key("markers"),
              [&](std::string_view marker) { append_json_string(marker, out); });
  append_audit(stream.events.audit(), stream.audit);
}

void append_reports(const std::vector<Malformed>& reports, std::string& out) {
  append_list(reports, out, [&](const Malformed& report) {
    ObjectWriter object(out);
    object.text("text", report.text);
    object.text("reason", report.reason);
    object.key("index") += report.index < 0 ? "null" : std::to_string(report.index);
  });
}

void append_message(const Stream& stream, std::string& out) {
  const Message& message = stream.parser.message();
  ObjectWriter object(out);
  object.text("content", message.content);
  object.text("reasoning", message.reasoning);
  object.text("finish_reason", to_string(message.finish_reason));
  append_list(message.tool_calls, object.key("calls"), [&](const ToolCall& call) {
    ObjectWriter item(out);
    std::string& written_as = item.key("written_as");
    if (call.written_as) {
      append_json_string(*call.written_as, written_as);
    } else {
      written_as += "null";
    }
    item.text("id", call.id);
    item.text("name", call.name);
    item.text("arguments", call.arguments);
    item.text("status", to_string(call.status));
    std::vector<std::string_view> repairs;
    for_each_repair(call.repairs, [&](std::size_t i) { repairs.push_back(kRepairNames[i]); });
    append_list(repairs, item.key("repairs"),
                [&](std::string_view name) { append_json_string(name, out); });
  });
  append_reports(message.malformed, object.key("malformed"));
  append_reports(message.dropped, object.key("dropped"));
  append_list(stream.audit, object.key("audit"), [&](const Events::Audited& item) {
    out += '[';
    append_json_string(to_string(item.fate), out);
    out += ',';
    append_json_string(item.text, out);
    out += ']';
  });
}

FinishReason finish_reason_of(std::string_view name) {
  for (const FinishReason reason :
       {FinishReason::length, FinishReason::error, FinishReason::cancelled}) {
    if (to_string(reason) == name) return reason;
  }
  return FinishReason::stop;
}

/// Runs `use`. False: it has thrown, and the answer is `{"error": …}`.
template <typename Use>
bool answers(Use&& use) {
  answer.clear();
  try {
    use();
    return true;
  } catch (const std::exception& error) {
    answer.clear();
    ObjectWriter(answer).text("error", error.what());
    return false;
  }
}

}  // namespace
}  // namespace unspool

using unspool::answer;

extern "C" {

__attribute__((export_name("unspool_allocate"))) void* unspool_allocate(std::size_t size) {
  return std::malloc(size);
}

__attribute__((export_name("unspool_release"))) void unspool_release(void* memory) {
  std::free(memory);
}

__attribute__((export_name("unspool_answer"))) const char* unspool_answer() {
  return answer.data();
}

__attribute__((export_name("unspool_answer_size"))) std::size_t unspool_answer_size() {
  return answer.size();
}

/// Begins a stream. `request`: JSON with the format's patterns, the tools and the options. Null:
/// the answer is an error.
__attribute__((export_name("unspool_begin"))) void* unspool_begin(const char* request,
                                                                  std::size_t size) {
  std::unique_ptr<unspool::Stream> stream;
  unspool::answers([&] {
    // A schema may be nested deeper than is read; that part then allows anything.
    const auto json = unspool::parse_json({request, size}, unspool::DeepJson::null);
    if (!json) throw unspool::ArgumentError("the request is not JSON");
    stream = unspool::stream_of(*json);
  });
  // JavaScript owns it, up to unspool_end.
  return stream.release();
}

/// Parses bytes, cut anywhere. The answer is a step.
__attribute__((export_name("unspool_put"))) bool unspool_put(unspool::Stream* stream,
                                                             const char* bytes, std::size_t size) {
  return unspool::answers([&] {
    stream->events.clear();
    stream->parser.put_text({bytes, size}, stream->events);
    unspool::ObjectWriter object(answer);
    append_step(*stream, object);
  });
}

/// Ends the stream. The answer is a step with the whole message.
__attribute__((export_name("unspool_finish"))) bool unspool_finish(unspool::Stream* stream,
                                                                   const char* reason,
                                                                   std::size_t size) {
  return unspool::answers([&] {
    stream->events.clear();
    stream->parser.put_text({}, stream->events);
    stream->parser.finish(unspool::finish_reason_of({reason, size}), stream->events);
    unspool::ObjectWriter object(answer);
    append_step(*stream, object);
    append_message(*stream, object.key("message"));
  });
}

__attribute__((export_name("unspool_end"))) void unspool_end(unspool::Stream* stream) {
  delete stream;
}

}  // extern "C"
