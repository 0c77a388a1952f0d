// Turns ids into text; holds back only an unfinished character or a possible stop string.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/archive.h"
#include "text/cloned_ptr.h"
#include "text/utf8.h"
#include "vocabulary/pieces.h"
#include "vocabulary/space_cleanup.h"
#include "vocabulary/stop_strings.h"
#include "vocabulary/vocabulary.h"

namespace unspool {

struct DetokenizerOptions {
  bool skip_special_tokens = true;
  std::vector<std::string> stop;
  bool include_stop = false;
  /// Match the tokenizer exactly on a run of byte tokens that ends invalid. The run is then held
  /// back; otherwise valid characters are emitted at once.
  bool exact = false;
  bool clean_up_spaces = false;
  /// The prompt's last ids. Rules for a first token then apply to the prompt; none of it is
  /// emitted.
  std::vector<TokenId> context;
  bool tracks_pieces = false;
};

/// The detokenizer of one stream. Not thread-safe.
class Detokenizer {
 public:
  explicit Detokenizer(std::shared_ptr<const Vocabulary> vocabulary,
                       DetokenizerOptions options = {});

  /// Appends the text that became certain to `out`. Throws ArgumentError, before any change, for an
  /// id that the tokenizer itself rejects.
  void put(TokenId id, std::string& out) {
    if (is_quiet_ && vocabulary_->has(id, Vocabulary::kPlain)) {
      const std::string_view text = vocabulary_->slice(vocabulary_->entries_[id].text);
      out += text;
      if (pieces_) pieces_->add(id, text);
    } else {
      put_slow(id, out);
    }
  }
  void put(std::span<const TokenId> ids, std::string& out);

  /// Like `put`, for a special token that is read regardless of `skip_special_tokens`.
  void put_read(TokenId id, std::string& out);

  /// Call at a marker token, which the caller handles: appends the held text.
  void break_text(std::string& out);

  /// Appends the held text; an unfinished character becomes U+FFFD. No put may follow.
  void end(std::string& out);

  /// Whether no text is held.
  bool is_idle() const { return is_quiet_; }
  /// Whether a token of `Vocabulary::texts` only adds its text.
  bool is_at_rest() const { return is_quiet_ && !pieces_; }
  /// How many bytes of whole characters are held.
  std::size_t held_bytes() const {
    return run_.size() + held_in_middle_.size() + tail_.size() +
           (cleanup_ ? cleanup_->held_bytes() : 0) + (stop_ ? stop_->held_bytes() : 0);
  }

  bool is_stopped() const { return stop_ && stop_->is_stopped(); }

  /// The stop string that ended the text, or empty. Valid as long as this object.
  std::string_view stop_reason() const { return stop_ ? stop_->stop_reason() : std::string_view{}; }

  /// The pieces since the last call; at most the last 4,096.
  std::vector<Piece> take_pieces() { return pieces_ ? pieces_->take() : std::vector<Piece>{}; }

  /// Restarts after a prompt that ends with these ids.
  void read_context(std::span<const TokenId> ids);

  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }

  /// The state; the reader must have the same vocabulary and options.
  void visit(Archive& archive);

 private:
  void put_slow(TokenId id, std::string& out);
  void put_raw(TokenId id, std::string& out);
  void end_run(std::string& out);
  void end_raw(std::string& out);
  void strip(std::string& text);
  void filter(std::string& text, std::string& out);
  void flush_filters(std::string& out);
  void update_quiet();

  std::shared_ptr<const Vocabulary> vocabulary_;
  bool skip_special_tokens_;
  bool exact_;
  bool is_first_ = true;
  bool is_quiet_ = false;  // nothing is held, and only the rule "append" applies
  Utf8Stream utf8_;
  std::uint32_t strip_left_ = 0;
  std::string run_;                  // exact: a run of byte tokens
  std::string_view held_in_middle_;  // the text of the last token if another token follows
  std::string_view held_at_end_;     // and if none follows
  std::string tail_;                 // characters that are stripped if the text ends here
  ClonedPtr<SpaceCleanup> cleanup_;
  ClonedPtr<StopStrings> stop_;
  std::string raw_;           // reused
  ClonedPtr<Pieces> pieces_;  // null: pieces are not recorded
};

}  // namespace unspool
