#include "body/json_arguments.h"

namespace unspool {

BodyResult JsonArguments::put(std::string_view text, CallSink& sink) {
  std::size_t begin = 0;
  if (!has_begun_) {
    begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {text.size(), ScanStatus::more};
    if (text[begin] != '{' && text[begin] != '"') return {begin, ScanStatus::failed};
    has_begun_ = true;
    in_string_ = text[begin] == '"';
    if (in_string_) ++begin;
  }
  if (in_string_) return put_string(text.substr(begin), begin, sink);
  out_.clear();
  const ScanResult result = reader_.put(text.substr(begin), out_);
  if (!out_.empty()) sink.put_arguments(out_);
  if (result.status == ScanStatus::done) sink.end_call();
  return {begin + result.consumed, result.status};
}

BodyResult JsonArguments::put_string(std::string_view text, std::size_t begin, CallSink& sink) {
  out_.clear();
  const JsonInString::Result result = inner_.put(text, out_);
  if (!out_.empty()) sink.put_arguments(out_);
  if (*result.problem != '\0') return {begin + result.consumed, ScanStatus::failed};
  if (!result.is_end) return {begin + result.consumed, ScanStatus::more};
  sink.end_call();
  return {begin + result.consumed, ScanStatus::done};
}

BodyResult JsonArguments::put_token(Symbol, std::string_view literal, CallSink& sink) {
  if (in_string_ || reader_.in_string()) return put(literal, sink);
  return {0, ScanStatus::failed};
}

bool JsonArguments::may_end_here(CallSink& sink) {
  if (has_begun_) return false;
  sink.put_arguments("{}");
  return true;
}

const char* JsonArguments::problem() const {
  return has_begun_ ? "the arguments are not valid JSON" : "the arguments are not a JSON object";
}

}  // namespace unspool
