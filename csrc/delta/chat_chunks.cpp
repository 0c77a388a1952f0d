// OpenAI chat completions: a role chunk per answer, chunks of one region each, one finish chunk per
// answer, the usage chunk if requested, [DONE].
//
// The bytes of a stream of one answer (heads shortened):
//
//   data: {…,"choices":[{"index":0,"delta":{"role":"assistant","content":""},…}]}
//   data: {…,"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}
//   data: {…,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
//   data: [DONE]
#include <utility>

#include "delta/openai_chunks.h"
#include "delta/wire_protocols.h"
#include "text/json_escape.h"

namespace unspool {

namespace {

std::string_view finish_word(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::tool_calls: return "tool_calls";
    default: return "length";  // cut off, for any reason
  }
}

class ChatChunks final : public OpenaiChunks {
 public:
  explicit ChatChunks(WireOptions wire_options)
      : OpenaiChunks(std::move(wire_options), "chatcmpl-", "chat.completion.chunk"),
        reasoning_name_(to_string(options().reasoning_field)) {}

  std::unique_ptr<WireWriter> clone() const override { return std::make_unique<ChatChunks>(*this); }

 protected:
  void do_begin(std::string& out) override {
    for (std::int32_t choice = 0; choice < options().n; ++choice) {
      // A role chunk for each choice before anything else: without it, some clients lose the second
      // choice.
      open_chunk(choice, out);
      out += "{\"role\":\"assistant\",\"content\":\"\"}";
      close_chunk({}, out);
    }
  }

  void put(const Delta& delta, std::string& out) override {
    const Chunk wanted = chunk_of(delta);
    // Ends of calls and reports have no form in this protocol.
    if (wanted == Chunk::none) return;  // its tokens go with the next chunk
    // A chunk has one region. Clients read `content` and `tool_calls` of one chunk in an order of
    // their own, so text and a call in one chunk would change places.
    if (open_ != wanted || choice_ != delta.choice) {
      flush(out);
      open_ = wanted;
      index_ = -1;
      open_chunk(delta.choice, out);
      if (wanted == Chunk::content) out += "{\"content\":\"";
      if (wanted == Chunk::reasoning) out.append("{\"").append(reasoning_name_).append("\":\"");
      if (wanted == Chunk::calls) out += "{\"tool_calls\":[";
      if (wanted == Chunk::calls) open_entry(delta, out);
    } else if (wanted == Chunk::calls) {
      open_entry(delta, out);
    }
    span_end_ = delta.span.end;
    // A finish chunk closes at once; its `delta` must be empty.
    if (wanted == Chunk::finish) {
      out += "{}";
      open_ = Chunk::none;
      close_chunk(finish_word(delta.finish_reason), out);
      return;
    }
    append_json_line_escaped(delta.text, out);
  }

  void flush(std::string& out) override {
    if (open_ == Chunk::none) return;
    const bool is_call = std::exchange(open_, Chunk::none) == Chunk::calls;
    out += is_call ? "\"}}]}" : "\"}";
    close_chunk({}, out);
  }

  void do_body(const Ending& ending, std::string& out) override {
    append_head("chat.completion", out);
    out += ",\"choices\":[";
    for (std::int32_t choice = 0; choice < options().n; ++choice) {
      if (choice > 0) out += ',';
      out += "{\"index\":";
      append_number(std::int64_t{choice}, out);
      out += ",\"message\":";
      append_chat_message(parts(choice), options().reasoning_field, out);
      out += ",\"logprobs\":";
      // `null` means that none were requested. An empty list would be a promise of entries.
      if (logprobs(choice).is_used()) {
        append_chat_logprobs(take_logprobs(choice), out);
      } else {
        out += "null";
      }
      append_field("finish_reason", finish_word(finish_reason(choice)), out);
      out += '}';
    }
    out += "],\"usage\":";
    append_openai_usage(ending.usage, out);
    out += '}';
  }

  void visit_own(Archive& archive) override {
    OpenaiChunks::visit_own(archive);
    archive.given(reasoning_name_);
    archive.scratch(open_, choice_, index_, span_end_, taken_);
  }

 private:
  /// The content of the open chunk: one region.
  enum class Chunk : std::uint8_t { none, content, reasoning, calls, finish };

  static Chunk chunk_of(const Delta& delta) {
    switch (delta.kind) {
      case EventKind::finish: return Chunk::finish;
      case EventKind::tool_call_begin: return Chunk::calls;
      case EventKind::tool_call_arguments: return delta.text.empty() ? Chunk::none : Chunk::calls;
      case EventKind::reasoning: return delta.text.empty() ? Chunk::none : Chunk::reasoning;
      default: return is_wire_content(delta) && !delta.text.empty() ? Chunk::content : Chunk::none;
    }
  }

  void open_chunk(std::int32_t choice, std::string& out) {
    choice_ = choice;
    framing().open({}, out);
    out.append(chunk_head()).append(",\"choices\":[{\"index\":");
    append_number(std::int64_t{choice}, out);
    out += ",\"delta\":";
  }

  // Each call has one entry per chunk: its head, if it begins here, and all its fragments.
  void open_entry(const Delta& delta, std::string& out) {
    // Clients take one entry per index and chunk; a second one would replace the first.
    if (index_ == delta.index) return;
    // Another call's entry is open in this chunk: two calls may be ready together.
    if (index_ >= 0) out += "\"}},";
    index_ = delta.index;
    out += "{\"index\":";
    append_number(std::int64_t{delta.index}, out);
    if (delta.kind == EventKind::tool_call_begin) {
      append_field("id", delta.id, out);
      out += delta.is_custom ? ",\"type\":\"custom\",\"custom\":{\"name\":"
                             : ",\"type\":\"function\",\"function\":{\"name\":";
      append_json_line_string(delta.name, out);
      out += ',';
    } else {
      out += delta.is_custom ? ",\"custom\":{" : ",\"function\":{";
    }
    out += delta.is_custom ? "\"input\":\"" : "\"arguments\":\"";
  }

  void close_chunk(std::string_view finish_reason, std::string& out) {
    LogprobQueue& queue = logprobs(choice_);
    if (queue.is_used()) {
      taken_.clear();
      // A finish chunk has the rest: tokens of markers and of the end, which no text chunk has
      // shown.
      queue.take(finish_reason.empty() ? span_end_ : ~std::uint64_t{0}, taken_);
      out += ",\"logprobs\":";
      if (taken_.empty()) {
        out += "null";
      } else {
        append_chat_logprobs(taken_, out);
      }
    }
    if (finish_reason.empty()) {
      out += ",\"finish_reason\":null}]}";
    } else {
      append_field("finish_reason", finish_reason, out);
      out += "}]}";
    }
    framing().close(out);
    span_end_ = 0;
  }

  std::string_view reasoning_name_;
  Chunk open_ = Chunk::none;
  std::int32_t choice_ = 0;
  std::int32_t index_ = -1;     // of the open entry
  std::uint64_t span_end_ = 0;  // of the open chunk
  std::vector<TokenLogprob> taken_;
};

}  // namespace

std::unique_ptr<WireWriter> make_chat_chunks(WireOptions options) {
  return std::make_unique<ChatChunks>(std::move(options));
}

}  // namespace unspool
