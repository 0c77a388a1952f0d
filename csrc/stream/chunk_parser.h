// Parses one answer: text, token ids or both in, events out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "delta/delta.h"
#include "delta/message.h"
#include "filter/content_stop.h"
#include "parser/event_parser.h"
#include "stream/labelled_parser.h"
#include "stream/text_aligner.h"
#include "stream/token_labels.h"
#include "text/archive.h"
#include "text/inlined.h"
#include "text/utf8.h"
#include "vocabulary/detokenizer.h"

namespace unspool {

/// The number of token ids in each region.
struct TokenCounts {
  std::uint64_t content = 0;
  std::uint64_t reasoning = 0;
  std::uint64_t tool_calls = 0;

  /// Of the region that has events of this kind.
  std::uint64_t& of(EventKind kind) {
    if (kind == EventKind::content) return content;
    return kind == EventKind::reasoning ? reasoning : tool_calls;
  }

  void visit(Archive& archive) { archive(content, reasoning, tool_calls); }
};

/// Where to match the stop strings of `DetokenizerOptions`.
enum class StopIn : std::uint8_t {
  content,     // only in content
  everywhere,  // also in reasoning and calls; a match inside a call leaves it incomplete
};

struct ChunkParserOptions {
  ParserOptions parser;
  StopIn stop_in = StopIn::content;
  /// A format whose reasoning stays in the content, with its tags. If the prompt has written the
  /// opening tag, content begins with it. Null: none.
  std::shared_ptr<const Format> kept_reasoning;
  bool keeps_message = true;
  bool labels = false;                           // label each token
  std::shared_ptr<const Vocabulary> vocabulary;  // null: the input is text only
  DetokenizerOptions detokenizer;
};

/// The error for text without ids, if the format's trust is strict.
inline const char* strict_text_message() {
  return "strict_markers knows markers by their token ids, and this text has none; pass its ids "
         "too, "
         "or leave strict_markers out";
}

/// The error for ids without text, if there is no tokenizer.
inline const char* lone_ids_message() {
  return "token ids need a tokenizer to become text; pass tokenizer=";
}

/// One stream. Not thread-safe. A copy is independent.
class ChunkParser : LabelledParser {
 public:
  ChunkParser(std::shared_ptr<const Format> format, ChunkParserOptions options);

  /// The prompt's ids, before any output. They decide whether the output starts inside reasoning,
  /// and what the rules for a first token apply to. None of it is emitted.
  void put_prompt(std::span<const TokenId> ids);
  void put_prompt(std::string_view text);

  /// Reads text, split anywhere, even inside a character. Invalid UTF-8 becomes U+FFFD.
  void put_text(std::string_view bytes, Events& out);

  /// Reads any number of token ids. Without a vocabulary they are only counted and passed on, if
  /// text came with ids before; otherwise this throws ArgumentError.
  void put_ids(std::span<const TokenId> ids, Events& out);

  /// Whether this id can be plain anywhere.
  bool is_text(TokenId id) const {
    return id < text_count_ && (texts_[id].classes & kUnplain) == 0;
  }

  /// Whether this id passes by (parser/rest.h): `put_plain` reads it.
  bool is_plain(TokenId id) const {
    if (id >= text_count_) return false;
    const Vocabulary::Text& text = texts_[id];
    const bool passes = (text.classes & rest_.stops) == 0 ||
                        ((text.front & rest_.stops) == 0 && rest_.holds_line_break);
    return passes && text.escaped_size <= rest_.room;
  }

  /// Reads a plain id, as `put_ids` does; this fragment is its only event. Its text is valid until
  /// the next put. An empty text is no event: a line break is held.
  UNSPOOL_INLINED TextFragment put_plain(TokenId id) {
    const Vocabulary::Text& token = texts_[id];
    if (is_rare_ || (token.classes & rest_.told) != 0) [[unlikely]]
      return put_rare(id);
    return pass_alone(token);
  }

