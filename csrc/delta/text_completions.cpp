// OpenAI completions: chunks of text, one finish chunk an answer, the usage chunk where it was
// asked for, [DONE]. The protocol has content alone; a host of raw output parses with the format
// `none`.
#include <utility>

#include "delta/openai_chunks.h"
#include "delta/wire_protocols.h"
#include "text/json_escape.h"

namespace unspool {

namespace {

class TextCompletions final : public OpenaiChunks {
 public:
  explicit TextCompletions(WireOptions wire_options)
      : OpenaiChunks(std::move(wire_options), "cmpl-", "text_completion") {
    offsets_.resize(static_cast<std::size_t>(options().n));
  }

  std::unique_ptr<WireWriter> clone() const override {
    return std::make_unique<TextCompletions>(*this);
  }

 protected:
  void visit_own(Archive& archive) override {
    OpenaiChunks::visit_own(archive);
    archive.scratch(is_open_, choice_, span_end_, taken_);
    archive(offsets_);
    archive.expect(offsets_.size() == static_cast<std::size_t>(options().n));
  }

  void do_begin(std::string&) override {}

  void put(const Delta& delta, std::string& out) override {
    const bool ends = delta.kind == EventKind::finish;
    // Reasoning and calls have no place in this protocol. Their log-probabilities go with the next
    // text.
    if (!ends && (!is_wire_content(delta) || delta.text.empty())) return;
    // The finish has a chunk of its own, with an empty text, as OpenAI sends it.
    if (ends || (is_open_ && choice_ != delta.choice)) flush(out);
    if (!is_open_) {
      is_open_ = true;
      choice_ = delta.choice;
      framing().open({}, out);
      out.append(chunk_head()).append(",\"choices\":[");
      open_choice(choice_, out);
    }
    span_end_ = delta.span.end;
    if (!ends) return append_json_line_escaped(delta.text, out);
    is_open_ = false;
    // With the log-probabilities of all tokens that no text has shown.
    close_choice(choice_, finish_word(choice_), ~std::uint64_t{0}, out);
    out += "]}";
    framing().close(out);
  }

  void flush(std::string& out) override {
    if (!is_open_) return;
    is_open_ = false;
    close_choice(choice_, {}, span_end_, out);
    out += "]}";
    framing().close(out);
  }

  void do_body(const Ending& ending, std::string& out) override {
    out.append(chunk_head()).append(",\"choices\":[");
    for (std::int32_t choice = 0; choice < options().n; ++choice) {
      if (choice > 0) out += ',';
      open_choice(choice, out);
      for (const Part& part : parts(choice)) {
        if (part.kind == PartKind::text) append_json_line_escaped(part.text, out);
      }
      close_choice(choice, finish_word(choice), ~std::uint64_t{0}, out);
    }
    out += "],\"usage\":";
    append_openai_usage(ending.usage, out);
    out += '}';
  }

 private:
  // The protocol has no calls, and so no finish reason for them.
  std::string_view finish_word(std::int32_t choice) const {
    return is_cut(finish_reason(choice)) ? "length" : "stop";
  }

  static void open_choice(std::int32_t choice, std::string& out) {
    out += "{\"index\":";
    append_number(std::int64_t{choice}, out);
    out += ",\"text\":\"";
  }

  void close_choice(std::int32_t choice, std::string_view finish_reason, std::uint64_t span_end,
                    std::string& out) {
    taken_.clear();
    logprobs(choice).take(span_end, taken_);
    out += "\",\"logprobs\":";
    if (taken_.empty()) {
      out += "null";
    } else {
      append_completion_logprobs(taken_, offsets_[static_cast<std::size_t>(choice)], out);
    }
    if (finish_reason.empty()) {
      out += ",\"finish_reason\":null}";
    } else {
      append_field("finish_reason", finish_reason, out);
      out += '}';
    }
  }

  bool is_open_ = false;
  std::int32_t choice_ = 0;
  std::uint64_t span_end_ = 0;
  // `text_offset` counts characters over the whole answer, so it is kept from chunk to chunk.
  std::vector<TextOffset> offsets_;
  std::vector<TokenLogprob> taken_;
};

}  // namespace

std::unique_ptr<WireWriter> make_text_completions(WireOptions options) {
  return std::make_unique<TextCompletions>(std::move(options));
}

}  // namespace unspool
