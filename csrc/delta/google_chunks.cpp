// Google's generateContent: GenerateContentResponse objects without event names and without an end
// mark; without server-sent events, a JSON array of the same objects. Each answer is a candidate
// with parts. The usage comes with the last finish.
//
//   data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hm","thought":true}]},…
//   data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"index":0}],…
//   data: {…"parts":[{"functionCall":{"id":"call_1","name":"f","args":{}}}]},"index":0}],…
//   data: {…"parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{…},…
//
// Clients run a `functionCall` as soon as they have it, whatever the finish reason. So a call is
// sent when it is complete; one that is not is told in `finishMessage` alone. With
// `stream_arguments` the values come one by one in `partialArgs`, and an empty `functionCall` ends
// the call.
//
// A thought's signature is on the next call, or on the answer's last part, and carries the thought:
// some clients send back no other part of it. Every chunk has a part: the SDKs drop a turn from
// their history if one has none.
#include <algorithm>
#include <utility>

#include "delta/argument_reader.h"
#include "delta/wire_protocols.h"
#include "text/json_escape.h"

namespace unspool {

namespace {

/// The HTTP codes of Google's statuses; others are 500.
constexpr std::pair<std::string_view, int> kErrors[] = {
    {"INVALID_ARGUMENT", 400},   {"UNAUTHENTICATED", 401}, {"PERMISSION_DENIED", 403},
    {"NOT_FOUND", 404},          {"UNAVAILABLE", 503},     {"DEADLINE_EXCEEDED", 504},
    {"RESOURCE_EXHAUSTED", 429},
};

/// The call that is open, and those that did not end well.
struct GoogleCall {
  std::int32_t index = 0;
  std::string id = {};
  std::string name = {};
  std::string arguments = {};
  std::string broken = {};  // a line each
  bool is_open = false;
  ArgumentReader reader = {};  // of `arguments`

  void visit(Archive& archive) {
    archive(index, id, name, arguments, broken, is_open);
    archive.given(reader);
  }
};

void append_value(const ArgumentEvent& event, std::string& out) {
  out += "{\"jsonPath\":";
  append_json_line_string(to_json_path(event.path.get()), out);
  switch (event.kind) {
    case ArgumentKind::string:
      append_field("stringValue", event.text, out);
      if (!event.is_final) out += ",\"willContinue\":true";
      break;
    case ArgumentKind::null: out += ",\"nullValue\":\"NULL_VALUE\""; break;
    case ArgumentKind::boolean: out.append(",\"boolValue\":").append(event.text); break;
    default: out.append(",\"numberValue\":").append(event.text); break;
  }
  out += '}';
}

class GoogleChunks final : public WireWriter {
 public:
  explicit GoogleChunks(WireOptions wire_options)
      : WireWriter(std::move(wire_options), "",
                   {"candidates", "usageMetadata", "promptFeedback", "modelVersion", "responseId"}),
        calls_(static_cast<std::size_t>(options().n)) {
    append_field("modelVersion", options().model, tail_);
    append_field("responseId", options().id, tail_);
    tail_.append(extra()).append("}");
    for (std::int32_t choice = 0; choice < options().n; ++choice) thought(choice).carry_text();
  }

  std::unique_ptr<WireWriter> clone() const override {
    return std::make_unique<GoogleChunks>(*this);
  }

 protected:
  void visit_own(Archive& archive) override {
    archive.given(tail_);
    archive.scratch(open_, choice_, span_end_, values_, taken_);
    archive(calls_, has_chunks_, finished_count_);
    archive.index(last_, static_cast<std::size_t>(options().n));
    archive.expect(calls_.size() == static_cast<std::size_t>(options().n) && last_ >= 0 &&
                   finished_count_ >= 0 && finished_count_ <= options().n);
    if (!archive.is_reading() || !options().stream_arguments) return;
    // A reader's state follows from what it has read.
    for (GoogleCall& call : calls_) {
      if (!call.is_open) continue;
      Delta delta;
      delta.index = call.index;
      for (const EventKind kind : {EventKind::tool_call_begin, EventKind::tool_call_arguments}) {
        delta.kind = kind;
        call.reader.put(delta, values_);
        delta.text = call.arguments;
      }
    }
    values_.clear();
  }

  void do_begin(std::string&) override {}

  // A fragment of arguments writes nothing, or values.
  bool signs_thoughts() const override { return true; }

  bool has_frames(EventKind kind) const override { return kind != EventKind::tool_call_arguments; }