  /// The ids of a fragment that this plain id has made.
  std::span<const TokenId> ids_of(const TextFragment& fragment, const TokenId& id) const {
    if (fragment.token_end - fragment.token_begin == 1) return {&id, 1};
    return ids_of(TokenSpan{fragment.token_begin, fragment.token_end});
  }

  /// Reads the ids of a whole output. Events have no exact spans, because most ids are read
  /// together.
  void put_output(std::span<const TokenId> ids, Events& out);

  /// Throws ArgumentError for an id that the tokenizer rejects (put_ids does so halfway), and for
  /// ids that nothing makes a text of. `has_text`: their text comes with them.
  void check_ids(std::span<const TokenId> ids, bool has_text) const;

  /// Reads a chunk with both: the ids produced the text, which may arrive later. Without a
  /// vocabulary the ids are only counted and passed on.
  void put_text_and_ids(std::string_view bytes, std::span<const TokenId> ids, Events& out);

  /// Ends the stream; no put may follow. Throws StreamError if it has already ended.
  void finish(FinishReason reason, Events& out);

  bool has_prompt() const { return has_prompt_; }
  bool has_begun() const { return input_ != Input::none; }
  bool is_finished() const { return is_finished_; }
  bool is_stopped() const {
    return (content_stop_ && content_stop_->is_stopped()) ||
           (detokenizer_ && detokenizer_->is_stopped());
  }
  /// The stop string that ended the text, or empty. Valid as long as this object.
  std::string_view stop_reason() const {
    if (content_stop_) return content_stop_->stop_reason();
    return detokenizer_ ? detokenizer_->stop_reason() : std::string_view{};
  }
  bool has_vocabulary() const { return detokenizer_.has_value(); }
  Region region() const { return parser_->region(); }
  /// What was received but not yet reported, without what the detokenizer holds. The views are
  /// valid until the next put.
  Held held() const;
  std::string extra() const { return parser_->extra(); }
  const Message& message() const { return builder_.message(); }
  const Format& format() const { return *format_; }
  /// The request's tools; null: unknown.
  const std::shared_ptr<const ToolSchemas>& tools() const { return tools_; }
  /// Moves the message of a finished stream out.
  Message take_message() { return builder_.take_message(); }
  /// The message so far, separately, so that a copy of a stream can be small.
  MessageBuilder& message_builder() { return builder_; }
  const TokenCounts& token_counts() const { return counts_; }
  /// The label of each token; null if labels are off.
  const TokenLabels* labels() const { return labels_.get(); }
  /// Moves the labels of a finished stream out.
  std::unique_ptr<TokenLabels> take_labels() { return std::move(labels_); }
  /// The number of output token ids that were read, without the prompt's and, if the input is ids
  /// only, without those after a stop string.
  std::uint64_t token_count() const { return token_count_; }
  /// The positions before this one belong to events that have been told.
  std::uint64_t told() const { return told_; }

  /// The ids at a span's positions, for the events of the last put. Empty for a span with more than
  /// 65,536 ids from before that put.
  std::span<const TokenId> ids_of(const TokenSpan& span) const;

  /// Drops the ids of the last put's events. The next put does so too; after a long chunk this
  /// frees the memory at once.
  void forget_told();

  /// The state; the reader must have the same format and options.
  void visit(Archive& archive);

 private:
  enum class Input : std::uint8_t { none, text, ids, both };

