// Text together with the tokens in it that are matched by id, so that it can be read again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/archive.h"
#include "text/marker_set.h"

namespace unspool {

/// One letter of the input: a byte of text, or a token (nonzero `symbol`) with its text.
struct Letter {
  std::string_view text;
  Symbol symbol = 0;
};

// An example: `</tool_call` as text and then the token `</tool_call>`. If both turn out to belong
// to a value, they are read again, and the token must be a token then too: read as text it could
// match a marker that it is not.
class Letters {
 public:
  bool is_empty() const { return text_.empty(); }
  std::size_t size() const { return text_.size(); }
  std::string_view text() const { return text_; }

  void clear() {
    text_.clear();
    tokens_.clear();
  }

  void put(std::string_view text) { text_ += text; }
  void put(const Letter& letter) {
    if (letter.symbol != 0) tokens_.push_back({text_.size(), letter.text.size(), letter.symbol});
    text_ += letter.text;
  }
  void put(const Letters& other) {
    for (const Token& token : other.tokens_) {
      tokens_.push_back({text_.size() + token.at, token.size, token.symbol});
    }
    text_ += other.text_;
  }

  /// The part from `begin` on. No token may span `begin`.
  Letters from(std::size_t begin) const {
    Letters rest;
    rest.text_ = text_.substr(begin);
    for (const Token& token : tokens_) {
      if (token.at >= begin) rest.tokens_.push_back({token.at - begin, token.size, token.symbol});
    }
    return rest;
  }

  /// Follows a cursor: what it keeps after reading `letter` (or a run of text).
  void follow(const Letter& letter, std::string_view kept) {
    // What the cursor keeps ends with this letter, so the earlier part is the end of this text.
    if (kept.size() > letter.text.size()) {
      *this = from(text_.size() - (kept.size() - letter.text.size()));
      put(letter);
    } else if (clear(); !kept.empty()) {
      put({kept, letter.symbol});
    }
  }

  /// Replaces the text of the last token at the end by the token.
  void end_with(const Letter& letter) {
    if (letter.symbol == 0 || !text_.ends_with(letter.text)) return;
    text_.resize(text_.size() - letter.text.size());
    put(letter);
  }

  /// The next item at `at`: a run of text, or a token.
  Letter at(std::size_t at) const {
    for (const Token& token : tokens_) {
      if (token.at == at) return {std::string_view(text_).substr(at, token.size), token.symbol};
      if (token.at > at) return {std::string_view(text_).substr(at, token.at - at)};
    }
    return {std::string_view(text_).substr(at)};
  }

  void visit(Archive& archive) {
    archive(text_, tokens_);
    std::size_t end = 0;
    for (const Token& token : tokens_) {
      archive.expect(token.at >= end && token.at <= text_.size());
      archive.expect(token.size <= text_.size() - token.at);
      archive.expect(token.symbol >= kFirstTokenSymbol && token.symbol < archive.symbol_end);
      end = token.at + token.size;
    }
  }

 private:
  struct Token {
    std::size_t at, size;
    Symbol symbol;

    void visit(Archive& archive) { archive(at, size, symbol); }
  };
  std::string text_;
  std::vector<Token> tokens_;
};

}  // namespace unspool
