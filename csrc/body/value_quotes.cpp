// Strings without escapes: between markers of the format, or between delimiters of a template.
#include <algorithm>

#include "body/scalar.h"
#include "body/value_reader.h"

namespace unspool {

bool ValueReader::may_be_quote(char byte) const {
  if (state_ == State::marked || !cursor_.is_idle()) return true;
  if (!in_bare_text() && !wants_value() && !wants_key()) return false;
  return cursor_.would_continue(static_cast<unsigned char>(byte));
}

ValueReader::Step ValueReader::read_quote(std::size_t& i) {
  flush(i);
  copied_ = std::string_view::npos;  // quotes and text are written, not copied, whoever listens
  Step result = Step::again;
  if (in_bare_text()) {
    result = put_bare(i);
  } else {
    const std::size_t size = state_ == State::marked ? in_.size() - i : 1;
    at_ = i;
    i += put_marked(in_.substr(i, size));
    if (!unsure_quote_.empty()) result = Step::stop_before;
    if (state_ == State::key_word && word_.find('<') != std::string::npos) {
      word_.pop_back();  // it is not a key, see `may_continue_word`
      --i;
      result = Step::failed;
    }
  }
  copied_ = i;
  return result;
}

ScanResult ValueReader::put_token(Symbol symbol, std::string_view literal, std::string& out) {
  const bool may_quote = quotes_ != nullptr && (state_ == State::marked || wants_value() ||
                                                wants_key() || in_bare_text());
  if (may_quote) {
    in_ = {};
    out_ = &out;
    at_ = 0;
    copied_ = std::string_view::npos;  // nothing is copied
    unsure_quote_ = {};
    return put_quote_token(symbol, literal);
  }
  if (!in_string()) return {0, ScanStatus::failed};
  return put(literal, out);
}

ScanResult ValueReader::put_quote_token(Symbol symbol, std::string_view literal) {
  std::string& out = *out_;
  if (in_bare_text()) {
    const auto match = cursor_.put_token(symbol, literal, [](std::string_view) {});
    if (match.marker == nullptr) return put(literal, out);
    if (!end_bare()) return {0, ScanStatus::failed};
    return {literal.size(), state_ == State::done ? ScanStatus::done : ScanStatus::more};
  }
  std::string released;
  const auto match =
      cursor_.put_token(symbol, literal, [&](std::string_view text) { released += text; });
  if (state_ == State::marked) write_marked(released);
  if (is_unsure({literal, symbol}, match)) return {literal.size(), ScanStatus::more};
  if (match.marker != nullptr) on_quote(0, literal.size());
  if (state_ == State::marked || released.empty()) return {literal.size(), ScanStatus::more};
  if (cursor_.is_idle() && released == literal && wants_value()) {
    return put(literal, out);  // bare text, which may contain any token
  }
  return {0, ScanStatus::failed};
}

// Text that may be a marker quote: inside a string between two, or where one may begin.
std::size_t ValueReader::put_marked(std::string_view text) {
  const bool is_inside = state_ == State::marked;
  std::string released;
  const auto match = cursor_.put(text, [&](std::string_view piece) {
    if (is_inside) {
      write_marked(piece);
    } else {
      released += piece;
    }
  });
  if (is_unsure({text.substr(0, match.consumed)}, match)) return match.consumed;
  if (match.marker != nullptr) {
    const std::size_t end = at_ + match.consumed;
    on_quote(end - match.text.size(), end);
  } else if (!released.empty()) {  // not a quote: a word that begins like one
    cursor_.flush([&](std::string_view piece) { released += piece; });
    to() += std::exchange(pending_, {});
    is_key_ = wants_key();
    state_ = is_key_ ? State::key_word : State::word;
    word_ = released;
    if (!is_key_) become_bare_string();
  }
  return match.consumed;
}

// Bare text without marker quotes. If repairs are on, a marker quote ends it.
ValueReader::Step ValueReader::put_bare(std::size_t& i) {
  std::string released;
  const auto match =
      cursor_.put(in_.substr(i, 1), [&](std::string_view piece) { released += piece; });
  const bool is_read = cursor_.is_idle() && match.marker == nullptr;
  if (is_read) released.pop_back();  // the current byte is not part of a marker
  // Those before the current byte, or before what may be a quote.
  const std::size_t held = match.marker != nullptr ? match.text.size() : cursor_.held().size();
  at_ = (is_read ? i : i + 1 - held) - released.size();
  for (const char byte : released) {
    step(byte);
    ++at_;
  }
  if (match.marker != nullptr && !end_bare()) {
    (in_word() ? word_ : pending_) += match.text.substr(0, match.text.size() - 1);
    return Step::failed;
  }
  if (!is_read) i += match.consumed;
  return Step::again;
}

// A marker quote ends text that none has opened; returns false if repairs are off.
bool ValueReader::end_bare() {
  if (!dialect_->rules.mends_bare) return false;
  if (state_ == State::word) become_bare_string();
  append_json_escaped(word_, to());
  word_.clear();
  to() += '"';
  repairs_ |= kMissingQuote;
  end_value(at_);
  return true;
}

// The marker is at `begin` to `end` in this text; it may have begun earlier.
void ValueReader::on_quote(std::size_t begin, std::size_t end) {
  if (state_ == State::marked) {
    at_ = is_key_ ? begin : end - 1;
    if (!typing_.is_on()) {
      close_string(Step::next);
      return;
    }
    typing_.end(to());
    end_value(end);
    return;
  }
  is_key_ = wants_key();
  to() += std::exchange(pending_, {});
  state_ = State::marked;
  if (follows_calls_) calls_->clear();
  const bool is_parameter = !is_key_ && stack_.size() == 1;
  if (!is_parameter || !typing_.begin()) to() += '"';
  if (!is_key_) return tell_value('"', begin);
  if (listener_ != nullptr) listener_->on_key(stack_.size(), end);
}

// Whether a quote inside a string may be a part of a call that the string quotes.
bool ValueReader::is_unsure(const Letter& read, const MarkerCursor::Found& match) {
  if (!follows_calls_ || is_key_ || state_ != State::marked) return false;
  calls_->follow(read);
  if (match.marker == nullptr || !calls_->has_opener()) return false;
  unsure_quote_ = match.text;
  return true;
}

void ValueReader::put_quoted(std::string_view text, std::string& out) {
  out_ = &out;
  write_marked(text);
  calls_->clear();
}

void ValueReader::end_at_quote(std::size_t size, bool is_damaged, std::string& out) {
  in_ = {};
  out_ = &out;
  copied_ = std::string_view::npos;  // nothing is copied
  follows_calls_ = follows_calls_ && !is_damaged;
  on_quote(0, size);
}

void ValueReader::write_marked(std::string_view text) {
  if (typing_.is_on()) {
    typing_.put(text);
  } else {
    append_json_escaped(text, to());
  }
}

std::string_view ValueReader::delimiter() const {
  if (quotes_ != nullptr) return cursor_.held();
  return state_ == State::opening || state_ == State::delimited ? std::string_view(word_)
                                                                : std::string_view{};
}

bool ValueReader::may_be_delimiter(char byte) const {
  if (state_ == State::opening || state_ == State::delimited) return true;
  if (skips_delimiter_ || (!wants_value() && !wants_key())) return false;
  return std::any_of(delimiters_->begin(), delimiters_->end(),
                     [&](const auto& pair) { return pair.first[0] == byte; });
}

ValueReader::Step ValueReader::read_delimiter(std::size_t i) {
  at_ = i;
  flush(i);
  copied_ = i + 1;
  if (state_ == State::delimited) return read_delimited(in_[i]);
  if (state_ != State::opening) {
    place_ = state_;
    word_.clear();
    state_ = State::opening;
  }
  return read_opening(in_[i]);
}

ValueReader::Step ValueReader::read_opening(char byte) {
  word_ += byte;
  bool may_continue = false;
  for (delimiter_ = 0; delimiter_ < delimiters_->size(); ++delimiter_) {
    const std::string& opener = (*delimiters_)[delimiter_].first;
    if (opener == word_) break;
    may_continue |= opener.starts_with(word_);
  }
  if (delimiter_ == delimiters_->size()) {
    return may_continue ? Step::next : give_up_delimiter();
  }
  word_.clear();
  is_key_ = place_ == State::first_key || place_ == State::key;
  const Step result = is_key_ ? report_key() : report_value('"');
  state_ = State::delimited;
  *out_ += '"';
  return result;
}

// Not a delimiter after all: it is JSON.
ValueReader::Step ValueReader::give_up_delimiter() {
  state_ = place_;
  const std::string again = std::exchange(word_, {});
  const std::string_view text = in_;
  const std::size_t at = at_;
  skips_delimiter_ = true;
  ScanResult result = read(std::string_view(again).substr(0, 1), out_);
  skips_delimiter_ = false;
  if (result.status != ScanStatus::failed && again.size() > 1) {
    result = read(std::string_view(again).substr(1), out_);
  }
  in_ = text;
  at_ = at;
  copied_ = at + 1;
  return result.status == ScanStatus::failed ? Step::failed : Step::next;
}

ValueReader::Step ValueReader::read_delimited(char byte) {
  const std::string& end = (*delimiters_)[delimiter_].second;
  word_ += byte;
  while (!end.starts_with(word_)) {
    append_json_escaped(std::string_view(word_).substr(0, 1), *out_);
    word_.erase(0, 1);
  }
  if (word_.size() < end.size()) return Step::next;
  word_.clear();
  return close_string(Step::next);
}

}  // namespace unspool