  void put(const Delta& delta, std::string& out) override {
    GoogleCall& call = calls_[static_cast<std::size_t>(delta.choice)];
    switch (delta.kind) {
      case EventKind::tool_call_begin: return begin_call(delta, call, out);
      case EventKind::tool_call_arguments: return add_arguments(delta, call, out);
      case EventKind::tool_call_end:
        return delta.status == CallStatus::complete ? end_call(delta, call, out) : break_call(call);
      case EventKind::finish:
        break_call(call);
        // The last finish waits for `end`, because the usage belongs to it and is not known yet.
        if (++finished_count_ == options().n) {
          last_ = delta.choice;
        } else {
          write_finish(delta.choice, nullptr, out);
        }
        return;
      default: break;
    }
    if (Parts::text_of(delta).empty()) return;
    break_call(call);
    const Chunk wanted = delta.kind == EventKind::reasoning ? Chunk::thought : Chunk::text;
    if (open_ != wanted || choice_ != delta.choice) {
      open_chunk(delta.choice, out);
      open_ = wanted;
      out += "{\"text\":\"";
    }
    span_end_ = delta.span.end;
    append_json_line_escaped(delta.text, out);
  }

  void flush(std::string& out) override {
    if (open_ == Chunk::none) return;
    out += std::exchange(open_, Chunk::none) == Chunk::thought ? "\",\"thought\":true}" : "\"}";
    close_chunk(out);
  }

  void do_end(const Ending& ending, std::string& out) override {
    write_finish(last_, &ending.usage, out);
    if (!framing().is_sse()) out += ']';
  }

  void do_fail(const WireError& error, std::string& out) override {
    open_response(out);
    do_fail_whole(error, out);
    end_response(out);
    if (!framing().is_sse()) out += ']';
  }

  void do_fail_whole(const WireError& error, std::string& out) override {
    const auto* known = std::find_if(std::begin(kErrors), std::end(kErrors),
                                     [&](const auto& one) { return one.first == error.type; });
    out += "{\"error\":{\"code\":";
    append_number(std::int64_t{known == std::end(kErrors) ? 500 : known->second}, out);
    append_field("message", error.message, out);
    append_field("status", error.type, out);
    out += "}}";
  }

  void do_body(const Ending& ending, std::string& out) override {
    out += "{\"candidates\":[";
    for (std::int32_t choice = 0; choice < options().n; ++choice) {
      if (choice > 0) out += ',';
      out += kCandidate;
      GoogleCall& calls = calls_[static_cast<std::size_t>(choice)];
      for (const Part& part : parts(choice)) append_part(part, choice, calls, out);
      close_candidate(choice, true, ~std::uint64_t{0}, out);
    }
    close_candidates(&ending.usage, out);
  }

  // Google's SDK for Python takes a comment for a response. An empty frame is white space, which
  // may stand in an array too.
  void do_keep_alive(std::string& out) const override { out += "\n\n"; }

  std::string_view default_error_type() const override { return "INTERNAL"; }

 private:
  /// The part of the open chunk.
  enum class Chunk : std::uint8_t { none, text, thought };

  static constexpr std::string_view kCandidate = "{\"content\":{\"role\":\"model\",\"parts\":[";

  void begin_call(const Delta& delta, GoogleCall& call, std::string& out) {
    break_call(call);
    call.is_open = true;
    call.index = delta.index;
    call.id = delta.id;
    call.name = delta.name;
    call.arguments.clear();
    if (!options().stream_arguments) return;
    call.reader.put(delta, values_);
    open_call(delta, out);
    append_head(call.id, call.name, out);
    out += ",\"willContinue\":true}";
    close_part(delta.choice, out);
    close_chunk(out);
  }

  void add_arguments(const Delta& delta, GoogleCall& call, std::string& out) {
    call.arguments += delta.text;
    if (!options().stream_arguments) return;
    values_.clear();
    call.reader.put(delta, values_);
    std::erase_if(values_, [](const ArgumentEvent& value) {
      // These have no form in the protocol: they follow from the paths of what is in them.
      return value.kind == ArgumentKind::object || value.kind == ArgumentKind::array;
    });
    if (values_.empty()) return;
    open_call(delta, out);
    out += "\"partialArgs\":";
    char before = '[';
    for (const ArgumentEvent& value : values_) {
      out += std::exchange(before, ',');
      append_value(value, out);
    }
    out += "],\"willContinue\":true}}";
    close_chunk(out);
  }

  void end_call(const Delta& delta, GoogleCall& call, std::string& out) {
    if (options().stream_arguments) {
      open_call(delta, out);
      out += "}}";
      close_chunk(out);
    } else {
      std::string part;
      if (!append_call(call.id, call.name, call.arguments, part)) return break_call(call);
      open_chunk(delta.choice, out);
      span_end_ = delta.span.end;
      out += part;
      close_part(delta.choice, out);
      close_chunk(out);
    }
    call.is_open = false;
  }

  // The open call, if there is one, will not be complete.
  static void break_call(GoogleCall& call) {
    if (!std::exchange(call.is_open, false)) return;
    add_broken(call.name, call.arguments, call);
  }

  static void add_broken(std::string_view name, std::string_view arguments, GoogleCall& call) {
    call.broken.append(call.broken.empty() ? "Malformed function call: " : "\n");
    call.broken.append(name).append(" ").append(arguments);
  }

