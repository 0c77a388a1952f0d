// Ids in, text out: holds back only an unfinished character or what may become a stop string.
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
  /// Match the tokenizer to the letter on a run of byte tokens that ends invalid, at the price of
  /// holding the run; otherwise valid characters come at once.
  bool exact = false;
  bool clean_up_spaces = false;
  /// The prompt's last ids: rules for a first token apply to it; none of it is emitted.
  std::vector<TokenId> context;
  bool tracks_pieces = false;
};

/// One stream's detokenizer; one thread at a time.
class Detokenizer {
 public:
  explicit Detokenizer(std::shared_ptr<const Vocabulary> vocabulary,
                       DetokenizerOptions options = {});

  /// Appends to `out` the text that became certain. Throws ArgumentError, before anything changes,
  /// for an id that the tokenizer itself would refuse.
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

  /// As `put`, for a special token that is read whatever `skip_special_tokens` says.
  void put_read(TokenId id, std::string& out);

  /// A marker token stands here, which the caller handles: appends what is held.
  void break_text(std::string& out);

  /// Appends what is held; an unfinished character becomes U+FFFD. No put may follow.
  void end(std::string& out);

  /// Whether nothing is held.
  bool is_idle() const { return is_quiet_; }
  /// How many bytes of whole characters are held.
  std::size_t held_bytes() const {
    return run_.size() + held_in_middle_.size() + tail_.size() +
           (cleanup_ ? cleanup_->held_bytes() : 0) + (stop_ ? stop_->held_bytes() : 0);
  }

  bool is_stopped() const { return stop_ && stop_->is_stopped(); }

  /// The stop string that ended the text; empty where none has. Lives as long as this.
  std::string_view stop_reason() const { return stop_ ? stop_->stop_reason() : std::string_view{}; }

  /// The pieces since the last call. At most the last 4,096.
  std::vector<Piece> take_pieces() { return pieces_ ? pieces_->take() : std::vector<Piece>{}; }

  /// Starts again, after a prompt that ends with these ids.
  void read_context(std::span<const TokenId> ids);

  /// What it has read: of one with the same vocabulary and options.
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
  bool is_quiet_ = false;  // nothing held, no rule but "append" applies
  Utf8Stream utf8_;
  std::uint32_t strip_left_ = 0;
  std::string run_;                  // exact: a run of byte tokens
  std::string_view held_in_middle_;  // what the last token adds if another one follows
  std::string_view held_at_end_;     // and if none does
  std::string tail_;                 // characters that are stripped if the text ends here
  ClonedPtr<SpaceCleanup> cleanup_;
  ClonedPtr<StopStrings> stop_;
  std::string raw_;           // reused
  ClonedPtr<Pieces> pieces_;  // null: no one asks
};

}  // namespace unspool
