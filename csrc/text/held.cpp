#include "text/held.h"

#include <algorithm>

namespace unspool {

std::string_view to_string(HeldReason reason) {
  switch (reason) {
    case HeldReason::none: break;
    case HeldReason::character: return "character";
    case HeldReason::marker: return "marker";
    case HeldReason::space: return "space";
    case HeldReason::header: return "header";
    case HeldReason::call: return "call";
    case HeldReason::name: return "name";
    case HeldReason::key: return "key";
    case HeldReason::value: return "value";
    case HeldReason::separator: return "separator";
    case HeldReason::closing_tag: return "closing_tag";
    case HeldReason::ids: return "ids";
  }
  return "none";
}

void Held::add(const Held& other, std::size_t bytes) {
  for (Part part : other.parts_) {
    const std::size_t left_out = std::min(bytes, part.text.size());
    part.text.remove_prefix(left_out);
    bytes -= left_out;
    if (!part.text.empty()) parts_.push_back(part);
  }
}

std::size_t Held::bytes() const {
  std::size_t size = 0;
  for (const Part& part : parts_) size += part.text.size();
  return size;
}

std::string Held::text() const {
  std::string text;
  for (const Part& part : parts_) text += part.text;
  return text;
}

const Held::Part* Held::last() const {
  const Part* last = nullptr;
  for (const Part& part : parts_) {
    if (last == nullptr || part.reason != HeldReason::character) last = &part;
  }
  return last;
}

HeldReason Held::reason() const {
  const Part* part = last();
  return part == nullptr ? HeldReason::none : part->reason;
}

std::vector<std::string_view> Held::markers() const {
  std::vector<std::string_view> markers;
  if (const Part* part = last(); part != nullptr) part->cursor.add_completions(markers);
  return markers;
}

}  // namespace unspool