  void open_call(const Delta& delta, std::string& out) {
    open_chunk(delta.choice, out);
    span_end_ = delta.span.end;
    out += "{\"functionCall\":{";
  }

  static void append_head(std::string_view id, std::string_view name, std::string& out) {
    out += "\"id\":";
    append_json_line_string(id, out);
    append_field("name", name, out);
  }

  // False if the arguments are no object, which a host may have said of them.
  static bool append_call(std::string_view id, std::string_view name, std::string_view arguments,
                          std::string& out) {
    out += "{\"functionCall\":{";
    append_head(id, name, out);
    out += ",\"args\":";
    if (!append_json_object(arguments, out)) return false;
    out += '}';
    return true;
  }

  // Signs the thoughts before it.
  void close_part(std::int32_t choice, std::string& out) {
    if (thought(choice).has_text()) append_field("thoughtSignature", thought(choice).take(), out);
    out += '}';
  }

  // A part of a body, and a comma before it if it is not the first.
  void append_part(const Part& part, std::int32_t choice, GoogleCall& calls, std::string& out) {
    if (part.kind == PartKind::reasoning) thought(choice).add(part.text);
    std::string written;
    if (part.kind != PartKind::call) {
      written += "{\"text\":";
      append_json_line_string(part.text, written);
      written += part.kind == PartKind::reasoning ? ",\"thought\":true}" : "}";
    } else if (part.status != CallStatus::complete ||
               !append_call(part.id, part.name, part.text, written)) {
      return add_broken(part.name, part.text, calls);
    }
    if (out.back() == '}') out += ',';
    out += written;
    if (part.kind == PartKind::call) close_part(choice, out);
  }

  void open_response(std::string& out) {
    if (framing().is_sse()) return framing().open({}, out);
    out += std::exchange(has_chunks_, true) ? ",\n" : "[";
  }

  void end_response(std::string& out) const {
    if (framing().is_sse()) framing().close(out);
  }

  void open_chunk(std::int32_t choice, std::string& out) {
    flush(out);
    choice_ = choice;
    open_response(out);
    out.append("{\"candidates\":[").append(kCandidate);
  }

  void close_chunk(std::string& out) {
    close_candidate(choice_, false, std::exchange(span_end_, 0), out);
    close_candidates(nullptr, out);
    end_response(out);
  }

  void write_finish(std::int32_t choice, const Usage* usage, std::string& out) {
    open_chunk(choice, out);
    close_candidate(choice, true, ~std::uint64_t{0}, out);
    close_candidates(usage, out);
    end_response(out);
  }

  // `end`: the log-probabilities of the positions before it are due.
  void close_candidate(std::int32_t choice, bool is_last, std::uint64_t end, std::string& out) {
    if (out.back() == '[' || (is_last && thought(choice).has_text())) {
      out += out.back() == '[' ? "{\"text\":\"\"" : ",{\"text\":\"\"";
      close_part(choice, out);
    }
    out += "]}";
    if (is_last) append_finish(choice, out);
    append_field("index", std::int64_t{choice}, out);
    taken_.clear();
    if (logprobs(choice).is_used()) logprobs(choice).take(end, taken_);
    if (!taken_.empty()) {
      out += ",\"logprobsResult\":";
      append_google_logprobs(taken_, out);
    }
    out += '}';
  }

  void append_finish(std::int32_t choice, std::string& out) const {
    std::string_view reason = "OTHER";  // the model failed, or was cancelled
    if (finish_reason(choice) == FinishReason::tool_calls) reason = "STOP";
    if (finish_reason(choice) == FinishReason::length) reason = "MAX_TOKENS";
    if (finish_reason(choice) == FinishReason::stop)
      reason = has_broken_call(choice) ? "MALFORMED_FUNCTION_CALL" : "STOP";
    append_field("finishReason", reason, out);
    const std::string& broken = calls_[static_cast<std::size_t>(choice)].broken;
    if (!broken.empty()) append_field("finishMessage", broken, out);
  }

  void close_candidates(const Usage* usage, std::string& out) const {
    out += ']';
    if (usage != nullptr) {
      out += ",\"usageMetadata\":";
      append_google_usage(*usage, out);
    }
    out += tail_;
  }

  std::string tail_;  // what every response ends with
  std::vector<GoogleCall> calls_;
  bool has_chunks_ = false;
  Chunk open_ = Chunk::none;
  std::int32_t choice_ = 0;
  std::uint64_t span_end_ = 0;  // of the open chunk
  std::int32_t finished_count_ = 0;
  std::int32_t last_ = 0;  // the answer whose finish has not been sent
  std::vector<ArgumentEvent> values_;
  std::vector<TokenLogprob> taken_;
};

}  // namespace

std::unique_ptr<WireWriter> make_google_chunks(WireOptions options) {
  return std::make_unique<GoogleChunks>(std::move(options));
}

}  // namespace unspool
