#include "body/literal_scanner.h"

#include <algorithm>

#include "text/json_escape.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

bool is_plain(char byte) {
  return static_cast<unsigned char>(byte) >= 0x20 && byte != '"' && byte != '\'' && byte != '\\';
}

}  // namespace

LiteralScanner::LiteralScanner(LiteralStyle style, const MarkerSet* quotes,
                               const ToolSchema* schema, bool repairs)
    : style_(style), quotes_(quotes), schema_(schema), mends_(repairs) {
  if (quotes_ != nullptr) cursor_.reset(quotes_);
}

ScanResult LiteralScanner::put(std::string_view text, std::string& out, bool yields) {
  std::size_t i = 0;
  while (i < text.size() && state_ != State::done) {
    const bool in_bare = in_bare_text();
    if (in_bare &&
        (!cursor_held().empty() || cursor_.would_continue(static_cast<unsigned char>(text[i])))) {
      const ScanResult result = put_bare(text.substr(i, 1), out);
      i += result.consumed;
      if (result.status == ScanStatus::failed) return {i, ScanStatus::failed};
      continue;
    }
    if (state_ == State::marked || !cursor_held().empty()) {
      const std::size_t size = state_ == State::marked ? text.size() - i : 1;
      i += put_marked(text.substr(i, size), out);
      continue;
    }
    if (state_ == State::string) {
      std::size_t run = i;
      while (run < text.size() && is_plain(text[run])) ++run;
      to(out).append(text, i, run - i);
      i = run;
      if (i == text.size()) break;
    }
    const bool may_quote = quotes_ != nullptr && (state_ == State::value || state_ == State::key) &&
                           cursor_.would_continue(static_cast<unsigned char>(text[i]));
    if (may_quote) {
      i += put_marked(text.substr(i, 1), out);
      continue;
    }
    switch (step(text[i], out)) {
      case Step::next: ++i; break;
      case Step::again:
        if (yields && !out.empty()) return {i, ScanStatus::more};
        break;
      case Step::failed: decide_cut(out); return {i, ScanStatus::failed};
    }
  }
  return {i, state_ == State::done ? ScanStatus::done : ScanStatus::more};
}

ScanResult LiteralScanner::put_token(Symbol symbol, std::string_view literal, std::string& out) {
  const bool may_quote = quotes_ != nullptr && (state_ == State::marked || state_ == State::value ||
                                                state_ == State::key || in_bare_text());
  if (may_quote) {
    std::string released;
    if (in_bare_text()) {
      const auto found = cursor_.put_token(symbol, literal, [](std::string_view) {});
      if (found.marker == nullptr) return put(literal, out);
      if (!end_bare(out)) return {0, ScanStatus::failed};
      return {literal.size(), state_ == State::done ? ScanStatus::done : ScanStatus::more};
    }
    const auto found =
        cursor_.put_token(symbol, literal, [&](std::string_view text) { released += text; });
    if (state_ == State::marked) marked_text(released, out);
    if (found.marker != nullptr) on_quote(out);
    if (state_ == State::marked || released.empty()) return {literal.size(), ScanStatus::more};
    if (cursor_held().empty() && released == literal && state_ == State::value) {
      return put(literal, out);  // bare text, which may hold any token
    }
    return {0, ScanStatus::failed};
  }
  const bool in_bare = style_ == LiteralStyle::bare && state_ == State::word && !is_key_;
  if (!in_string() && !in_bare) return {0, ScanStatus::failed};
  return put(literal, out);
}

// Text that may be a marker quote: inside a string between two of them, or where one may begin.
std::size_t LiteralScanner::put_marked(std::string_view text, std::string& out) {
  const bool is_inside = state_ == State::marked;
  std::string released;
  const auto found = cursor_.put(text, [&](std::string_view piece) {
    if (is_inside) {
      marked_text(piece, out);
    } else {
      released += piece;
    }
  });
  if (found.marker != nullptr) {
    on_quote(out);
  } else if (!released.empty()) {  // no quote after all: a word that begins like one
    cursor_.flush([&](std::string_view piece) { released += piece; });
    is_key_ = state_ == State::key;
    begin_word(out);
    word_ = released;
    if (style_ == LiteralStyle::bare && !is_key_) become_bare_string(out);
  }
  return found.consumed;
}

// Bare text, which holds no marker quote. Where that is mended, one ends it.
ScanResult LiteralScanner::put_bare(std::string_view text, std::string& out) {
  std::string released;
  const auto found = cursor_.put(text, [&](std::string_view piece) { released += piece; });
  const bool is_read = cursor_held().empty() && found.marker == nullptr;
  if (is_read) released.pop_back();  // the byte at hand is no part of a marker
  for (const char byte : released) step(byte, out);
  if (found.marker != nullptr && !end_bare(out)) {
    (state_ == State::word ? word_ : pending_) += found.text.substr(0, found.text.size() - 1);
    return {0, ScanStatus::failed};
  }
  return {is_read ? 0 : found.consumed, ScanStatus::more};
}

