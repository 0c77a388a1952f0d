// The body is an object in one of three spellings, which its first byte shows:
//
//   {"city": "Paris"}              the value reader reads it, in the format's dialect
//   "{\"city\": \"Paris\"}"        a string that holds it: JsonInString reads the decoded text
//   (city="Paris")                 with repair only: a Python call, read as an object
#include "body/arguments.h"

#include <algorithm>
#include <utility>

#include "text/white_space.h"

namespace unspool {

void Arguments::link(CallMarks* marks) {
  marks_ = marks;
  if (marks == nullptr) return;
  if (!members_) members_ = std::make_unique<ValueMarks>();
  members_->link(*marks, reader_);
  // Of an encoded object, the inner reader marks the members.
  if (!is_encoded_) reader_.set_listener(&*members_);
  inner_.link(marks);
}

void Arguments::mark(CallMark::Kind kind, std::size_t at) {
  if (marks_ != nullptr) marks_->add(kind, static_cast<std::int64_t>(offset_ + at));
}

BodyResult Arguments::put(std::string_view text, CallSink& sink) {
  offset_ = 0;
  if (is_encoded_) return read_encoded(text, sink);
  if (reader_.has_begun()) return is_call_ ? read_call(text, sink) : read({text}, sink);
  const std::size_t begin = text.find_first_not_of(kSpace);
  // White space before the object is no part of the arguments.
  if (begin == std::string_view::npos) return {text.size(), ScanStatus::more};
  const char byte = text[begin];
  const bool is_quote = byte == '"' || (byte == '\'' && reader_.reads_single_quotes());
  // In other dialects a quote cannot begin the arguments.
  is_encoded_ = is_json_ && is_quote;
  is_call_ = mends_ && byte == '(';
  if (byte != '{' && !is_encoded_ && !is_call_) return {begin, ScanStatus::failed};
  offset_ = begin;
  mark(CallMark::Kind::arguments, is_encoded_ ? 1 : 0);
  if (is_encoded_) reader_.set_listener(nullptr);  // the inner text has members, not the string
  const std::string_view rest = text.substr(begin);
  BodyResult result = is_encoded_ ? read_encoded(rest, sink)
                      : is_call_  ? read_call(rest, sink)
                                  : read({rest}, sink);
  result.consumed += begin;
  return result;
}

BodyResult Arguments::read(const Letter& run, CallSink& sink) {
  read_ = static_cast<std::int64_t>(offset_);
  ScanResult result = read_some(run);
  while (result.status == ScanStatus::more && result.consumed < run.text.size()) {
    const std::size_t read = result.consumed;
    result = read_some({run.text.substr(read), run.symbol});
    result.consumed += read;
  }
  return finish_put(result, sink);
}

// A string may quote calls, so that two readings of its next quote are possible: the end of the
// string, or a part of a quoted call. Everything from it on is held until a quote ends the value:
// outside of the calls, before a comma or a closing bracket, and after quotes that pair up. Where
// they do not, the output's end decides.
ScanResult Arguments::read_some(const Letter& run) {
  if (!held_.is_empty()) return read_held(run);
  if (members_) members_->begin(read_);
  const ScanResult result =
      run.symbol != 0 ? reader_.put_token(run.symbol, run.text, out_) : reader_.put(run.text, out_);
  read_ += static_cast<std::int64_t>(result.consumed);
  const std::string_view quote = reader_.unsure_quote();
  if (quote.empty()) return result;
  held_.put({quote, run.text == quote ? run.symbol : Symbol{}});
  quote_size_ = quote.size();
  closed_at_ = reader_.calls().has_call() ? kOpen : 0;
  likely_end_ = kOpen;
  is_paired_ = true;
  if (quote_size_ <= max_held_) return result;
  const std::size_t consumed = result.consumed;
  const ScanResult ended = give_up_held();
  return {consumed, ended.status};
}

ScanResult Arguments::read_held(const Letter& run) {
  Letter next = run;
  if (run.symbol == 0) next.text = run.text.substr(0, max_held_ + 1 - held_.size());
  bool ends = false;
  const auto match = reader_.calls().put(next, [&](std::string_view piece) {
    if (closed_at_ == kOpen || ends || is_blank(piece)) return;
    const bool may_end = std::string_view(",}]").find(trim(piece)[0]) != std::string_view::npos;
    ends = may_end && is_paired_;
    if (ends) return;
    if (may_end) likely_end_ = std::min(likely_end_, closed_at_);
    closed_at_ = kOpen;
  });
  held_.put({next.text.substr(0, match.consumed), next.symbol});
  read_ += static_cast<std::int64_t>(match.consumed);
  ScanResult result;
  if (ends) {
    result = end_held(closed_at_);
  } else if (match.marker != nullptr) {
    const bool is_quote = static_cast<Role>(match.marker->role) == Role::quote;
    const bool is_outside = is_quote && !reader_.calls().has_call();
    closed_at_ = is_outside ? held_.size() - match.text.size() : kOpen;
    is_paired_ = is_paired_ != is_quote;
  }
  if (held_.size() > max_held_) result = give_up_held();
  result.consumed = match.consumed;
  return result;
}

// The string ends at this quote of the held text.
ScanResult Arguments::end_held(std::size_t quoted) {
  const Letters held = std::exchange(held_, {});
  read_ -= static_cast<std::int64_t>(held.size());
  if (quoted > 0) {
    reader_.put_quoted(held.text().substr(0, quoted), out_);
    return read_again(held, quoted);
  }
  if (members_) members_->begin(read_);
  reader_.end_at_quote(quote_size_, false, out_);
  return read_again(held, quote_size_);
}

ScanResult Arguments::give_up_held() {
  if (likely_end_ != kOpen) return end_held(likely_end_);
  const Letters held = std::exchange(held_, {});
  --tries_;
  read_ -= static_cast<std::int64_t>(held.size());
  if (members_) members_->begin(read_);
  reader_.end_at_quote(quote_size_, true, out_);
  return read_again(held, quote_size_);
}

// `read_`: where the held text begins.
ScanResult Arguments::read_again(const Letters& held, std::size_t from) {
  read_ += static_cast<std::int64_t>(from);
  ScanResult result;
  std::size_t i = from;
  while (i < held.size() && result.status == ScanStatus::more) {
    result = read_some(held.at(i));
    i += result.consumed;
  }
  unread_.put(held.from(i));
  read_ += static_cast<std::int64_t>(held.size() - i);
  return result;
}

BodyResult Arguments::decide(bool, CallSink& sink) {
  read_ = 0;
  ScanResult result;
  while (!held_.is_empty() && result.status == ScanStatus::more) result = give_up_held();
  result.consumed = 0;
  return finish_put(result, sink);
}

// Arguments in Python's call syntax: round brackets instead of braces, = instead of the colon after
// a key.
BodyResult Arguments::read_call(std::string_view text, CallSink& sink) {
  repairs_ |= kMarkup;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char byte = text[i];
    if (!reader_.has_begun()) {
      byte = '{';
    } else if (byte == '=' && reader_.depth() == 1 && reader_.is_in_key()) {
      // Only the call's own brackets and keys are translated; `f(a={"x": 1})` holds a dict.
      byte = ':';
    } else if (byte == ')' && reader_.depth() == 1 && !reader_.in_string()) {
      byte = '}';
    }
    if (members_) members_->begin(static_cast<std::int64_t>(offset_ + i));
    // A byte at a time, since each may be another one than the model wrote.
    ScanResult result = reader_.put(std::string_view(&byte, 1), out_);
    if (result.status == ScanStatus::more && i + 1 < text.size()) continue;
    result.consumed += i;
    return finish_put(result, sink);
  }
  return {text.size(), ScanStatus::more};
}

