#include "body/literal_arguments.h"

#include "text/white_space.h"

namespace unspool {

BodyResult LiteralArguments::put(std::string_view text, CallSink& sink) {
  std::size_t begin = 0;
  if (!reader_.has_begun()) {
    begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return {text.size(), ScanStatus::more};
    is_call_ = mends_ && text[begin] == '(';
    if (text[begin] != '{' && !is_call_) return {begin, ScanStatus::failed};
  }
  out_.clear();
  if (is_call_) return put_call(text, begin, sink);
  return finish_put(reader_.put(text.substr(begin), out_), begin, sink);
}

// The arguments as Python writes a call's: round brackets stand for braces, = for the colon after a
// key.
BodyResult LiteralArguments::put_call(std::string_view text, std::size_t begin, CallSink& sink) {
  repairs_ |= kMarkup;
  for (std::size_t i = begin; i < text.size(); ++i) {
    char byte = text[i];
    if (!reader_.has_begun()) {
      byte = '{';
    } else if (byte == '=' && reader_.depth() == 1 && reader_.is_in_key()) {
      byte = ':';
    } else if (byte == ')' && reader_.depth() == 1 && !reader_.in_string()) {
      byte = '}';
    }
    const ScanResult result = reader_.put(std::string_view(&byte, 1), out_);
    if (result.status != ScanStatus::more || i + 1 == text.size())
      return finish_put({result.consumed, result.status}, i, sink);
  }
  return {text.size(), ScanStatus::more};
}

BodyResult LiteralArguments::put_token(Symbol symbol, std::string_view literal, CallSink& sink) {
  if (!reader_.has_begun()) return {0, ScanStatus::failed};
  out_.clear();
  return finish_put(reader_.put_token(symbol, literal, out_), 0, sink);
}

BodyResult LiteralArguments::finish_put(const ScanResult& result, std::size_t begin,
                                        CallSink& sink) {
  if (!out_.empty()) sink.put_arguments(out_);
  if (result.status == ScanStatus::done) sink.end_call();
  BodyResult said{begin + result.consumed, result.status};
  if (result.status == ScanStatus::failed) said.unread = reader_.unwritten();
  return said;
}

void LiteralArguments::end(CallSink& sink) {
  out_.clear();
  reader_.end(out_);
  if (!out_.empty()) sink.put_arguments(out_);
}

bool LiteralArguments::may_end_here(CallSink& sink) {
  if (reader_.has_begun()) return false;
  sink.put_arguments("{}");
  return true;
}

void LiteralArguments::complete(CallSink& sink) {
  out_.clear();
  if (reader_.has_begun()) {
    reader_.close(out_);
  } else {
    out_ = "{}";
  }
  repairs_ |= kClosed;
  sink.put_arguments(out_);
  sink.end_call();
}

}  // namespace unspool
