// OpenAI responses: created and in_progress, then for each item: added, its part added, deltas,
// done, part done, item done; completed, incomplete or failed with the whole response. Events are
// numbered from 0 without gaps, items by their place in `output`; an item's id is the response's
// with its place after it. The protocol's last event holds all texts, and so does this writer.
//
// A call that was cut off has no `function_call_arguments.done` (they are not), and its item is
// done as incomplete.
//
// The events of one item, here a text:
//
//   response.output_item.added     output_index 0
//   response.content_part.added    content_index 0
//   response.output_text.delta     "Let me "
//   response.output_text.delta     "look."
//   response.output_text.done      the whole text
//   response.content_part.done     the whole part
//   response.output_item.done      the whole item
//
// Three kinds of items differ only in names, which stand in the table `Words`; a call has no part.
#include <utility>

#include "delta/wire_protocols.h"
#include "text/error.h"
#include "text/json_escape.h"

namespace unspool {

namespace {

/// The names for each kind of item.
struct Words {
  std::string_view id_prefix;
  std::string_view part_type;    // of the inner part; empty: there is none
  std::string_view part_event;   // its events, before `.added` and `.done`
  std::string_view part_index;   // the field that numbers it
  std::string_view delta_event;  // the text's events, before `.delta` and `.done`
  std::string_view done_field;   // the field of the whole text
};

constexpr Words kText = {"msg_",          "output_text",          "response.content_part",
                         "content_index", "response.output_text", "text"};
constexpr Words kReasoningText = {
    "rs_",           "reasoning_text",          "response.content_part",
    "content_index", "response.reasoning_text", "text"};
constexpr Words kReasoningSummary = {"rs_",
                                     "summary_text",
                                     "response.reasoning_summary_part",
                                     "summary_index",
                                     "response.reasoning_summary_text",
                                     "text"};
constexpr Words kCall = {"fc_", "", "", "", "response.function_call_arguments", "arguments"};
constexpr Words kCustomCall = {"ctc_", "", "", "", "response.custom_tool_call_input", "input"};

class ResponsesEvents final : public WireWriter {
 public:
  explicit ResponsesEvents(WireOptions wire_options)
      : WireWriter(std::move(wire_options), "resp_",
                   {"id", "object", "created_at", "status", "error", "incomplete_details", "model",
                    "output", "usage"}) {
    if (options().n != 1) throw ArgumentError("n is above 1; responses has one answer");
    const std::string& id = options().id;
    const std::size_t mark = id.find('_');
    // `resp_1` gives `msg_1_0`, `rs_1_1`, `fc_1_2`: ids that are unique in a conversation, without
    // another random number, and the same after a restore.
    item_suffix_ = (mark == std::string::npos ? id : id.substr(mark + 1)) + "_";
    // Members that the protocol requires and a request may omit.
    tail_ = extra();
    if (!has_extra("parallel_tool_calls")) tail_ += ",\"parallel_tool_calls\":true";
    if (!has_extra("tool_choice")) tail_ += ",\"tool_choice\":\"auto\"";
    if (!has_extra("tools")) tail_ += ",\"tools\":[]";
  }

  std::unique_ptr<WireWriter> clone() const override {
    return std::make_unique<ResponsesEvents>(*this);
  }

 protected:
  bool keeps_logprobs_by_part() const override { return true; }

  void visit_own(Archive& archive) override {
    archive.given(item_suffix_, tail_);
    archive.scratch(type_, delta_is_open_);
    archive(parts_, sequence_number_, logprobs_written_);
    const bool has_text = parts_.count() > 0 && logprobs_written_ <= parts_.last().logprobs.size();
    // Otherwise a forged state would let `flush` read beyond the list.
    archive.expect(logprobs_written_ == 0 || has_text);
  }

  void do_begin(std::string& out) override {
    // The protocol has both; here nothing happens between them.
    for (const std::string_view event : {"response.created", "response.in_progress"}) {
      open_event(event, out);
      out += ",\"response\":";
      append_response("in_progress", parts_.list(), nullptr, nullptr, out);
      close_event(out);
    }
  }

  // Events are numbered.
  bool has_frames(EventKind) const override { return false; }

  void put(const Delta& delta, std::string& out) override {
    // The open delta event belongs to the old item, so it is flushed before the item's state
    // changes.
    if (parts_.closes(delta)) {
      flush(out);
      parts_.close(delta);
      write_done(out);
    }
    if (parts_.opens(delta)) {
      parts_.open(delta);
      write_added(out);
    }
    const std::string_view text = Parts::text_of(delta);
    if (!text.empty()) {
      if (!delta_is_open_) open_delta(out);
      parts_.add(text);
      append_json_line_escaped(text, out);
    }
    // After the text has been added: the part that receives them must be open.
    parts_.take_logprobs(delta, logprobs(0));
  }