// The string's text is JSON, which is parsed as well.
BodyResult Arguments::read_encoded(std::string_view text, CallSink& sink) {
  std::size_t i = 0;
  while (i < text.size()) {
    const bool is_opening = !reader_.has_begun();
    // The outer reader checks the string, and hands its text on piece by piece.
    const std::string_view run = reader_.text_run(text.substr(i));
    std::string piece;
    std::string out;
    const ScanResult result = reader_.put(run, piece);
    const auto inside = is_opening ? JsonInString::Result{} : inner_.put(piece, offset_ + i, out);
    sink.put_written(out);
    if (*inside.problem != '\0') {
      return {i + (run.size() == 1 ? 0 : inside.consumed), ScanStatus::failed};
    }
    if (result.status == ScanStatus::failed) return {i + result.consumed, ScanStatus::failed};
    i += result.consumed;
    if (!inside.is_end) continue;
    mark(CallMark::Kind::arguments_end, i - 1);
    sink.end_call();
    return {i, ScanStatus::done};
  }
  return {i, ScanStatus::more};
}

BodyResult Arguments::put_token(Symbol symbol, std::string_view literal, CallSink& sink) {
  if (is_encoded_) return read_encoded(literal, sink);
  if (!reader_.has_begun()) return {0, ScanStatus::failed};
  offset_ = 0;
  return read({literal, symbol}, sink);
}

