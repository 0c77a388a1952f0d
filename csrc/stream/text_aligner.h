// Aligns text and ids that a host sends together: finds the position of each token in the text.
//
// The text may arrive later than its ids (a host may hold it back for a stop string), with or
// without the text of special tokens. The ids predict the text; the text itself decides.
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
  /// Receives the text, and each marker token at its position.
  struct Sink {
    std::function<void(std::string_view text, std::uint64_t token_end)> text;
    std::function<void(Symbol symbol, std::uint64_t token_end)> token;
    /// A special token that is not a marker.
    std::function<void(std::string_view text, std::uint64_t token_end)> special;
  };

  /// A token with the text `text`.
  void expect_text(std::string_view text, std::uint64_t token_end);

  /// A marker token whose text may or may not be in the host's text.
  void expect_token(std::string_view literal, Symbol symbol, std::uint64_t token_end);

  /// A special token that is not a marker. `is_text`: its text in the host's text is ordinary text;
  /// otherwise it goes to the sink as special, whether the host wrote it or not.
  void expect_special(std::string_view literal, bool is_text, std::uint64_t token_end);

  /// The host's text; call after the ids of the same chunk.
  void put(std::string_view text, const Sink& sink);

  /// The host sends no more text: text that it has not sent is not part of the answer.
  void end(const Sink& sink);

  /// Text that no id accounts for yet.
  std::string_view held() const { return text_; }
  /// How many bytes were passed on before their ids arrived.
  std::size_t ahead_bytes() const { return ahead_.size(); }

  void visit(Archive& archive) { archive(items_, text_, ahead_, token_end_); }

 private:
  struct Item {
    std::string text;
    std::optional<Symbol> symbol;
    std::uint64_t token_end = 0;
    bool is_optional = false;  // the text of a token
    bool is_text = false;      // which belongs to the host's text
    bool is_told = false;      // it was passed to the sink

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
  std::string text_;   // the host's text, not yet matched
  std::string ahead_;  // the host's text that was passed on before its ids arrived
  std::uint64_t token_end_ = 0;
};

}  // namespace unspool
