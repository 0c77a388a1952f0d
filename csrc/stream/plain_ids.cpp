// Where a stream is at rest, and the plain ids that are rare (parser/rest.h).
#include <cstdlib>
#include <string>
#include <utility>

#include "stream/chunk_parser.h"
#include "text/archive.h"
#include "text/error.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// With this variable, each plain id is read in both ways, which are compared.
bool reads_both_ways() {
  static const bool reads = std::getenv("UNSPOOL_READ_BOTH_WAYS") != nullptr;
  return reads;
}

template <typename Stream>
std::string state_of(Stream& stream) {
  std::string state;
  Archive archive(state);
  stream.visit(archive);
  return state;
}

}  // namespace

// After a put: what is around the parser has to be at rest too.
void ChunkParser::find_rest() {
  const bool is_around = input_ == Input::ids && detokenizer_->is_at_rest() && !labels_ &&
                         special_.empty() && undecided_ == 0 && !repeats_tag_ && !is_finished_;
  if (!is_around) return;
  Rest rest = parser_->rest();
  rest.stops |= kUnplain;
  if (content_stop_) {
    const ByteClasses stops = content_stop_->stops();
    if (rest.kind == EventKind::content || stops == kAllClasses) rest.stops |= stops;
    // What the parser holds is examined with the text after it.
    if (rest.holds) rest.stops = kAllClasses;
  }
  if (!rest.is_at_rest()) return;
  rest_ = rest;
  line_ = rest.begins_line ? PassedLine::begun : PassedLine::none;
  last_byte_ = '\n';
  tell_lines();
  is_rare_ = rest_.holds || told_ != token_count_ || reads_both_ways();
}

// Tells the parser what has passed by. `last`: the text that passed by last, if it counts.
void ChunkParser::leave_rest(std::string_view last) {
  // A text that counts tells itself how its line begins: `> `, or a bullet.
  if (last.empty()) settle_line();
  rest_.stops = rest_.told = kAllClasses;
  rest_.holds_line_break = false;
  if (!std::exchange(has_passed_, false)) return;
  parser_->pass_over({rest_.room, last_byte_, line_, last, token_count_});
  if (content_stop_) content_stop_->pass_over(token_count_);
}

// At a line's beginning, more counts.
void ChunkParser::tell_lines() {
  rest_.told = rest_.stops | rest_.tells;
  if (rest_.passes_lines) rest_.told |= kLineBreak;
  if (line_ == PassedLine::begun) rest_.told |= kLineMarks | kEndsInSpace;
}

// What has passed by since the line began, untold, is text.
void ChunkParser::settle_line() {
  if (line_ != PassedLine::begun || is_space(last_byte_)) return;
  line_ = PassedLine::text;
  tell_lines();
}

// Follows the lines of a text that passes by; false if more than its lines counts.
bool ChunkParser::pass_lines(std::string_view text, ByteClasses classes) {
  if (!rest_.passes_lines || (classes & kLineMarks) != 0) return false;
  const std::size_t end = text.find_last_not_of(kSpace) + 1;
  const bool ends_open = text.find('\n', end) != std::string_view::npos;
  if (ends_open) {
    line_ = PassedLine::begun;
  } else if (end > 0 && (line_ == PassedLine::begun || (classes & kLineBreak) != 0)) {
    line_ = PassedLine::text;
  }
  return true;
}

// The token passes by. Unless only its lines count, the parser hears of it at once.
TextFragment ChunkParser::pass_told(const Vocabulary::Text& token) {
  if (pass_lines(token.text(), token.classes)) {
    tell_lines();
    return pass_alone(token);
  }
  const TextFragment fragment = pass_alone(token);
  parser_->hear(line_, token.text(), rest_);
  line_ = rest_.begins_line ? PassedLine::begun : PassedLine::none;
  tell_lines();
  return fragment;
}

TextFragment ChunkParser::put_rare(TokenId id) {
  if (reads_both_ways()) return put_both_ways(id);
  settle_line();
  const Vocabulary::Text& token = texts_[id];
  if ((token.classes & rest_.stops) != 0) return put_line(id);
  if (is_rare_) return put_first(id);
  return (token.classes & rest_.told) != 0 ? pass_told(token) : pass_alone(token);
}

// The line passes by, and the parser holds its line break.
TextFragment ChunkParser::put_line(TokenId id) {
  forget_told();
  ids_.push_back(id);
  const Vocabulary::Text& token = texts_[id];
  const std::string_view line = rest_.escapes ? token.escaped_of_line() : token.text_of_line();
  TextFragment fragment{rest_.kind, rest_.index, 0, {}, told_, told_};
  if (line.empty()) {
    ++token_count_;
    ++counts_.of(rest_.kind);
  } else {
    fragment = pass(line);
  }
  leave_rest(pass_lines(line, token.classes & ~kLineBreak) ? std::string_view{} : line);
  Events none;
  parser_->put_text("\n", token_count_, none);
  find_rest();
  return fragment;
}

// After text that was held, or after tokens without an event.
TextFragment ChunkParser::put_first(TokenId id) {
  forget_told();
  ids_.push_back(id);
  text_.clear();
  if (rest_.holds) text_ += parser_->held_at_rest();
  // A line break, or half a marker, which may hold backquotes.
  const ByteClasses held = classes_of(text_);
  text_ += rest_.escapes ? texts_[id].escaped() : texts_[id].text();
  const TextFragment fragment = pass(text_);
  leave_rest(pass_lines(text_, texts_[id].classes | held) ? std::string_view{} : text_);
  find_rest();
  return fragment;
}

// The fast way on a copy, the slow one here.
TextFragment ChunkParser::put_both_ways(TokenId id) {
  settle_line();
  ChunkParser fast(*this);
  const bool is_line = (texts_[id].classes & rest_.stops) != 0;
  const bool is_told = (texts_[id].classes & rest_.told) != 0;
  const bool is_first = rest_.holds || told_ != token_count_;
  fast.is_rare_ = is_first;
  TextFragment fragment = is_line    ? fast.put_line(id)
                          : is_first ? fast.put_first(id)
                          : is_told  ? fast.pass_told(texts_[id])
                                     : fast.put_plain(id);
  Events events;
  put_ids({&id, 1}, events);
  const auto refuse = [&](const std::string& what) {
    throw StreamError("a plain id is read in two ways: " + what + " of '" +
                      std::string(fragment.text) + "'");
  };
  if (events.list().size() != (fragment.text.empty() ? 0U : 1U)) refuse("the number of events");
  if (!events.is_empty()) {
    const Event& event = events.list().front();
    if (event.kind != fragment.kind || event.index != fragment.index || *event.reason != '\0')
      refuse("the kind");
    if (events.text(event) != fragment.text)
      refuse("the text '" + std::string(events.text(event)) + "'");
    if (event.span.end != fragment.token_end) refuse("the span");
  }
  ChunkParser slow(*this);
  fast.forget_told();
  slow.forget_told();
  if (state_of(fast) != state_of(slow)) refuse("the state");
  text_ = fragment.text;
  fragment.text = text_;
  return fragment;
}

}  // namespace unspool
