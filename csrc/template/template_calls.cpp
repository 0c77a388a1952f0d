// The template parser inside a call and outside all fields, and its handling of malformed text.
#include <utility>

#include "template/template_parser.h"
#include "text/code_point.h"

namespace unspool {

void TemplateParser::put_call(std::string_view text) {
  if (is_muted_) {  // a call begun by the prompt is emitted whole, once the output continues
    body_ += text;
    muted_body_ = body_.size();
    return;
  }
  if (!has_tried_) {
    has_tried_ = true;
    // At the region's first text, when the opener's groups are known. A call too many is only text.
    if (!calls_.is_full()) call_ = make_template_call(field(), captures_, tools_.get());
    // What the prompt has written of the call: it is part of it.
    const std::string before = std::exchange(body_, {});
    read_call(before);
  }
  if (!text.empty()) read_call(text);
}

void TemplateParser::read_call(std::string_view text) {
  if (has_failed_) return emit_malformed(text, problem_);
  std::string unread;
  const bool is_read = call_ == nullptr || call_->put(text, *this, unread);
  // Kept whole, for the conversion at the end, or for the report that it is no call.
  if (call_ == nullptr || !call_->is_announced()) {
    body_ += text;
    return;
  }
  if (keeps_call_text()) {  // except what may not belong to it
    body_ += text;
    // The prompt's part is not the output's text.
    body_.erase(0, std::exchange(muted_body_, 0));
    const std::size_t open = is_read ? call_->held().size() : unread.size();
    const std::size_t sure = body_.size() - std::min(open, body_.size());
    put_call_text(Fate::tool_call, std::string_view(body_).substr(0, sure));
    body_.erase(0, sure);
    if (!is_read) body_.clear();
  } else {
    body_.clear();
  }
  if (is_read) return;
  has_failed_ = true;
  problem_ = "the call's arguments cannot be read";
  emit_malformed(unread, problem_);
}

// Ends a call whose beginning has been announced; `at_end`: nothing closed it.
void TemplateParser::close_announced_call(bool at_end) {
  if (at_end && !has_failed_) {
    // The model stopped after a whole call and left out the closer.
    if (ended_itself(reason_) && call_->is_whole()) return end_call();
    call_->cut(*this);
    body_.clear();
    // Text that will not become a value any more, since its end is missing.
    if (!strip(call_->held()).empty())
      emit_malformed(call_->held(), "the output ends inside a parameter");
    else
      put_call_text(Fate::tool_call, call_->held());
    return end_call(CallStatus::incomplete);
  }
  if (!has_failed_ && call_->end(*this)) {
    put_call_text(Fate::tool_call, body_);
    return end_call();
  }
  if (!has_failed_) {
    call_->cut(*this);
    emit_malformed(call_->held(), "the call's arguments cannot be read");
    body_.clear();
  }
  end_call(CallStatus::malformed);
}

void TemplateParser::close_call(std::string_view marker, bool at_end) {
  if (call_ != nullptr && call_->is_announced()) {
    close_announced_call(at_end);
    return put_call_text(Fate::marker, marker);
  }
  // As the limit says for any call: its text is malformed.
  if (calls_.is_full()) return emit_raw(marker, kTooManyCalls);
  const auto value = read_region(field(), body_, captures_);
  std::vector<CallValue> calls;
  if (!value || !find_calls(*value, calls)) {
    return emit_raw(marker, at_end ? "the output ends inside a call" : "this is no call");
  }
  if (calls.size() == 1) {
    begin_call(calls[0].name, calls[0].id);
    put_call_text(Fate::tool_call, body_);
    put_arguments(arguments_of(calls[0]));
    end_call();
    return put_call_text(Fate::marker, marker);
  }
  // Several calls share one text, so it cannot be labelled as one call's.
  audit(Fate::marker, std::exchange(opener_, {}));
  audit(Fate::tool_call, body_);
  put_calls(calls);
  audit(Fate::marker, marker);
}

std::string TemplateParser::arguments_of(const CallValue& call) const {
  JsonValue arguments = call.arguments;
  if (tools_ != nullptr) cast_arguments(arguments, tools_->find(call.name));
  std::string text;
  append_json(arguments, text);
  return text;
}

// Several calls of one region, or those that the template adds: none has its own source text.

void TemplateParser::put_calls(const std::vector<CallValue>& calls) {
  for (const CallValue& call : calls) {
    const std::string arguments = arguments_of(call);
    begin_call(call.name, call.id);
    // A filter may need a text for a call that it does not send; this is the best there is.
    calls_.put_text(call.name + arguments, token_end_, *out_);
    put_arguments(arguments);
    end_call();
  }
}

bool TemplateParser::begin_call(std::string_view name, std::string_view id) {
  // Without a schema: the arguments have been converted here, by the template's rules.
  calls_.begin(name, id, nullptr, token_end_, *out_);
  put_call_text(Fate::marker, opener_);
  return true;
}

void TemplateParser::put_arguments(std::string_view fragment) {
  calls_.put(fragment, token_end_, *out_);
}

void TemplateParser::end_call() { calls_.end(0, token_end_, *out_); }

void TemplateParser::end_call(CallStatus status) { calls_.end(status, 0, token_end_, *out_); }

void TemplateParser::emit_malformed(std::string_view text, const char* problem) {
  if (calls_.is_open()) {
    calls_.put_malformed(text, problem, token_end_, *out_);
    return put_call_text(Fate::malformed, text);
  }
  out_->add_text(EventKind::malformed, -1, text, token_end_, problem);
  audit(Fate::malformed, text);
}

// Text of the last call that has begun, including its markers, also after its end.
void TemplateParser::put_call_text(Fate fate, std::string_view text) {
  if (is_prompt()) return;
  if (audits_) {
    const LabelPart part =
        labels_ && fate == Fate::tool_call ? LabelPart::arguments : LabelPart::none;
    out_->add_audit({.fate = fate, .part = part, .call = calls_.text_index()}, text);
  }
  if (calls_.wants_text()) calls_.put_text(text, token_end_, *out_);
}

// A malformed region: its source text, with its markers.
void TemplateParser::emit_raw(std::string_view marker, const char* problem) {
  std::string raw = opener_;
  raw += std::string_view(body_).substr(std::min(muted_body_, body_.size()));
  raw += marker;
  emit_malformed(raw, problem);
}

// If no field takes the outside text: the text that begins a message is markup, the rest is kept.
void TemplateParser::put_outside(std::string_view text, bool is_end) {
  outside_ += text;
  const auto take = [this](std::uint64_t to) {
    emit_outside(std::string_view(outside_).substr(0, to - outside_begin_));
    outside_.erase(0, to - outside_begin_);
    outside_begin_ = to;
  };
  for (;;) {
    // A model may write the beginning of a message itself, again and again.
    if (!anchor_) anchor_.emplace(template_->start_anchor, outside_begin_, 0, true);
    anchor_->advance({outside_, outside_begin_, is_end});
    const RegexMatch match = anchor_->match();
    if (!anchor_->is_decided() || match.begin == kNoPlace) break;
    take(match.begin);
    end_outside();
    audit(Fate::marker, std::string_view(outside_).substr(0, match.end - match.begin));
    outside_.erase(0, match.end - match.begin);
    outside_begin_ = match.end;
    anchor_.reset();
    if (match.end == match.begin) break;
  }
  // What may begin an anchor stays held.
  take(is_end || !anchor_ ? outside_begin_ + outside_.size() : anchor_->earliest());
  if (!is_end) return;
  end_outside();
  anchor_.reset();
}

void TemplateParser::emit_outside(std::string_view text) {
  // White space around text is markup, as around the values of fields.
  if (!has_outside_) {
    const std::size_t lead = leading_space(text);
    audit(Fate::whitespace, text.substr(0, lead));
    text.remove_prefix(lead);
    if (text.empty()) return;
    has_outside_ = true;
  }
  const std::size_t core = text.size() - trailing_space(text);
  if (core > 0) {
    constexpr const char* kProblem = "text outside of every field";
    if (!outside_space_.empty()) emit_malformed(outside_space_, kProblem);
    outside_space_.clear();
    emit_malformed(text.substr(0, core), kProblem);
  }
  outside_space_ += text.substr(core);
}

void TemplateParser::end_outside() {
  audit(Fate::whitespace, outside_space_);
  outside_space_.clear();
  has_outside_ = false;
}

}  // namespace unspool