// A marker quote ends text that none has opened; false where that is not mended.
bool LiteralScanner::end_bare(std::string& out) {
  if (!mends_) return false;
  if (state_ == State::word) become_bare_string(out);
  append_json_escaped(word_, to(out));
  word_.clear();
  to(out) += '"';
  repairs_ |= kMissingQuote;
  end_value();
  return true;
}

void LiteralScanner::on_quote(std::string& out) {
  if (state_ == State::marked) {
    if (typed_as_ == nullptr) return end_string(out);
    write_typed(out);
    return end_value();
  }
  is_key_ = state_ == State::key;
  begin_element(out);
  state_ = State::marked;
  const bool is_parameter = schema_ != nullptr && !is_key_ && stack_.size() == 1;
  typed_as_ = is_parameter ? schema_->types_of(parameter_) : nullptr;
  if (typed_as_ != nullptr && typed_as_->has(TypeSet::string)) typed_as_ = nullptr;
  if (typed_as_ == nullptr) to(out) += '"';
}

void LiteralScanner::marked_text(std::string_view text, std::string& out) {
  if (typed_as_ == nullptr) {
    append_json_escaped(text, to(out));
  } else {
    typed_ += text;
  }
}

void append_typed_literal(std::string_view text, TypeSet types, std::string& out) {
  LiteralScanner python(LiteralStyle::python);
  std::string value;
  const ScanResult result = python.put(text, value);
  const bool is_container = value.starts_with('{') || value.starts_with('[');
  if (is_container && result.status == ScanStatus::done && result.consumed == text.size()) {
    out += value;
  } else {
    append_typed(text, types, out, true);
  }
}

// A quoted text that the schema calls something else.
void LiteralScanner::write_typed(std::string& out) {
  append_typed_literal(typed_, *typed_as_, out);
  typed_.clear();
  typed_as_ = nullptr;
}

bool LiteralScanner::in_string() const {
  switch (state_) {
    case State::quote_open:
    case State::string:
    case State::escape:
    case State::code_point:
    case State::triple_close:
    case State::marked:
    case State::bare_string: return true;
    default: return false;
  }
}

bool LiteralScanner::is_complete() const {
  if (state_ == State::done) return true;
  if (!stack_.empty()) return false;
  return state_ == State::maybe_close || state_ == State::bare_string ||
         (state_ == State::quote_open && count_ == 2) || (state_ == State::word && !word_.empty());
}

bool LiteralScanner::is_terminator(char byte) const {
  return byte == ',' || byte == '}' || byte == ']' || byte == ')' || byte == ':';
}

LiteralScanner::Step LiteralScanner::step(char byte, std::string& out) {
  switch (state_) {
    case State::value:
    case State::key:
      if (is_space(byte)) {
        (pending_.empty() ? to(out) : pending_) += byte;
        return Step::next;
      }
      return state_ == State::key ? begin_key(byte, out) : begin_value(byte, out);
    case State::colon:
      if (is_space(byte)) {
        to(out) += byte;
        return Step::next;
      }
      if (byte != ':') return Step::failed;
      to(out) += ':';
      state_ = State::value;
      first_ = true;  // no comma may stand here
      return Step::next;
    case State::after_value: return after_value(byte, out);
    case State::quote_open:
    case State::string:
    case State::maybe_close:
    case State::triple_close: return read_string(byte, out);
    case State::escape: return read_escape(byte, out);
    case State::code_point: return read_code_point(byte, out);
    case State::word: return read_word(byte, out);
    case State::bare_string:
      if (is_terminator(byte) && byte != ':' && byte != ')') {
        word_.clear();  // white space at its end
        to(out) += '"';
        end_value();
        return Step::again;
      }
      bare_text(std::string_view(&byte, 1), out);
      return Step::next;
    case State::marked:
    case State::done: break;
  }
  return Step::failed;
}

// What stands before an element is certain once the element begins.
void LiteralScanner::begin_element(std::string& out) {
  to(out) += pending_;
  pending_.clear();
  first_ = false;
}

LiteralScanner::Step LiteralScanner::begin_value(char byte, std::string& out) {
  if (byte == '{' || byte == '[' || (byte == '(' && style_ == LiteralStyle::python)) {
    return begin_container(byte, out);
  }
  if (byte == ']' || byte == '}' || byte == ')') {
    const bool is_in_list = !stack_.empty() && stack_.back() != object;
    return is_in_list && (first_ || !pending_.empty()) ? end_container(byte, out) : Step::failed;
  }
  const bool single = byte == '\'' && (style_ != LiteralStyle::bare || mends_);
  is_key_ = false;
  if (byte == '"' || single) {
    begin_string(byte, out);
    return Step::next;
  }
  if (is_terminator(byte)) return Step::failed;
  begin_word(out);
  return Step::again;
}

