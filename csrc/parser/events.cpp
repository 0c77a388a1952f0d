#include "parser/events.h"

#include <algorithm>
#include <cstring>

#include "text/scratch.h"

namespace unspool {

namespace {

// A restored stream has its own copies of the reasons.
bool is_same(const char* one, const char* other) {
  return one == other || std::strcmp(one, other) == 0;
}

}  // namespace

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::content: return "content";
    case Fate::reasoning: return "reasoning";
    case Fate::tool_call: return "tool_call";
    case Fate::marker: return "marker";
    case Fate::whitespace: return "whitespace";
    case Fate::malformed: return "malformed";
  }
  return "";
}

std::pair<std::uint32_t, std::uint32_t> Events::store(std::string_view text) {
  // 32 bits keep an event small, and one put is far below 4 GiB.
  const auto begin = static_cast<std::uint32_t>(buffer_.size());
  buffer_ += text;
  return {begin, static_cast<std::uint32_t>(buffer_.size())};
}

// Spans neither overlap nor leave a gap: tokens without an event belong to the next one.
void Events::extend(Event& event, std::uint64_t token_end) {
  event.span.end = std::max(event.span.end, token_end);
  token_place_ = event.span.end;
}

Event& Events::add(EventKind kind, std::int32_t index, std::uint64_t token_end) {
  Event& event = list_.emplace_back();
  event.kind = kind;
  event.index = index;
  event.span = {token_place_, token_place_};
  extend(event, token_end);
  return event;
}

void Events::add_text(EventKind kind, std::int32_t index, std::string_view text,
                      std::uint64_t token_end, const char* reason) {
  if (!list_.empty()) {
    Event& last = list_.back();
    // Nothing may have been stored since: the texts must be neighbours in the buffer.
    if (last.kind == kind && last.index == index && is_same(last.reason, reason) &&
        last.text_end == buffer_.size()) {
      buffer_ += text;
      last.text_end = static_cast<std::uint32_t>(buffer_.size());
      extend(last, token_end);
      return;
    }
  }
  const auto [begin, end] = store(text);
  Event& event = add(kind, index, token_end);
  event.text_begin = begin;
  event.text_end = end;
  event.reason = reason;
}

void Events::add_begin(std::int32_t index, std::string_view name, std::string_view id,
                       std::uint64_t token_end, std::string_view written_as) {
  const auto [text_begin, text_end] = store(written_as);
  const auto [name_begin, name_end] = store(name);
  const auto [id_begin, id_end] = store(id);
  Event& event = add(EventKind::tool_call_begin, index, token_end);
  event.text_begin = text_begin;
  event.text_end = text_end;
  event.name_begin = name_begin;
  event.name_end = name_end;
  event.id_begin = id_begin;
  event.id_end = id_end;
}

void Events::add_end(std::int32_t index, CallStatus status, std::uint64_t token_end,
                     std::uint16_t repairs) {
  Event& event = add(EventKind::tool_call_end, index, token_end);
  event.status = status;
  event.repairs = repairs;
}

void Events::append(const Events& other) {
  for (const Event& event : other.list_) {
    switch (event.kind) {
      case EventKind::tool_call_begin:
        add_begin(event.index, other.name(event), other.id(event), event.span.end,
                  other.text(event));
        break;
      case EventKind::tool_call_end:
        add_end(event.index, event.status, event.span.end, event.repairs);
        break;
      case EventKind::finish: add_finish(event.finish_reason, event.span.end); break;
      default: add_text(event.kind, event.index, other.text(event), event.span.end, event.reason);
    }
  }
  for (const Audited& piece : other.audit_) add_audit(piece, piece.text);
}

void Events::add_finish(FinishReason reason, std::uint64_t token_end) {
  add(EventKind::finish, -1, token_end).finish_reason = reason;
}

void Events::add(const Event& event, const Events& from) {
  const std::uint64_t token_end = event.span.end;
  switch (event.kind) {
    case EventKind::tool_call_begin:
      return add_begin(event.index, from.name(event), from.id(event), token_end, from.text(event));
    case EventKind::tool_call_end:
      return add_end(event.index, event.status, token_end, event.repairs);
    case EventKind::finish: return add_finish(event.finish_reason, token_end);
    default: return add_text(event.kind, event.index, from.text(event), token_end, event.reason);
  }
}

void Events::add_audit(const ByteLabel& label, std::string_view text) {
  if (text.empty()) return;
  if (!audit_.empty() && audit_.back() == label) {
    audit_.back().text += text;
  } else {
    audit_.push_back({label, std::string(text)});
  }
}

void append_audit(const std::vector<Events::Audited>& audit, std::vector<Events::Audited>& to) {
  const std::size_t begin = to.size();
  for (const Events::Audited& piece : audit) {
    // Special tokens that are skipped are in the audit only for the labels.
    if (piece.part == LabelPart::left_out && piece.fate == Fate::marker) continue;
    const ByteLabel label{.fate = piece.fate, .of_reasoning = piece.of_reasoning};
    if (to.size() > begin && to.back() == label) {
      to.back().text += piece.text;
    } else {
      to.push_back({label, piece.text});
    }
  }
}

void Events::clear() {
  buffer_.clear();
  list_.clear();
  shrink_scratch<kKeptInStream>(buffer_, list_);
  // Most streams have no audit, and then nothing here needs to be reset.
  if (audit_.capacity() > 0) {
    audit_.clear();
    shrink_scratch<kKeptInStream>(audit_);
    seen_fates_ = 0;
  }
  seen_events_ = 0;
  seen_text_ = 0;
}

void Events::restart() {
  clear();
  token_place_ = 0;
}

void Event::visit(Archive& archive) {
  archive.choice(kind, EventKind::call_text);
  archive.choice(status, CallStatus::malformed);
  archive.choice(finish_reason, FinishReason::cancelled);
  archive(repairs, index, text_begin, text_end, name_begin, name_end, id_begin, id_end, span);
  archive.literal(reason);
}

void Events::visit(Archive& archive) {
  archive(buffer_, list_, audit_, seen_events_, seen_fates_, seen_fate_bytes_, seen_text_);
  visit_place(archive);
  archive.expect(seen_events_ <= list_.size() && seen_fates_ <= audit_.size());
  // A forged place would make the views below point outside the buffer.
  archive.expect(seen_text_ <= buffer_.size());
  const auto check = [&](std::uint32_t begin, std::uint32_t end) {
    archive.expect(begin <= end && end <= buffer_.size());
  };
  for (const Event& event : list_) {
    check(event.text_begin, event.text_end);
    check(event.name_begin, event.name_end);
    check(event.id_begin, event.id_end);
  }
}

}  // namespace unspool
