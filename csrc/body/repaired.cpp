#include "body/repaired.h"

#include <algorithm>

namespace unspool {

// Byte by byte, so that a fault or a call's end is known to the byte of the model's own text.
BodyResult Repaired::put(std::string_view text, CallSink& sink) {
  for (std::size_t i = 0; i < text.size();) {
    json_.clear();
    has_ended_ = false;
    // A call is no bare word: it is left to the body, which refuses it.
    const bool is_word = !reader_.has_begun() &&
                         std::string_view(" \t\r\n{[\"'").find(text[i]) == std::string_view::npos;
    if (is_word) return {i, ScanStatus::failed, {}, false, unread_};
    ScanResult result = reader_.put(text.substr(i, 1), json_);
    BodyResult passed = pass_on(sink);
    if (result.consumed == 0 && result.status == ScanStatus::done)
      result.status = ScanStatus::failed;
    if (result.status == ScanStatus::failed || passed.status == ScanStatus::failed) {
      return {i, ScanStatus::failed, {}, false, unread_};
    }
    keep_unread(text.substr(i, result.consumed));
    i += result.consumed;
    if (passed.status == ScanStatus::done) return {i, ScanStatus::done};
    if (has_ended_) return {i, ScanStatus::more};
  }
  return {text.size(), ScanStatus::more};
}

BodyResult Repaired::pass_on(CallSink& sink) {
  std::string_view rest = json_;
  BodyResult result;
  while (!rest.empty()) {
    result = body_->put(rest, relay_to(sink));
    if (result.status != ScanStatus::more) return result;
    rest.remove_prefix(result.consumed);
  }
  result.consumed = json_.size();
  return result;
}

// What neither the scanner nor the body is done with stays, to the letter.
void Repaired::keep_unread(std::string_view text) {
  if (!is_announced_) return unread_.clear();
  unread_ += text;
  if (body_->undecided_bytes() > 0) return;
  const std::size_t open = reader_.unwritten().size();
  unread_.erase(0, unread_.size() - std::min(open, unread_.size()));
}

bool Repaired::may_end_here(CallSink& sink) {
  const std::string_view open = reader_.unwritten();
  if (!open.empty() && open[0] != ',') return false;
  if (!body_->may_end_here(relay_to(sink))) return false;
  if (!open.empty()) repairs_ |= kTrailingComma;
  return true;
}

BodyResult Repaired::put_token(Symbol, std::string_view literal, CallSink& sink) {
  if (reader_.in_string()) return put(literal, sink);
  return {0, ScanStatus::failed, {}, false, unread_};
}

void Repaired::complete(CallSink& sink) {
  json_.clear();
  reader_.close(json_);
  pass_on(sink);
}

}  // namespace unspool