BodyResult Arguments::finish_put(const ScanResult& result, CallSink& sink) {
  sink.put_written(out_);
  BodyResult put_result{result.consumed, result.status};
  if (result.status == ScanStatus::done) {
    if (is_call_) {
      mark(CallMark::Kind::arguments_end, result.consumed);
    } else if (marks_ != nullptr) {
      marks_->add(CallMark::Kind::arguments_end, read_ - static_cast<std::int64_t>(unread_.size()));
    }
    sink.end_call();
  }
  if (result.status == ScanStatus::failed) {
    Letters unread;
    unread.put(reader_.unwritten());
    unread.put(unread_);
    unread_ = std::move(unread);
  }
  if (!unread_.is_empty()) {
    put_result.unread = unread_.text();
    put_result.letters = &unread_;
  }
  return put_result;
}

void Arguments::end(CallSink& sink) {
  // Without the closing quote the object cannot be whole, so nothing more is certain.
  if (is_encoded_) return;
  reader_.end(out_);
  sink.put_written(out_);
}

bool Arguments::may_end_here(CallSink& sink) {
  if (reader_.has_begun()) return false;
  // The opener was followed by the closer: a call without arguments.
  sink.put_arguments("{}");
  return true;
}

void Arguments::complete(CallSink& sink) {
  if (is_json_ && !reader_.has_begun()) return;
  if (is_encoded_) {
    std::string piece;
    reader_.close(piece);
    const bool is_whole = inner_.put(piece, 0, out_).is_end;
    sink.put_written(out_);
    if (is_whole) sink.end_call();
    return;
  }
  if (reader_.has_begun()) {
    reader_.close(out_);
  } else {
    out_ = "{}";
  }
  repairs_ |= kClosed;
  sink.put_written(out_);
  sink.end_call();
}

std::uint16_t Arguments::repairs() const {
  // In a dialect of its own, bare words are the notation and not a repair.
  const std::uint16_t counted = is_json_ ? 0xFFFF : kSingleQuotes | kMissingQuote | kMarkup;
  return repairs_ | (reader_.repairs() & counted);
}

const char* Arguments::problem() const {
  if (!is_json_) return "the arguments are not a whole object";
  return reader_.has_begun() ? "the arguments are not valid JSON"
                             : "the arguments are not a JSON object";
}

void Arguments::visit(Archive& archive) {
  archive.given(is_json_, mends_, max_held_, marks_, members_);
  archive.scratch(offset_, out_, read_, unread_);
  archive(is_call_, is_encoded_, tries_, reader_, inner_, repairs_, held_, quote_size_, closed_at_,
          likely_end_, is_paired_);
  if (members_) archive(*members_);
  // `link` has set it, before it was known that the arguments are a string.
  if (archive.is_reading() && is_encoded_) reader_.set_listener(nullptr);
  if (held_.is_empty()) return;
  archive.expect(!is_json_ && tries_ > 0 && reader_.in_string() && held_.size() <= max_held_);
  for (const std::size_t at : {closed_at_, likely_end_}) {
    archive.expect(at == kOpen || at <= held_.size());
  }
  archive.expect(quote_size_ > 0 && quote_size_ <= held_.size());
}

}  // namespace unspool
