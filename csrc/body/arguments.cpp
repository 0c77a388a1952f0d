// The body is an object in one of three spellings, which its first byte shows:
//
//   {"city": "Paris"}              the value reader reads it, in the format's dialect
//   "{\"city\": \"Paris\"}"        a string that holds it: JsonInString reads the decoded text
//   (city="Paris")                 with repair only: a Python call, read as an object
#include "body/arguments.h"

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
  if (reader_.has_begun()) return is_call_ ? read_call(text, sink) : read(text, sink);
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
                                  : read(rest, sink);
  result.consumed += begin;
  return result;
}

BodyResult Arguments::read(std::string_view text, CallSink& sink) {
  if (members_) members_->begin(static_cast<std::int64_t>(offset_));
  return finish_put(reader_.put(text, out_), sink);
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
  if (members_) members_->begin(0);
  return finish_put(reader_.put_token(symbol, literal, out_), sink);
}

BodyResult Arguments::finish_put(const ScanResult& result, CallSink& sink) {
  sink.put_written(out_);
  if (result.status == ScanStatus::done) {
    mark(CallMark::Kind::arguments_end, result.consumed);
    sink.end_call();
  }
  BodyResult put_result{result.consumed, result.status};
  if (result.status == ScanStatus::failed) put_result.unread = reader_.unwritten();
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
  archive.given(is_json_, mends_, marks_, members_);
  archive.scratch(offset_, out_);
  archive(is_call_, is_encoded_, reader_, inner_, repairs_);
  if (members_) archive(*members_);
  // `link` has set it, before it was known that the arguments are a string.
  if (archive.is_reading() && is_encoded_) reader_.set_listener(nullptr);
}

}  // namespace unspool
