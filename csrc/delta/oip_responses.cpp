// Open Inference Protocol v2: one InferenceResponse a step, as MLServer's clients read them. Output
// `output` is the content (all of them joined are the content), `delta` the chat delta as JSON
// text; the parameters say which answer, what kind of step, and on an answer's last one how it
// ended. The last of all comes with `end`, and has the usage if it was asked for. There is no
// end mark.
//
// A response of a stream, shortened:
//
//   {"model_name":"m","id":"1","parameters":{"event":"content","index":0},
//    "outputs":[{"name":"output",…,"data":["Hi"]},{"name":"delta",…,"data":["{\"content\":\"Hi\"}"]
//
// A step of text is held in `pending_` until `flush`, because `output` and `delta` both repeat it.
#include <utility>

#include "delta/wire_protocols.h"
#include "text/json_escape.h"

namespace unspool {

namespace {

constexpr std::string_view kChunkOfText =
    "\"shape\":[1,1],\"datatype\":\"BYTES\",\"parameters\":{\"content_type\":\"str\"},\"data\":[\"";
constexpr std::string_view kChunkOfJson =
    "\"shape\":[1,1],\"datatype\":\"BYTES\",\"parameters\":{\"content_type\":\"json\"},\"data\":["
    "\"";

class OipResponses final : public WireWriter {
 public:
  explicit OipResponses(WireOptions wire_options)
      : WireWriter(std::move(wire_options), "", {"id", "model_name", "parameters", "outputs"}) {
    head_ = "{\"model_name\":";
    append_json_line_string(options().model, head_);
    append_field("id", options().id, head_);
    head_ += extra();
  }

  std::unique_ptr<WireWriter> clone() const override {
    return std::make_unique<OipResponses>(*this);
  }

 protected:
  void visit_own(Archive& archive) override {
    archive.given(head_);
    archive.scratch(event_, choice_, pending_, scratch_);
    archive(finished_count_);
    archive.index(last_, static_cast<std::size_t>(options().n));
    archive.expect(finished_count_ >= 0 && finished_count_ <= options().n && last_ >= 0);
  }

  void do_begin(std::string&) override {}

  void put(const Delta& delta, std::string& out) override {
    if (delta.kind == EventKind::finish) {
      flush(out);
      // The last finish waits for `end`, because the usage belongs to it and is not known yet.
      if (++finished_count_ == options().n) {
        last_ = delta.choice;
      } else {
        write_finish(delta.choice, nullptr, out);
      }
      return;
    }
    if (event_of(delta).empty()) return;
    // Fragments after a call's head join it: one response has the head and the first arguments.
    const bool goes_on = !event_.empty() && event_of(delta) == event_ && choice_ == delta.choice &&
                         delta.kind != EventKind::tool_call_begin;
    if (!goes_on) {
      flush(out);
      event_ = event_of(delta);
      choice_ = delta.choice;
      pending_.kind = delta.kind;
      pending_.index = delta.index;
      pending_.id = delta.id;
      pending_.name = delta.name;
      pending_.text.clear();
    }
    pending_.text += delta.text;
  }

  void flush(std::string& out) override {
    if (event_.empty()) return;
    const bool is_content = is_wire_content(pending_);
    open_response(event_, choice_, out);
    scratch_.clear();
    append_delta();
    close_with_outputs(is_content ? std::string_view(pending_.text) : "", scratch_, out);
    event_ = {};
  }

  void do_end(const Ending& ending, std::string& out) override {
    write_finish(last_, options().include_usage ? &ending.usage : nullptr, out);
  }

  // In band, because MLServer has already sent its headers.
  void do_fail(const WireError& error, std::string& out) override {
    open_response("error", -1, out);
    out += "},\"outputs\":[";
    open_output("error", kChunkOfJson, out);
    scratch_.clear();
    append_openai_error(error.message, error.type, error.code, scratch_);
    append_json_line_escaped(scratch_, out);
    out += "\"]}]}";
    framing().close(out);
  }

  void do_fail_whole(const WireError& error, std::string& out) override {
    out += "{\"error\":";
    append_json_line_string(error.message, out);
    out += '}';
  }

