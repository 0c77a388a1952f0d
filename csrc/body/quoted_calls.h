// Follows the calls that a string between quote tokens quotes.
//
// A quoted call has quote tokens of its own, and the first of them looks like the string's end:
//
//   content:<|"|>Example: <|tool_call>call:f{city:<|"|>Paris<|"|>}<tool_call|><|"|>}
//
// An opener, a name and a brace open a call, and its closer closes it. An opener without them is
// a mention.
#pragma once

#include <cstdint>
#include <string_view>

#include "body/names.h"
#include "format/marker_table.h"
#include "text/archive.h"
#include "text/letters.h"
#include "text/white_space.h"

namespace unspool {

class QuotedCalls {
 public:
  /// `markers`: the quote, and the openers and closers of calls.
  explicit QuotedCalls(const MarkerSet& markers) { cursor_.reset(&markers); }

  /// A string begins.
  void clear() {
    cursor_.restart();
    depth_ = 0;
    awaits_brace_ = has_opener_ = false;
  }
  /// Whether a call is open.
  bool has_call() const { return depth_ > 0; }
  /// Whether the text has an opener, perhaps a mention.
  bool has_opener() const { return has_opener_; }

  /// Reads up to the first marker; `on_text` receives the text before it.
  template <typename OnText>
  MarkerCursor::Found put(const Letter& run, OnText&& on_text) {
    const auto read = [&](std::string_view piece) {
      look_for_brace(piece);
      on_text(piece);
    };
    const auto match = run.symbol != 0 ? cursor_.put_token(run.symbol, run.text, read)
                                       : cursor_.put(run.text, read);
    if (match.marker == nullptr) return match;
    const Role role = static_cast<Role>(match.marker->role);
    awaits_brace_ = role == Role::call_open;
    has_opener_ = has_opener_ || awaits_brace_;
    if (role == Role::call_close && depth_ > 0) --depth_;
    return match;
  }
  /// Reads all of it.
  void follow(const Letter& run) {
    for (std::size_t i = 0; i < run.text.size();) {
      i += put({run.text.substr(i), run.symbol}, [](std::string_view) {}).consumed;
    }
  }

  void visit(Archive& archive) { archive(cursor_, depth_, awaits_brace_, has_opener_); }

 private:
  void look_for_brace(std::string_view text) {
    for (std::size_t i = 0; awaits_brace_ && i < text.size(); ++i) {
      const char byte = text[i];
      if (byte == '{') ++depth_;
      awaits_brace_ = is_space(byte) || continues_name(byte) ||
                      std::string_view(":.-/").find(byte) != std::string_view::npos;
    }
  }

  MarkerCursor cursor_;
  std::uint32_t depth_ = 0;
  bool has_opener_ = false;
  bool awaits_brace_ = false;  // an opener has come, and perhaps a part of the name
};

}  // namespace unspool
