// Anthropic messages: message_start, blocks (start, deltas, stop) one after the other and numbered
// without gaps, message_delta with the stop reason and the usage, message_stop.
//
// A thinking block ends with its signature: clients that send their history back drop a block
// without one, or send it as text.
//
//   message_start
//   content_block_start  index 0 thinking    content_block_delta …  content_block_stop
//   content_block_start  index 1 text        content_block_delta …  content_block_stop
//   content_block_start  index 2 tool_use    content_block_delta …  content_block_stop
//   message_delta        stop_reason, usage
//   message_stop
//
// A block's type never changes, and no block is opened twice: reasoning after text is a new block.
#include <utility>

#include "delta/wire_protocols.h"
#include "text/error.h"
#include "text/json_escape.h"

namespace unspool {

namespace {

class AnthropicEvents final : public WireWriter {
 public:
  explicit AnthropicEvents(WireOptions wire_options)
      : WireWriter(
            std::move(wire_options), "msg_",
            {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"}) {
    if (options().n != 1) throw ArgumentError("n is above 1; messages has one answer");
  }

  std::unique_ptr<WireWriter> clone() const override {
    return std::make_unique<AnthropicEvents>(*this);
  }

 protected:
  void visit_own(Archive& archive) override {
    archive.scratch(delta_is_open_);
    archive(parts_);
  }

  void do_begin(std::string& out) override {
    Usage usage;
    // The protocol reports the input tokens in its first event, and the output tokens in its last.
    usage.prompt_tokens = options().prompt_token_count;
    framing().open("message_start", out);
    out += "{\"type\":\"message_start\",\"message\":";
    open_message(out);
    out += ",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":";
    append_anthropic_usage(usage, out);
    out += "}}";
    framing().close(out);
  }

  void put(const Delta& delta, std::string& out) override {
    if (parts_.closes(delta)) {
      flush(out);
      // The index of the events is that of the last part, so the block ends before another is
      // opened.
      close_block(out);
      parts_.close(delta);
    }
    if (parts_.opens(delta)) {
      const Part& part = parts_.open(delta);
      open_event("content_block_start", out);
      out += ",\"content_block\":";
      append_block(part, out);
      close_event(out);
    }
    const std::string_view text = Parts::text_of(delta);
    if (text.empty()) return;
    if (!delta_is_open_) open_delta(out);
    append_json_line_escaped(text, out);
  }

  void flush(std::string& out) override {
    if (!delta_is_open_) return;
    delta_is_open_ = false;
    out += "\"}";
    close_event(out);
  }

  void do_end(const Ending& ending, std::string& out) override {
    framing().open("message_delta", out);
    out += "{\"type\":\"message_delta\",\"delta\":{";
    append_stop(ending, out);
    out += "},\"usage\":";
    append_anthropic_usage(ending.usage, out);
    out += '}';
    framing().close(out);
    framing().open("message_stop", out);
    out += "{\"type\":\"message_stop\"}";
    framing().close(out);
  }

  void do_fail(const WireError& error, std::string& out) override {
    framing().open("error", out);
    do_fail_whole(error, out);
    framing().close(out);
  }

  void do_fail_whole(const WireError& error, std::string& out) override {
    out += "{\"type\":\"error\",\"error\":{\"type\":";
    append_json_line_string(error.type, out);
    append_field("message", error.message, out);
    out += "}}";
  }

  void do_body(const Ending& ending, std::string& out) override {
    open_message(out);
    out += ",\"content\":";
    char before = '[';
    for (const Part& part : parts(0)) {
      if (!is_shown_whole(part)) continue;
      out += before;
      before = ',';
      append_block(part, out);
    }
    out += before == '[' ? "[]," : "],";
    append_stop(ending, out);
    out += ",\"usage\":";
    append_anthropic_usage(ending.usage, out);
    out += '}';
  }

  void do_keep_alive(std::string& out) const override {
    // A ping is an event with a type, which a list of JSON objects does not have.
    if (!framing().is_sse()) return;
    framing().open("ping", out);
    out += "{\"type\":\"ping\"}";
    framing().close(out);
  }

  std::string_view default_error_type() const override { return "api_error"; }

  bool has_logprobs() const override { return false; }

  bool signs_thoughts() const override { return true; }

 private:
  void open_message(std::string& out) const {
    out += "{\"id\":";
    append_json_line_string(options().id, out);
    out += ",\"type\":\"message\",\"role\":\"assistant\"";
    append_field("model", options().model, out);
    out += extra();
  }

  // A block with what is known of it: empty in a stream, where its text comes in deltas.
  static void append_block(const Part& part, std::string& out) {
    switch (part.kind) {
      case PartKind::text:
        out += "{\"type\":\"text\",\"text\":";
        append_json_line_string(part.text, out);
        break;
      case PartKind::reasoning:
        out += "{\"type\":\"thinking\",\"thinking\":";
        append_json_line_string(part.text, out);
        // In a stream the text is still to come, and its signature after it.
        append_field("signature", part.text.empty() ? "" : ThoughtSignature::of(part.text), out);
        break;
      case PartKind::call:
        out += "{\"type\":\"tool_use\",\"id\":";
        append_json_line_string(part.id, out);
        append_field("name", part.name, out);
        out += ",\"input\":";
        append_input(part, out);
        break;
    }
    out += '}';
  }

  // The protocol has no words for a broken call, and an `input` that must be an object: only
  // `max_tokens` makes clients not run it, so after any other reason it is left out.
  bool is_shown_whole(const Part& part) const {
    return part.kind != PartKind::call || part.status == CallStatus::complete ||
           is_cut(finish_reason(0));
  }

  // An object, as the protocol wants it; {} for a call that was cut off, as its clients read such a
  // stream.
  static void append_input(const Part& part, std::string& out) {
    if (part.status != CallStatus::complete || !append_json_object(part.text, out)) out += "{}";
  }

  void open_event(std::string_view type, std::string& out) const {
    framing().open(type, out);
    out.append("{\"type\":\"").append(type).append("\",\"index\":");
    append_number(static_cast<std::int64_t>(parts_.count()) - 1, out);
  }

  void close_event(std::string& out) const {
    out += '}';
    framing().close(out);
  }

  void open_delta(std::string& out) {
    delta_is_open_ = true;
    open_event("content_block_delta", out);
    switch (parts_.last().kind) {
      case PartKind::text: out += ",\"delta\":{\"type\":\"text_delta\",\"text\":\""; break;
      case PartKind::reasoning:
        out += ",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"";
        break;
      case PartKind::call:
        out += ",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"";
        break;
    }
  }

  void close_block(std::string& out) {
    if (parts_.last().kind == PartKind::reasoning) {
      open_event("content_block_delta", out);
      out += ",\"delta\":{\"type\":\"signature_delta\"";
      append_field("signature", thought(0).take(), out);
      out += '}';
      close_event(out);
    }
    open_event("content_block_stop", out);
    close_event(out);
  }

  // Calls that are to be run come before a stop string that ended the text after them.
  void append_stop(const Ending& ending, std::string& out) const {
    std::string_view reason = "max_tokens";
    // `tool_use` makes clients run the calls; every reason of ours that is no success is
    // `max_tokens`, after which they do not run an unfinished call.
    if (finish_reason(0) == FinishReason::tool_calls) reason = "tool_use";
    if (finish_reason(0) == FinishReason::stop)
      reason = ending.stop_sequence.empty() ? "end_turn" : "stop_sequence";
    out.append("\"stop_reason\":\"").append(reason).append("\"");
    if (reason == "stop_sequence") {
      append_field("stop_sequence", ending.stop_sequence, out);
    } else {
      out += ",\"stop_sequence\":null";
    }
  }

  Parts parts_{false};
  bool delta_is_open_ = false;
};

}  // namespace

std::unique_ptr<WireWriter> make_anthropic_events(WireOptions options) {
  return std::make_unique<AnthropicEvents>(std::move(options));
}

}  // namespace unspool