  // One row per answer.
  void do_body(const Ending& ending, std::string& out) override {
    out.append(head_).append(",\"parameters\":{\"finish_reason\":");
    const std::int32_t n = options().n;
    if (n > 1) out += '[';
    for (std::int32_t choice = 0; choice < n; ++choice) {
      if (choice > 0) out += ',';
      append_json_line_string(to_string(finish_reason(choice)), out);
    }
    if (n > 1) out += ']';
    append_counts(ending.usage, out);
    out += "},\"outputs\":[";
    open_rows("output", "str", out);
    for (std::int32_t choice = 0; choice < n; ++choice) {
      out += choice > 0 ? ",\"" : "\"";
      for (const Part& part : parts(choice)) {
        if (part.kind == PartKind::text) append_json_line_escaped(part.text, out);
      }
      out += '"';
    }
    out += "]},";
    open_rows("message", "json", out);
    for (std::int32_t choice = 0; choice < n; ++choice) {
      if (choice > 0) out += ',';
      scratch_.clear();
      append_chat_message(parts(choice), options().reasoning_field, scratch_);
      append_json_line_string(scratch_, out);
    }
    out += "]}]}";
  }

  bool has_logprobs() const override { return false; }

 private:
  static std::string_view event_of(const Delta& delta) {
    switch (delta.kind) {
      case EventKind::tool_call_begin: return "tool_call";
      case EventKind::tool_call_arguments: return delta.text.empty() ? "" : "tool_call";
      case EventKind::reasoning: return delta.text.empty() ? "" : "reasoning";
      default: return is_wire_content(delta) && !delta.text.empty() ? "content" : "";
    }
  }

  static void open_output(std::string_view name, std::string_view rest, std::string& out) {
    out.append("{\"name\":\"").append(name).append("\",").append(rest);
  }

  void open_rows(std::string_view name, std::string_view content_type, std::string& out) const {
    out.append("{\"name\":\"").append(name).append("\",\"shape\":[");
    append_number(std::int64_t{options().n}, out);
    out.append(",1],\"datatype\":\"BYTES\",\"parameters\":{\"content_type\":\"")
        .append(content_type)
        .append("\"},\"data\":[");
  }

  void open_response(std::string_view event, std::int32_t choice, std::string& out) const {
    framing().open({}, out);
    out.append(head_).append(",\"parameters\":{\"event\":\"").append(event).append("\"");
    if (choice >= 0) append_field("index", std::int64_t{choice}, out);
  }

  void write_finish(std::int32_t choice, const Usage* usage, std::string& out) {
    open_response("finish", choice, out);
    append_field("finish_reason", to_string(finish_reason(choice)), out);
    if (usage != nullptr) append_counts(*usage, out);
    close_with_outputs("", "{}", out);
  }

  // Both outputs in each response: clients always read `outputs[0]`.
  void close_with_outputs(std::string_view text, std::string_view delta, std::string& out) const {
    out += "},\"outputs\":[";
    open_output("output", kChunkOfText, out);
    append_json_line_escaped(text, out);
    out += "\"]},";
    open_output("delta", kChunkOfJson, out);
    append_json_line_escaped(delta, out);
    out += "\"]}]}";
    framing().close(out);
  }

  static void append_counts(const Usage& usage, std::string& out) {
    append_field("prompt_tokens", static_cast<std::int64_t>(usage.prompt()), out);
    append_field("completion_tokens", static_cast<std::int64_t>(usage.completion()), out);
    append_field("total_tokens", static_cast<std::int64_t>(usage.prompt() + usage.completion()),
                 out);
    out += usage.extra;
  }

  // A call's head and its arguments so far make one entry.
  void append_delta() {
    append_chat_delta(pending_, options().reasoning_field, scratch_);
    if (pending_.kind != EventKind::tool_call_begin || pending_.text.empty()) return;
    constexpr std::string_view kEnd = "\"}}]}";  // the end of the arguments, which are empty so far
    scratch_.resize(scratch_.size() - kEnd.size());
    append_json_line_escaped(pending_.text, scratch_);
    scratch_ += kEnd;
  }

  std::string head_;
  std::string_view event_;  // of the pending response; empty: there is none
  std::int32_t choice_ = 0;
  Delta pending_;
  std::string scratch_;
  std::int32_t finished_count_ = 0;
  std::int32_t last_ = 0;  // the answer whose finish has not been sent
};

}  // namespace

std::unique_ptr<WireWriter> make_oip_responses(WireOptions options) {
  return std::make_unique<OipResponses>(std::move(options));
}

}  // namespace unspool
