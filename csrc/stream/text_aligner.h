// Text and ids that a host sends side by side: finds where in the text each token stands.
//
// The text may come later than its ids (the host holds back for a stop string), and it may or may
// not hold the text of special tokens. What the ids say is expected; what the text says counts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "text/archive.h"
#include "text/marker_set.h"

namespace unspool {

class TextAligner {
 public:
  /// Gets the text, and each marker token at its place in it.
  struct Sink {
    std::function<void(std::string_view text, std::uint64_t token_end)> text;
    std::function<void(Symbol symbol, std::uint64_t token_end)> token;
    /// A special token that is no marker.
    std::function<void(std::string_view text, std::uint64_t token_end)> special;
  };

  /// A token that stands for `text`.
  void expect_text(std::string_view text, std::uint64_t token_end);

  /// A marker token whose own text may or may not be in the host's.
  void expect_token(std::string_view literal, Symbol symbol, std::uint64_t token_end);

  /// A special token that is no marker. `is_text`: the host's text of it is text like any other;
  /// else it goes to the sink as special, whether the host wrote it or not.
  void expect_special(std::string_view literal, bool is_text, std::uint64_t token_end);

  /// The host's text; call after the ids of the same chunk.
  void put(std::string_view text, const Sink& sink);

  /// The host sends no more text: what it has not sent is not part of the answer.
  void end(const Sink& sink);

  /// Text that no id has explained yet.
  std::string_view held() const { return text_; }
  /// How many bytes were passed on before their ids came.
  std::size_t ahead_bytes() const { return ahead_.size(); }

  void visit(Archive& archive) { archive(items_, text_, ahead_, token_end_); }

 private:
  struct Item {
    std::string text;
    std::optional<Symbol> symbol;
    std::uint64_t token_end = 0;
    bool is_optional = false;  // the text of a token
    bool is_text = false;      // which is the host's
    bool is_told = false;      // it has gone to the sink

    void visit(Archive& archive) {
      archive(text, symbol, token_end, is_optional, is_text, is_told);
      archive.expect(!symbol || (*symbol >= kFirstTokenSymbol && *symbol < archive.symbol_end));
    }
  };
  bool advance(const Sink& sink);
  static void announce(Item& item, const Sink& sink);
  bool match_optional(std::size_t same, const Sink& sink);
  void match_other(Item& item, const Sink& sink);

  std::deque<Item> items_;
  std::string text_;   // the host's, not yet matched
  std::string ahead_;  // the host's, passed on before its ids came
  std::uint64_t token_end_ = 0;
};

}  // namespace unspool