  void flush(std::string& out) override {
    if (!delta_is_open_) return;
    delta_is_open_ = false;
    out += '"';
    if (parts_.last().kind == PartKind::text) {
      const std::vector<TokenLogprob>& all = parts_.last().logprobs;
      // Only the new ones: the events `done` repeat all of them.
      out += ",\"logprobs\":";
      append_logprob_list({all.begin() + static_cast<std::ptrdiff_t>(logprobs_written_), all.end()},
                          out);
      logprobs_written_ = all.size();
    }
    close_event(out);
  }

  void do_end(const Ending& ending, std::string& out) override {
    const std::string_view status = status_of(finish_reason(0));
    open_event(last_event(status), out);
    out += ",\"response\":";
    append_response(status, parts_.list(), &ending.usage,
                    finish_reason(0) == FinishReason::error ? &kModelFailed : nullptr, out);
    close_event(out);
  }

  // Both events, because clients differ in which one they know.
  void do_fail(const WireError& error, std::string& out) override {
    // An error before the first delta still needs a response that failed.
    if (sequence_number_ == 0) do_begin(out);
    open_event("error", out);
    append_field("code", code_of(error), out);
    append_field("message", error.message, out);
    out += ",\"param\":null";
    close_event(out);
    open_event("response.failed", out);
    out += ",\"response\":";
    append_response("failed", parts_.list(), nullptr, &error, out);
    close_event(out);
  }

  void do_body(const Ending& ending, std::string& out) override {
    append_response(status_of(finish_reason(0)), parts(0), &ending.usage,
                    finish_reason(0) == FinishReason::error ? &kModelFailed : nullptr, out);
  }

 private:
  static const WireError kModelFailed;

  const Words& words_of(const Part& part) const {
    if (part.kind == PartKind::text) return kText;
    if (part.kind == PartKind::call) return part.is_custom ? kCustomCall : kCall;
    return options().reasoning_events == ReasoningEvents::summary ? kReasoningSummary
                                                                  : kReasoningText;
  }

  // The client's own namespace and name of a tool; no namespace: "".
  std::pair<std::string_view, std::string_view> place_of(const Part& part) const {
    const auto found = options().namespaces.find(part.name);
    if (found == options().namespaces.end()) return {{}, part.name};
    return found->second;
  }

  static std::string_view status_of(FinishReason reason) {
    switch (reason) {
      case FinishReason::stop:
      case FinishReason::tool_calls: return "completed";
      case FinishReason::error: return "failed";
      // `length` and `cancelled`: both leave an answer that is cut off.
      default: return "incomplete";
    }
  }

  static std::string_view last_event(std::string_view status) {
    if (status == "completed") return "response.completed";
    return status == "failed" ? "response.failed" : "response.incomplete";
  }

  static std::string_view code_of(const WireError& error) {
    // The protocol has one field for both.
    return error.code.empty() ? std::string_view(error.type) : std::string_view(error.code);
  }

  void open_event(std::string_view type, std::string& out) {
    framing().open(type, out);
    out.append("{\"type\":\"").append(type).append("\"");
    append_field("sequence_number", sequence_number_++, out);
  }

  void open_event(std::string_view type, std::string_view ending, std::string& out) {
    type_.assign(type).append(ending);
    open_event(type_, out);
  }

  void close_event(std::string& out) const {
    out += '}';
    framing().close(out);
  }

  std::int64_t place() const { return static_cast<std::int64_t>(parts_.count()) - 1; }

  void append_item_id(const Part& part, std::size_t index, std::string& out) const {
    out.append("\"").append(words_of(part).id_prefix);
    append_json_line_escaped(item_suffix_, out);
    append_number(static_cast<std::int64_t>(index), out);
    out += '"';
  }

  // The item, its index and, if it has one, the index of its part.
  void append_address(std::string& out) {
    out += ",\"item_id\":";
    append_item_id(parts_.last(), parts_.count() - 1, out);
    append_field("output_index", place(), out);
    const std::string_view index = words_of(parts_.last()).part_index;
    if (!index.empty()) append_field(index, std::int64_t{0}, out);
  }

  // The inner part of a text or reasoning item.
  void append_part(const Part& part, std::string& out) const {
    out.append("{\"type\":\"").append(words_of(part).part_type).append("\"");
    append_field("text", part.text, out);
    if (part.kind == PartKind::text) {
      out += ",\"annotations\":[],\"logprobs\":";
      append_logprob_list(part.logprobs, out);
    }
    out += '}';
  }