LiteralScanner::Step LiteralScanner::begin_key(char byte, std::string& out) {
  if (byte == '}') return end_container(byte, out);
  is_key_ = true;
  if (byte == '"' || byte == '\'') {
    begin_string(byte, out);
    return Step::next;
  }
  if (stack_.back() == undecided && (byte == '{' || byte == '[' || byte == '(')) {
    decide(set, out);  // a container cannot be a key
    return begin_value(byte, out);
  }
  if (is_terminator(byte) || byte == '{' || byte == '[') return Step::failed;
  begin_word(out);
  return Step::again;
}

void LiteralScanner::end_value() { state_ = stack_.empty() ? State::done : State::after_value; }

LiteralScanner::Step LiteralScanner::begin_container(char byte, std::string& out) {
  if (stack_.size() == JsonScanner::kMaxDepth) return Step::failed;
  begin_element(out);
  first_ = true;
  if (byte == '{') {
    if (style_ == LiteralStyle::python) {
      // Only the innermost brace may be undecided: a container in it settles that before.
      stack_ += undecided;
      held_.clear();
    } else {
      out += '{';
      stack_ += object;
    }
    state_ = State::key;
  } else {
    out += '[';
    stack_ += byte == '[' ? list : tuple;
    state_ = State::value;
  }
  return Step::next;
}

void LiteralScanner::decide(Frame frame, std::string& out) {
  stack_.back() = frame;
  out += frame == object ? '{' : '[';
  out += held_;
  held_.clear();
}

// JSON's keys are strings.
void LiteralScanner::quote_key() {
  const std::string word(trim(held_));
  if (word.empty() || word[0] == '"') return;
  held_.clear();
  append_json_string(word, held_);
}

// Nothing more is read of a brace that may open a set: what is written is a beginning of JSON.
void LiteralScanner::decide_cut(std::string& out) {
  if (stack_.empty() || stack_.back() != undecided) return;
  quote_key();
  decide(object, out);
}

LiteralScanner::Step LiteralScanner::end_container(char byte, std::string& out) {
  const char frame = stack_.back();
  const char closer = frame == list ? ']' : frame == tuple ? ')' : '}';
  if (byte != closer) return Step::failed;
  if (frame == undecided) decide(first_ ? object : set, out);
  if (!pending_.empty()) {
    if (style_ == LiteralStyle::json) repairs_ |= kTrailingComma;
    out.append(pending_, 1);
    pending_.clear();
  }
  out += stack_.back() == object ? '}' : ']';
  stack_.pop_back();
  first_ = false;
  end_value();
  return Step::next;
}

LiteralScanner::Step LiteralScanner::after_value(char byte, std::string& out) {
  if (is_space(byte)) {
    to(out) += byte;
    return Step::next;
  }
  if (byte == ':' && stack_.back() == undecided) {
    quote_key();
    decide(object, out);
    out += ':';
    state_ = State::value;
    first_ = true;
    return Step::next;
  }
  if (byte == ',') {
    if (stack_.back() == undecided) decide(set, out);
    pending_.assign(1, ',');
    state_ = stack_.back() == object ? State::key : State::value;
    return Step::next;
  }
  return end_container(byte, out);
}

void LiteralScanner::add_held(Held& out) const {
  out.add(HeldReason::value, held_);
  out.add(HeldReason::separator, pending_);
  if (state_ == State::word || state_ == State::bare_string) out.add(HeldReason::value, word_);
  out.add(HeldReason::value, typed_);
  if (quotes_ != nullptr) out.add(cursor_);
}

void LiteralScanner::end(std::string& out) {
  if (state_ == State::marked) {  // what may be the closing quote is not told
    if (typed_as_ != nullptr) append_typed_beginning(typed_, *typed_as_, out);
  } else if (state_ == State::word && !is_key_) {
    write_word_beginning(out);
    word_.clear();
  }
  decide_cut(out);
}

void LiteralScanner::close(std::string& out) {
  repairs_ |= kClosed;
  pending_.clear();
  switch (state_) {
    case State::marked: on_quote(out); break;
    case State::quote_open:
    case State::string:
    case State::escape:
    case State::code_point:
    case State::maybe_close:
    case State::triple_close: end_string(out); break;
    case State::bare_string:
      to(out) += '"';
      end_value();
      break;
    case State::word:
      word_ = whole_word(word_);
      if (const std::string word = word_; !end_word(out)) {
        append_json_string(trim(word), to(out));
        if (!is_key_) end_value();
      }
      break;
    default: break;
  }
  while (state_ != State::done) {
    if (state_ == State::colon) {
      to(out) += ": null";
    } else if (state_ == State::value && (stack_.empty() || stack_.back() == object)) {
      to(out) += "null";
    }
    if (stack_.empty()) break;
    if (stack_.back() == undecided) {
      const bool has_key = state_ == State::after_value;
      decide_cut(out);
      if (has_key) out += ": null";
    }
    out += stack_.back() == object ? '}' : ']';
    stack_.pop_back();
    end_value();
  }
  state_ = State::done;
}

}  // namespace unspool
