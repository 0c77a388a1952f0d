// The ids' texts are a queue of items; the host's text is matched against them, character by
// character at worst.
//
//   host's text   "Hi<tool_call>"         items   "Hi", <tool_call> (optional)
//   host's text   "Hi"                    the token counts even if its text is omitted
//   host's text   " Hi" for "Hi"          a space more or less is tolerated
//   host's text   "Ho" for "Hi"           the host's text counts, the token keeps its place
#include "stream/text_aligner.h"

#include <algorithm>

#include "text/common_prefix.h"
#include "text/scratch.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Longer text without ids is not held.
constexpr std::size_t kMaxAheadBytes = 1024;

bool is_continuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// Length of the first character.
std::size_t character(std::string_view text) {
  std::size_t size = 1;
  while (is_continuation(text, size)) ++size;
  return size;
}

// Length of the common prefix, in whole characters.
std::size_t common_characters(std::string_view a, std::string_view b) {
  std::size_t same = common_prefix(a, b);
  while (same > 0 && (is_continuation(a, same) || is_continuation(b, same))) --same;
  return same;
}

}  // namespace

void TextAligner::expect_text(std::string_view text, std::uint64_t token_end) {
  token_end_ = token_end;
  // If items wait, the text ahead is older than they are, and cannot be this token's.
  const std::size_t known = items_.empty() ? common_characters(ahead_, text) : 0;
  ahead_.erase(0, known);
  // Either all of it is matched, or the host's text differs: then it is of no further use.
  if (known < text.size()) ahead_.clear();
  text.remove_prefix(known);
  if (text.empty()) return;
  Item& item = items_.emplace_back();
  item.text = text;
  item.token_end = token_end;
}

void TextAligner::expect_token(std::string_view literal, Symbol symbol, std::uint64_t token_end) {
  token_end_ = token_end;
  Item& item = items_.emplace_back();
  item.text = literal;
  item.symbol = symbol;
  item.token_end = token_end;
  item.is_optional = true;
}

void TextAligner::expect_special(std::string_view literal, bool is_text, std::uint64_t token_end) {
  token_end_ = token_end;
  Item& item = items_.emplace_back();
  item.text = literal;
  item.token_end = token_end;
  item.is_optional = true;
  item.is_text = is_text;
}

void TextAligner::put(std::string_view text, const Sink& sink) {
  const bool has_many = items_.size() * sizeof(Item) > kKeptBytes;
  text_ += text;
  while (advance(sink)) {
  }
  // A deque keeps its blocks; a chunk with all ids of an answer would leave them with the stream.
  if (has_many && items_.empty()) items_.shrink_to_fit();
  if (!items_.empty() || text_.empty()) return;
  sink.text(text_, token_end_);  // the ids arrive later
  ahead_ += text_;
  // The newest part: ids that arrive late are usually those of the last text.
  if (ahead_.size() > kMaxAheadBytes) ahead_.erase(0, ahead_.size() - kMaxAheadBytes);
  text_.clear();
  shrink_scratch<kKeptInStream>(text_);
}

// All text before the item has arrived.
void TextAligner::announce(Item& item, const Sink& sink) {
  item.is_told = true;
  if (item.symbol) {
    sink.token(*item.symbol, item.token_end);
  } else {
    sink.special(item.text, item.token_end);
  }
}

// The host may have written the token's text, or omitted it; returns false while that is unknown.
bool TextAligner::match_optional(std::size_t same, const Sink& sink) {
  const Item& item = items_.front();
  if (same == item.text.size()) {
    // Otherwise `announce` has passed the token on, and its text must not appear twice.
    if (item.is_text) sink.text(item.text, item.token_end);
    text_.erase(0, same);
  } else if (same == text_.size()) {
    return false;  // may become the token's text
  }
  items_.pop_front();
  return true;
}

// The host's text differs. It may have dropped or added a space; otherwise the host's text counts.
void TextAligner::match_other(Item& item, const Sink& sink) {
  // A tokenizer's leading space, which a host may strip from the first text.
  if (is_space(item.text[0]) && !is_space(text_[0])) {
    item.text.erase(0, 1);
    return;
  }
  const std::size_t size = character(text_);
  sink.text(std::string_view(text_).substr(0, size), item.token_end);
  // A space that the host has added does not stand for a character of the token.
  if (!is_space(text_[0])) item.text.erase(0, character(item.text));
  text_.erase(0, size);
}

// Matches the next item; returns false if nothing more can be decided.
bool TextAligner::advance(const Sink& sink) {
  if (items_.empty()) return false;
  Item& item = items_.front();
  // A marker counts when its turn comes, without waiting for the host's text, which may never have
  // it.
  if (item.is_optional && !item.is_text && !item.is_told) announce(item, sink);
  if (item.text.empty()) {
    items_.pop_front();
    return true;
  }
  if (text_.empty()) return false;
  const std::size_t same = common_characters(text_, item.text);
  if (item.is_optional) return match_optional(same, sink);
  if (same > 0) {
    sink.text(std::string_view(text_).substr(0, same), item.token_end);
    text_.erase(0, same);
    item.text.erase(0, same);
  } else {
    match_other(item, sink);
  }
  return true;
}

void TextAligner::end(const Sink& sink) {
  while (advance(sink)) {
  }
  if (!text_.empty()) sink.text(text_, token_end_);
  text_.clear();
  items_.clear();
}

}  // namespace unspool