  // `is_added`: in its announcing event, without its part.
  void append_item(const Part& part, std::size_t index, bool is_added, std::string& out) const {
    out += "{\"id\":";
    append_item_id(part, index, out);
    // The last event repeats an item that never ended as incomplete, and not as in progress: no
    // event for it follows.
    const std::string_view status = part.is_open && is_added              ? "in_progress"
                                    : part.status == CallStatus::complete ? "completed"
                                                                          : "incomplete";
    const auto append_list = [&](std::string_view name, bool has_part) {
      out.append(",\"").append(name).append("\":[");
      if (has_part && !is_added) append_part(part, out);
      out += ']';
    };
    switch (part.kind) {
      case PartKind::text:
        out += ",\"type\":\"message\",\"role\":\"assistant\"";
        append_list("content", true);
        break;
      case PartKind::reasoning: {
        const bool is_summary = options().reasoning_events == ReasoningEvents::summary;
        out += ",\"type\":\"reasoning\"";
        append_list("summary", is_summary);
        if (!is_summary) append_list("content", true);
        // Clients that keep no state on the server send an item back only if it has this.
        if (!is_added) append_field("encrypted_content", ThoughtSignature::of(part.text), out);
        break;
      }
      case PartKind::call: {
        const auto [space, name] = place_of(part);
        out += part.is_custom ? ",\"type\":\"custom_tool_call\"" : ",\"type\":\"function_call\"";
        append_field("call_id", part.id, out);
        // A client runs a tool of a namespace only by both names.
        if (!space.empty()) append_field("namespace", space, out);
        append_field("name", name, out);
        append_field(words_of(part).done_field, part.text, out);
        break;
      }
    }
    append_field("status", status, out);
    out += '}';
  }

  void write_added(std::string& out) {
    logprobs_written_ = 0;
    open_event("response.output_item.added", out);
    append_field("output_index", place(), out);
    out += ",\"item\":";
    append_item(parts_.last(), parts_.count() - 1, true, out);
    close_event(out);
    const Words& words = words_of(parts_.last());
    if (words.part_type.empty()) return;
    open_event(words.part_event, ".added", out);
    append_address(out);
    out += ",\"part\":";
    append_part(parts_.last(), out);
    close_event(out);
  }

  void open_delta(std::string& out) {
    delta_is_open_ = true;
    open_event(words_of(parts_.last()).delta_event, ".delta", out);
    append_address(out);
    out += ",\"delta\":\"";
  }

  void write_done(std::string& out) {
    const Part& part = parts_.last();
    const Words& words = words_of(part);
    // Clients run a call when its arguments are done. A call that was cut off therefore has no such
    // event.
    if (part.kind != PartKind::call || part.status == CallStatus::complete) {
      open_event(words.delta_event, ".done", out);
      append_address(out);
      if (part.kind == PartKind::call && !part.is_custom)
        append_field("name", place_of(part).second, out);
      append_field(words.done_field, part.text, out);
      if (part.kind == PartKind::text) {
        out += ",\"logprobs\":";
        append_logprob_list(part.logprobs, out);
      }
      close_event(out);
    }
    if (!words.part_type.empty()) {
      open_event(words.part_event, ".done", out);
      append_address(out);
      out += ",\"part\":";
      append_part(part, out);
      close_event(out);
    }
    open_event("response.output_item.done", out);
    append_field("output_index", place(), out);
    out += ",\"item\":";
    append_item(part, parts_.count() - 1, false, out);
    close_event(out);
  }

  void append_response(std::string_view status, const std::vector<Part>& items, const Usage* usage,
                       const WireError* error, std::string& out) const {
    out += "{\"id\":";
    append_json_line_string(options().id, out);
    out += ",\"object\":\"response\"";
    append_field("created_at", options().created, out);
    append_field("status", status, out);
    if (error != nullptr) {
      out += ",\"error\":{\"code\":";
      append_json_line_string(code_of(*error), out);
      append_field("message", error->message, out);
      out += '}';
    } else {
      out += ",\"error\":null";
    }
    // The only other reason of the protocol is a content filter, which is not ours.
    out += status == "incomplete" ? ",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}"
                                  : ",\"incomplete_details\":null";
    append_field("model", options().model, out);
    out += ",\"output\":[";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ',';
      append_item(items[i], i, false, out);
    }
    out += ']';
    out += tail_;
    out += ",\"usage\":";
    if (usage != nullptr) {
      append_responses_usage(*usage, out);
    } else {
      out += "null";
    }
    out += '}';
  }

  std::string item_suffix_;
  std::string tail_;  // the members that repeat the request
  std::string type_;  // of the event being written
  Parts parts_{true};
  std::int64_t sequence_number_ = 0;
  bool delta_is_open_ = false;
  std::size_t logprobs_written_ = 0;  // of the open item
};

const WireError ResponsesEvents::kModelFailed = {"the model failed", "server_error", {}};

}  // namespace

std::unique_ptr<WireWriter> make_responses_events(WireOptions options) {
  return std::make_unique<ResponsesEvents>(std::move(options));
}

}  // namespace unspool
