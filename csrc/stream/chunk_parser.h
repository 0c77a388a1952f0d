// One answer's whole path: text, token ids or both in, events out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "delta/message.h"
#include "parser/content_stop.h"
#include "parser/event_parser.h"
#include "stream/labelled_parser.h"
#include "stream/text_aligner.h"
#include "stream/token_labels.h"
#include "text/archive.h"
#include "text/utf8.h"
#include "vocabulary/detokenizer.h"

namespace unspool {

/// How many token ids went into each region.
struct TokenCounts {
  std::uint64_t content = 0;
  std::uint64_t reasoning = 0;
  std::uint64_t tool_calls = 0;

  void visit(Archive& archive) { archive(content, reasoning, tool_calls); }
};

/// Where the stop strings of `DetokenizerOptions` are looked for.
enum class StopIn : std::uint8_t {
  content,     // there alone
  everywhere,  // in reasoning and in calls too: one inside a call leaves it incomplete
};

struct ChunkParserOptions {
  ParserOptions parser;
  StopIn stop_in = StopIn::content;
  /// A format whose reasoning stays in the content, tags included: the opening one is the prompt's,
  /// and content begins with it where the prompt has written it. Null: there is none.
  std::shared_ptr<const Format> kept_reasoning;
  bool keeps_message = true;
  bool labels = false;                           // say what each token is
  std::shared_ptr<const Vocabulary> vocabulary;  // null: text only
  DetokenizerOptions detokenizer;
};

/// What is wrong with text alone, if the format's trust is strict.
inline const char* strict_text_message() {
  return "strict_markers knows markers by their token ids, and this text has none; pass its ids "
         "too, "
         "or leave strict_markers out";
}

/// One stream: one thread at a time. A copy reads on by itself.
class ChunkParser : LabelledParser {
 public:
  ChunkParser(std::shared_ptr<const Format> format, ChunkParserOptions options);

  /// The prompt's ids, before any output: whether the output starts inside reasoning, and what
  /// rules for a first token have seen. None of it is emitted.
  void put_prompt(std::span<const TokenId> ids);
  void put_prompt(std::string_view text);

  /// Text, cut anywhere, even inside a character. Bytes that are not UTF-8 become U+FFFD.
  void put_text(std::string_view bytes, Events& out);

  /// Token ids, any number. Without a vocabulary they are only counted and passed on.
  void put_ids(std::span<const TokenId> ids, Events& out);

  /// A whole output's ids. No event says which of them it came from: most are read together.
  void put_output(std::span<const TokenId> ids, Events& out);

  /// Throws ArgumentError for an id that the tokenizer would refuse; put_ids does so half-way.
  void check_ids(std::span<const TokenId> ids) const;

  /// A chunk with both: the ids are those that produced the text, which may come later.
  void put_text_and_ids(std::string_view bytes, std::span<const TokenId> ids, Events& out);

  /// Ends the stream; no put may follow. Throws StreamError where it has ended before.
  void finish(FinishReason reason, Events& out);

  bool has_prompt() const { return has_prompt_; }
  bool has_begun() const { return input_ != Input::none; }
  bool is_finished() const { return is_finished_; }
  bool is_stopped() const {
    return (content_stop_ && content_stop_->is_stopped()) ||
           (detokenizer_ && detokenizer_->is_stopped());
  }
  /// The stop string that ended the text; empty where none has. Lives as long as this.
  std::string_view stop_reason() const {
    if (content_stop_) return content_stop_->stop_reason();
    return detokenizer_ ? detokenizer_->stop_reason() : std::string_view{};
  }
  bool has_vocabulary() const { return vocabulary_ != nullptr; }
  Region region() const { return parser_->region(); }
  /// What was received and no event has reported; not what the detokenizer holds. Its views live
  /// until the next put.
  Held held() const;
  std::string extra() const { return parser_->extra(); }
  const Message& message() const { return builder_.message(); }
  /// Gives the message of a finished stream away.
  Message take_message() { return builder_.take_message(); }
  /// The message so far, apart: for a copy of a stream that is to be small.
  MessageBuilder& message_builder() { return builder_; }
  const TokenCounts& token_counts() const { return counts_; }
  /// What each token is; null if the options do not ask.
  const TokenLabels* labels() const { return labels_.get(); }
  /// Gives the labels of a finished stream away.
  std::unique_ptr<TokenLabels> take_labels() { return std::move(labels_); }
  /// How many token ids of output were read: not the prompt's, nor, where ids
  /// come alone, those after a stop string.
  std::uint64_t token_count() const { return token_count_; }

  /// The ids at a span's positions; known for the events of the last put. Empty for a span with
  /// more than 65,536 ids that came before that put.
  std::span<const TokenId> ids_of(const TokenSpan& span) const;

  /// Forgets the ids of the last put's events. The next put does so too; after a long chunk this
  /// gives its memory back at once.
  void forget_told();

  /// What it has read: of one that was made with the same format and options.
  void visit(Archive& archive);

 private:
  enum class Input : std::uint8_t { none, text, ids, both };

  void begin(Input input);
  void end_put(Events& out, bool stopped = false);
  void label(Events& out, bool stopped);
  void put_slices(std::string_view bytes, Events& out);
  void put_id(TokenId id, Events& out);
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
  TextAligner::Sink sink_to(Events& out);

  std::shared_ptr<const Format> format_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  bool skip_special_tokens_;
  StopIn stop_in_;
  bool start_is_given_;       // the prompt does not show where the output starts
  bool repeats_tag_ = false;  // the content begins with the prompt's tag
  bool is_finished_ = false;
  bool has_prompt_ = false;
  Input input_ = Input::none;
  std::shared_ptr<const Format> kept_reasoning_;
  std::optional<Detokenizer> detokenizer_;
  ClonedPtr<ContentStop> content_stop_;
  std::string special_;  // special tokens that count if the output goes on
  std::uint64_t special_end_ = 0;
  MessageBuilder builder_;
  ClonedPtr<TextAligner> aligner_;  // null: no text has come with ids
  Utf8Stream utf8_;
  std::string text_;             // of one token, reused
  std::vector<TokenId> ids_;     // those that no event has reported before this put
  std::uint64_t ids_begin_ = 0;  // position of the first of them
  std::uint64_t token_count_ = 0;
  std::uint64_t told_ = 0;  // positions before this one belong to earlier events
  TokenCounts counts_;
  std::uint64_t undecided_ = 0;  // tokens of what may be a call or content
  std::uint32_t calls_seen_ = 0;
  std::shared_ptr<const void> texts_;  // that the state of a restored one points into
  std::uint64_t counted_ = 0;          // tokens in counts_, where text and ids come together
};

}  // namespace unspool