  // The text of the next id is an event, which the parser has not read.
  UNSPOOL_INLINED TextFragment pass(std::string_view text) {
    rest_.room -= text.size();
    last_byte_ = text.back();
    has_passed_ = true;
    ++counts_.of(rest_.kind);
    builder_.add(rest_.kind, text);
    const std::uint64_t begin = std::exchange(told_, ++token_count_);
    return {rest_.kind, rest_.index, 0, text, begin, token_count_};
  }
  /// The same, whose only event it is.
  UNSPOOL_INLINED TextFragment pass_alone(const Vocabulary::Text& token) {
    if (!ids_.empty()) forget_told();
    ids_begin_ = token_count_ + 1;
    TextFragment fragment = pass(rest_.escapes ? token.escaped() : token.text());
    // Escaped text is escaped once more on the wire.
    if ((token.classes & (rest_.escapes ? kNeedsEscape | kWideBreak : kWideBreak)) == 0)
      fragment.line = token.escaped();
    return fragment;
  }
  bool pass_lines(std::string_view text, ByteClasses classes);
  TextFragment pass_told(const Vocabulary::Text& token);
  void tell_lines();
  void settle_line();
  TextFragment put_rare(TokenId id);
  TextFragment put_first(TokenId id);
  TextFragment put_line(TokenId id);
  TextFragment put_both_ways(TokenId id);
  void find_rest();
  void leave_rest(std::string_view last = {});
  void begin(Input input);
  void end_put(Events& out, bool stopped = false);
  void label(Events& out, bool stopped);
  void put_slices(std::string_view bytes, Events& out);
  void read_text(std::string_view text, std::uint64_t token_end, Events& parsed, Events& out);
  /// Whether nothing more is read, because it could change the audit of what precedes the stop.
  bool is_audited_to_stop() const {
    return content_stop_ && content_stop_->audits() && content_stop_->is_stopped();
  }
  void put_id(TokenId id, Events& out);
  void count_ids(std::span<const TokenId> ids, Events& out);
  template <bool kLabels>
  void read_id(TokenId id, Events& out);
  void put_special(std::string_view text, std::uint64_t token_end, Events& out);
  void end_special(Events& out);
  Events& parsed_or(Events& out);
  void end_parser(FinishReason reason, Events& out);
  TextAligner& aligner();
  void expect_id(TokenId id);
  void expect_text();
  void read_for(std::uint64_t token_end, std::size_t bytes, bool is_special = false);
  std::optional<Symbol> marker_of(TokenId id) const;
  void count(Region before, std::uint64_t count = 1);
  bool put_run(std::string_view text, std::size_t count, Events& out);
  void begin_label(bool is_special);
  bool leaves_out_special() const;
  const Vocabulary& vocabulary() const { return *detokenizer_->vocabulary(); }
  TextAligner::Sink sink_to(Events& out);

  // What a plain id uses, together.
  Rest rest_;
  const Vocabulary::Text* texts_ = nullptr;  // of the vocabulary
  std::uint32_t text_count_ = 0;
  bool is_rare_ = false;                // the next event has more in it than its id
  bool has_passed_ = false;             // the parser has not read all of the text
  char last_byte_ = 0;                  // then: of the text
  PassedLine line_ = PassedLine::none;  // the same
  std::vector<TokenId> ids_;            // those without an event before this put
  std::uint64_t ids_begin_ = 0;         // position of the first of them
  std::uint64_t token_count_ = 0;
  std::uint64_t told_ = 0;  // positions before this one belong to earlier events
  TokenCounts counts_;
  MessageBuilder builder_;

  std::shared_ptr<const Format> format_;
  std::shared_ptr<const ToolSchemas> tools_;
  bool skip_special_tokens_;
  StopIn stop_in_;
  bool start_is_given_;       // the start does not depend on the prompt
  bool repeats_tag_ = false;  // the content begins with the prompt's tag
  bool is_finished_ = false;
  bool has_prompt_ = false;
  Input input_ = Input::none;
  std::shared_ptr<const Format> kept_reasoning_;
  std::optional<Detokenizer> detokenizer_;
  ClonedPtr<ContentStop> content_stop_;
  std::string special_;  // special tokens that count if the output continues
  std::uint64_t special_end_ = 0;
  ClonedPtr<TextAligner> aligner_;  // null: text and ids have not been given together
  Utf8Stream utf8_;
  std::string text_;             // of one token, reused
  std::uint32_t undecided_ = 0;  // tokens that may be a call or content
  std::uint32_t calls_seen_ = 0;
  std::shared_ptr<const void> reasons_;  // owner of texts that a restored state points into
  std::uint64_t counted_ = 0;            // tokens in counts_, if text and ids are given together
};

}  // namespace unspool
