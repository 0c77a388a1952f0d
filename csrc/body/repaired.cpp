#include "body/repaired.h"

namespace unspool {

// Byte by byte, so that a fault or a call's end is known to the byte of the model's own text.
BodyResult Repaired::put(std::string_view text, CallSink& sink) {
  std::size_t i = 0;
  while (i < text.size()) {
    json_.clear();
    const ScanResult result = scanner_.put(text.substr(i, 1), json_);
    const BodyResult passed = pass_on(sink);
    if (result.status == ScanStatus::failed || passed.status == ScanStatus::failed) {
      return {i, ScanStatus::failed};
    }
    i += result.consumed;
    if (passed.status == ScanStatus::done) return {i, ScanStatus::done};
    const bool closes = !json_.empty() && (json_.back() == '}' || json_.back() == ']');
    if (closes && !scanner_.in_string()) return {i, ScanStatus::more};  // a call may have ended
  }
  return {i, ScanStatus::more};
}

BodyResult Repaired::pass_on(CallSink& sink) {
  std::string_view rest = json_;
  BodyResult result;
  while (!rest.empty()) {
    result = body_->put(rest, sink);
    if (result.status != ScanStatus::more) return result;
    rest.remove_prefix(result.consumed);
  }
  result.consumed = json_.size();
  return result;
}

BodyResult Repaired::put_token(Symbol, std::string_view literal, CallSink& sink) {
  if (scanner_.in_string()) return put(literal, sink);
  return {0, ScanStatus::failed};
}

void Repaired::complete(CallSink& sink) {
  json_.clear();
  scanner_.close(json_);
  pass_on(sink);
}

}  // namespace unspool
